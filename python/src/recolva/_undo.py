"""Giving an archive or audit its earlier content back.

Every function first looks, and raises NeedsRecovery or StaysError with nothing touched where a
file cannot be given back; it returns what is then to be done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Optional

from recolva import _ranges
from recolva._journal import Journal, Target, place_of
from recolva._places import NEXT, PRIOR, Place, show
from recolva._standing import AMID, NOWHERE, foreign_text, standing
from recolva._system import READ
from recolva.errors import NeedsRecovery, Refused

if TYPE_CHECKING:
    from recolva._engine import Engine
    from recolva._system import File, Info


class StaysError(Exception):
    """What a run added to a target must not be taken away any more."""

    def __init__(self, text: str, *, in_use: bool = False) -> None:
        super().__init__(text)
        self.in_use = in_use
        """Only because somebody has the target open, or will."""


class Undo:
    """Undoes what a run that did not commit did to its targets."""

    def __init__(self, engine: Engine, home: Place, *, even_in_use: bool) -> None:
        self._engine, self._system, self._home, self._even_in_use = engine, engine.system, home, even_in_use

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
        placed = info.inode == target.next_ino if target.mode == "replace" else info.size > target.size
        if target.unmarked and placed:
            text = f"says that an unfinished sweep of {show(self._home.path)} concerns it"
            raise StaysError(f"nothing beside {target.role} {show(place.path)} {text}")
        if target.mode == "replace":
            return self._plan_restore(target, place, file, info)
        if target.existed and info.inode != target.ino:
            raise self._stuck(target, place, "is not the file that {} added to")
        return self._plan_cut(target, place, file, info.size)

    def _plan_cut(self, target: Target, place: Place, file: File, size: int) -> Callable[[], None]:
        """Undo what was appended to a target."""
        stand = standing(self._engine, self._home, place, target, file)
        if stand == AMID:
            raise StaysError(foreign_text(self._home, place, target))
        if stand == NOWHERE and target.role == "audit":  # a part of a line of ours would break its chain
            raise NeedsRecovery(foreign_text(self._home, place, target))
        if stand == NOWHERE:  # killed before the first byte of ours
            if not target.joint and _ranges.ends_open(file, target.size):
                # What comes next began a line: somebody edited the file, and what was added may be there.
                text = "was changed in place while an unfinished sweep waited to be undone"
                raise NeedsRecovery(f"{target.role} {show(place.path)} {text}")
            return file.sync
        if size > target.size and not self._even_in_use:
            take_back(file, place, None, lambda: None)
        even = self._even_in_use

        def undo() -> None:
            if not target.existed:
                take_back(file, place, size, lambda: self._remove_held(place), even_in_use=even)
                return
            cut_back(file, place, size, target.size, even_in_use=even)
            file.sync()  # an earlier cut may not be durable yet

        return undo

    def _stuck(self, target: Target, place: Place, text: str) -> NeedsRecovery:
        text = text.format(f"an unfinished sweep of {show(self._home.path)}")
        return NeedsRecovery(f"{target.role} {show(place.path)} {text}")

    def _remove_held(self, place: Place) -> None:
        """Remove a file while its lock is held, where open files can be removed."""
        if not self._system.renames_open_files:
            self._engine.data.release(place)
        self._system.remove(place.path)
        self._system.sync_directory(place.directory)

    def _remove(self, place: Place) -> None:
        self._engine.data.release(place)
        self._system.remove(place.path)
        self._system.sync_directory(place.directory)

    def _plan_unplaced(self, target: Target, place: Place, info: Info) -> Callable[[], None]:
        """Leave a target as it is in whose place the staged file is not."""
        system = self._system
        waiting = system.lookup(place.side(NEXT))
        ours_waits = waiting is not None and waiting.inode == target.next_ino
        made_meanwhile = not target.existed and ours_waits
        if info.inode != target.ino and not made_meanwhile:
            text = "is neither the file before nor the one after an unfinished sweep"
            raise NeedsRecovery(f"{target.role} {show(place.path)} {text}")
        # A power cut may have undone the renaming, but not what others wrote after it.
        if ours_waits and waiting is not None and waiting.size > target.bytes:
            raise NeedsRecovery(f"{show(place.side(NEXT))} holds more than an unfinished sweep wrote to it")
        return lambda: system.sync_directory(place.directory)

    def _plan_restore(self, target: Target, place: Place, file: File, info: Info) -> Callable[[], None]:
        """Undo the replacement of a target, where the run cannot be finished.

        Whoever opens the new file in the instant in which it is taken from under its name writes
        to a file that nobody will see.
        """
        system = self._system
        if info.inode != target.next_ino:
            return self._plan_unplaced(target, place, info)
        if not self._even_in_use:
            raise StaysError(f"{target.role} {show(place.path)} is replaced already", in_use=True)
        if info.size != target.bytes or not added_intact(file, target):
            raise StaysError(f"{target.role} {show(place.path)} holds more than an unfinished sweep wrote to it")
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


def cut_back(file: File, place: Place, size: int, to: int, *, even_in_use: bool) -> None:
    """Cut a target whose bytes past `to` are known to be ours."""
    if size > to:
        take_back(file, place, size, lambda: file.truncate(to), even_in_use=even_in_use)


def take_back(
    file: File, place: Place, size: Optional[int], take: Callable[[], None], *, even_in_use: bool = False
) -> None:
    """Do what takes bytes away from a file, if it is `size` bytes long and nobody else has it open.

    Everybody is shut out meanwhile. With `even_in_use`, and where the system cannot tell, a last
    look at the length must do.
    """
    alone = file.try_exclusive()
    try:
        if alone is False and not even_in_use:
            raise StaysError(f"{show(place.path)} is open in another process", in_use=True)
        if size is not None and file.info().size != size:
            text = "was appended to while an unfinished sweep was to be cut from it"
            raise StaysError(f"{show(place.path)} {text}")
        take()
    finally:
        if alone and file.fd >= 0:
            file.end_exclusive()


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
