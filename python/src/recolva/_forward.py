"""Finishing a run that did not reach its commit point, where it cannot be undone any more."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Callable, Optional

from recolva import _ranges
from recolva._drain import check_intact
from recolva._journal import Journal, OldInput, Target, place_of
from recolva._places import NEW, NEXT, OLD, PRIOR, Place, show
from recolva._replace import link_prior, place_next, replace_input
from recolva._standing import AT_END, append_lines, await_line_end, compare_lines, open_staged, standing, write_again
from recolva._system import APPEND, CREATE, READ
from recolva._undo import StaysError, added_intact, cut_back
from recolva.errors import NeedsRecovery, Refused

if TYPE_CHECKING:
    from recolva._engine import Engine
    from recolva._system import File


class Forward:
    """Does what is left of a run, up to its commit point."""

    def __init__(self, engine: Engine, home: Place, journal: Journal) -> None:
        self._engine, self._system, self._home, self._journal = engine, engine.system, home, journal

    def run(self) -> None:
        """Look at everything, then complete the targets and replace the input."""
        engine, system, home, journal = self._engine, self._system, self._home, self._journal
        if not journal.replace_input or journal.old is None or journal.new is None:
            self._targets(None)  # a dry-run's commit is the end of its journal
            return
        if journal.drain is not None:
            raise NeedsRecovery(f"lines were already moved back from {show(home.side(NEW))}")
        store = engine.data.get(home, engine.deadline())
        try:
            self._check_old(store, journal.old)
            try:
                new = system.open(home.side(NEW), APPEND)
            except FileNotFoundError:
                raise NeedsRecovery(f"{show(home.side(NEW))} is gone") from None
            try:
                check_intact(new, home, journal.new)
                self._targets(store)
                replace_input(system, home, store.info(), new, close_store=lambda: engine.data.release(home))
            finally:
                new.close()
        finally:
            engine.data.release(home)  # a lock of ours would be in the way of the drain

    def _check_old(self, store: File, old: OldInput) -> None:
        """Make sure that the input is still what was swept and carried over."""
        path, info = show(self._home.path), store.info()
        if info.inode != old.ino:
            raise NeedsRecovery(f"{path} was replaced since")
        second = self._system.lookup(self._home.side(OLD))
        if second is not None and second.inode != old.ino:
            raise NeedsRecovery(f"{show(self._home.side(OLD))} is another file")
        if not _ranges.starts_with(store, old.bytes, old.sha256):
            raise NeedsRecovery(f"{path} was rewritten since")

    def _targets(self, store: Optional[File]) -> None:
        for step in [self._plan(target, store) for target in self._journal.targets or []]:
            step()

    def _plan(self, target: Target, store: Optional[File]) -> Callable[[], None]:
        """Find out how to complete a target."""
        place = place_of(target.path, self._home)
        name = f"{target.role} {show(place.path)}"
        try:
            file = self._engine.data.get(place, self._engine.deadline())
        except FileNotFoundError:
            if target.mode == "replace" and not target.existed:
                return self._plan_replace(target, place)
            if target.existed:
                raise NeedsRecovery(f"{name} is missing") from None
            return lambda: self._add(target, place, create_beside(self._engine, place, store))
        inode = file.info().inode
        if target.mode == "replace":
            if inode != target.next_ino and target.existed and inode == target.ino:
                return self._plan_replace(target, place)
            if inode != target.next_ino:
                raise NeedsRecovery(f"{name} is neither the file before nor the one after an unfinished sweep")
            return lambda: self._system.sync_directory(place.directory)
        if target.existed and inode != target.ino:
            raise NeedsRecovery(f"{name} was replaced")
        stand = standing(self._engine, self._home, place, target, file)
        if stand != AT_END and target.role == "audit" and not _in_one_piece(file, target):
            raise NeedsRecovery(f"{name} does not have its lines in one piece")
        return lambda: self._add(target, place, file)

    def _plan_replace(self, target: Target, place: Place) -> Callable[[], None]:
        """Put a staged file in a target's place that it has not taken yet."""
        system, path = self._system, place.side(NEXT)
        try:
            staged = system.open(path, READ)
        except FileNotFoundError:
            raise NeedsRecovery(f"{show(path)} cannot take the place of {show(place.path)}: it is gone") from None
        try:
            info = staged.info()
            if (info.inode, info.size) != (target.next_ino, target.bytes) or not added_intact(staged, target):
                raise NeedsRecovery(f"{show(path)} is not what an unfinished sweep staged")
        finally:
            staged.close()

        def replace() -> None:
            prior = system.lookup(place.side(PRIOR)) if target.existed else None
            if prior is not None and prior.inode != target.ino:
                raise NeedsRecovery(f"{show(place.side(PRIOR))} is another file")
            if target.existed and prior is None:
                link_prior(system, place)
            self._engine.data.release(place)
            place_next(system, place, target)

        return replace

    def _add(self, target: Target, place: Place, file: File) -> None:
        """Append to a target what it does not hold yet of what was staged; write the rest again."""
        engine, audit = self._engine, target.role == "audit"
        staged = open_staged(engine, self._home, target)
        try:
            if standing(engine, self._home, place, target, file) == AT_END and not target.unmarked:
                # Best is to begin anew. An audit has one block of ours, so there a last look must do.
                with suppress(StaysError):
                    cut_back(file, place, file.info().size, target.size, even_in_use=audit)
            held, missing = compare_lines(file, target, staged, file.info().size)
            if held and missing:
                text = (
                    "others wrote between lines of an interrupted run; those that were missing follow at its end, "
                    "and a torn one may be left"
                )
                engine.warnings.append(f"{show(place.path)}: {text}")
            write_again(engine, place, file, held)
            for span in missing:
                await_line_end(engine, file)
                append_lines(engine, file, staged, span)
        finally:
            staged.close()
        file.sync()
        self._system.sync_directory(place.directory)


def _in_one_piece(file: File, target: Target) -> bool:
    try:
        return added_intact(file, target)
    except _ranges.CutError:
        return False


def create_beside(engine: Engine, place: Place, model: Optional[File]) -> File:
    """Make a new archive or audit, locked, with the access rights of a model."""
    file = engine.system.open(place.path, CREATE | APPEND)
    engine.data.open[place] = file
    if not file.try_lock():
        raise Refused("it was locked by another process as soon as it was made")
    if model is not None:
        file.copy_attributes(model, access_only=True)
    return file
