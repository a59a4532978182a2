"""Giving an archive or audit its earlier content back.

Every function first looks, and raises NeedsRecovery with nothing touched where a file holds
what the run cannot have written; it returns what is then to be done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from recolva import _ranges
from recolva._journal import Journal, Target, place_of
from recolva._places import NEXT, PRIOR, Place, show
from recolva._stage import staged_name
from recolva._system import READ
from recolva.errors import NeedsRecovery, Refused

if TYPE_CHECKING:
    from recolva._engine import Engine
    from recolva._system import File, Info


class Undo:
    """Undoes what a run that did not commit did to its targets."""

    def __init__(self, engine: Engine, home: Place) -> None:
        self._engine, self._system, self._home = engine, engine.system, home

    def plan(self, target: Target) -> Callable[[], None]:
        """Find out how to give a target its earlier content back."""
        system, place = self._system, place_of(target.path, self._home)
        try:
            file = self._engine.data.get(place, self._engine.deadline())
        except FileNotFoundError:
            if target.existed:
                raise self._stuck(target, place, "is missing, and {} must be cut from it") from None
            return lambda: system.sync_directory(place.directory)
        info = file.info()
        if target.mode == "replace":
            return self._plan_restore(target, place, file, info)
        if target.existed and info.inode != target.ino:
            raise self._stuck(target, place, "is not the file that {} added to")
        self._check_cut(target, place, file, info.size)
        if not target.existed:
            return lambda: self._remove(place)

        def cut() -> None:
            if info.size > target.size:
                file.truncate(target.size)
            file.sync()  # an earlier cut may not be durable yet

        return cut

    def _stuck(self, target: Target, place: Place, text: str) -> NeedsRecovery:
        text = text.format(f"an unfinished sweep of {show(self._home.path)}")
        return NeedsRecovery(f"{target.role} {show(place.path)} {text}")

    def _remove(self, place: Place) -> None:
        self._engine.data.release(place)
        self._system.remove(place.path)
        self._system.sync_directory(place.directory)

    def _check_cut(self, target: Target, place: Place, file: File, size: int) -> None:
        """Make sure that all bytes past the target's earlier length are ours."""
        if size < target.size:
            raise self._stuck(target, place, f"is shorter ({size} bytes) than before {{}} ({target.size} bytes)")
        if size == target.size:
            return
        if size > target.size + target.added or not self._is_ours(target, file, size):
            raise self._stuck(target, place, f"has bytes after offset {target.size} that {{}} did not write")

    def _is_ours(self, target: Target, file: File, size: int) -> bool:
        """Compare what follows the earlier content with what was staged."""
        at = target.size
        if target.joint:
            if _ranges.read_full(file, at, 1) not in (b"\n", b"\0"):
                return False
            at += 1
        try:
            staged = self._system.open(self._home.side(staged_name(target.role)), READ)
        except FileNotFoundError:
            return False
        try:
            return equal_or_zero(file, at, size, staged)
        finally:
            staged.close()

    def _plan_restore(self, target: Target, place: Place, file: File, info: Info) -> Callable[[], None]:
        """Undo the replacement of a target."""
        system = self._system
        if info.inode != target.next_ino:
            if not target.existed or info.inode != target.ino:
                text = "is neither the file before nor the one after an unfinished sweep"
                raise NeedsRecovery(f"{target.role} {show(place.path)} {text}")
            # A power cut may have undone the renaming, but not what others wrote after it.
            waiting = system.lookup(place.side(NEXT))
            if waiting is not None and waiting.inode == target.next_ino and waiting.size > target.bytes:
                raise NeedsRecovery(f"{show(place.side(NEXT))} holds more than an unfinished sweep wrote to it")
            return lambda: system.sync_directory(place.directory)
        if info.size != target.bytes or not added_intact(file, target):
            raise NeedsRecovery(f"{target.role} {show(place.path)} holds more than an unfinished sweep wrote to it")
        if not target.existed:
            return lambda: self._remove(place)
        prior_path = place.side(PRIOR)
        prior = system.lookup(prior_path)
        if prior is None or prior.inode != target.ino:
            text = f"is not there to take the place of {show(place.path)} again"
            raise NeedsRecovery(f"{show(prior_path)} {text}")

        def restore() -> None:
            self._engine.data.release(place)
            self._check_unused(place)
            system.rename(prior_path, place.path)
            system.sync_directory(place.directory)

        return restore

    def _check_unused(self, place: Place) -> None:
        """Refuse to take a file from under its name while somebody has it open for writing.

        What that one wrote would be gone with it.
        """
        file = self._system.open(place.path, READ)
        try:
            writers = file.has_writers()
        finally:
            file.close()
        if writers:
            raise Refused(f"{show(place.path)} cannot be put back: another process has it open for writing")


def equal_or_zero(file: File, start: int, end: int, want: File) -> bool:
    """Compare the bytes [start, end) with the beginning of another file; zeros count as equal."""
    at = 0
    for have in _ranges.chunks(file, start, end):
        try:
            if not _ranges.equal_or_zero(have, _ranges.read_full(want, at, len(have))):
                return False
        except _ranges.CutError:
            return False
        at += len(have)
    return True


def added_intact(file: File, target: Target) -> bool:
    """Tell whether a target holds, at its place, what was added. Raises CutError if it is short."""
    start = 0 if target.mode == "replace" else target.size
    if target.joint:
        start += 1
        if _ranges.ends_open(file, start):
            return False
    return _ranges.sha256(file, start, start + target.bytes) == target.sha256


def plan_all(undo: Undo, journal: Journal, touched: set[str]) -> list[Callable[[], None]]:
    """Plan for every target with a touched role."""
    return [undo.plan(target) for target in journal.targets or [] if target.role in touched]
