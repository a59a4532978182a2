"""Settling what an interrupted run left: its commit is completed, or all of it is undone.

One question decides: is the new input still under its own name? Then the run did not
commit. The answer to any doubt is NeedsRecovery, with nothing touched.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recolva._drain import Mover
from recolva._forward import Forward
from recolva._journal import Journal, OldInput, Target, place_of
from recolva._locks import BusyError, LockFiles, lock_all, lock_open
from recolva._places import HOME_SIDES, JOURNAL, LOCK, NEW, TARGET_SIDES, Place, show
from recolva._ranges import CutError, starts_with
from recolva._replace import UnconfirmedError
from recolva._standing import compare_lines, open_staged
from recolva._system import APPEND, READ
from recolva._undo import StaysError, Undo, added_intact, plan_all
from recolva.errors import CommittedUncertain, NeedsRecovery, Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recolva._engine import Engine
    from recolva._system import File


@dataclass
class Recovery:
    """What a recovery found and did; true if it found anything."""

    found: bool = False
    """An interrupted run had left something."""
    committed: int = 0
    """Runs whose commit was completed."""
    rolled_back: int = 0
    """Runs that were undone."""
    moved_bytes: int = 0
    """Bytes that were moved from an old file to the store."""

    def __bool__(self) -> bool:
        return self.found


class Settler:
    """Finishes or undoes runs at places whose lock files are held."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._system, self._notes = engine, engine.system, engine.notes

    def settle(self, places: Sequence[Place], result: Recovery) -> LockFiles:
        """Lock the places and every place that an interrupted run ties to them; settle that run.

        The caller releases the locks that are returned; after an error none is held.
        """
        deadline = self._engine.deadline()
        while True:
            locks = lock_all(self._system, places, deadline)
            try:
                wider = self._tied(places, locks.ties)
                while len(wider) > len(places):
                    places = wider
                    locks.extend(places)
                    wider = self._tied(places, locks.ties)
                self._settle_locked(places, result)
            except BusyError as busy:
                # Begin anew, with all of them; a kill before that must not lose what they are tied to.
                locks.release(keep_names=bool(locks.ties))
                deadline.wait(str(busy))
            except BaseException:
                locks.leave = True
                locks.release()
                raise
            else:
                return locks
            finally:
                self._engine.data.release_all()

    def _tied(self, places: Sequence[Place], hints: Sequence[Place]) -> list[Place]:
        """Add the homes that pointers name, the targets of journals, and hints beside which something is left."""
        found = list(places)

        def add(place: Place) -> None:
            if not any(self._same_place(place, other) for other in found):
                found.append(place)

        for place in hints:
            if self._left_beside(place):
                add(place)
        for place in places:
            journal = self._notes.journal(place)
            for target in journal.targets or [] if journal else []:
                add(place_of(target.path, place))
            home = self._notes.pointer(place)
            if home is not None:
                if self._system.lookup(home.directory) is None:
                    text = f"waits for the recovery of {show(home.path)}, whose directory is not there"
                    raise NeedsRecovery(f"{show(place.path)} {text}")
                add(home)
        return found

    def _left_beside(self, place: Place) -> bool:
        """Tell whether a killed run left something beside a place that its lock file only names.

        It is to be removed: not where it cannot be, as on a disk that is read-only by now.
        """
        try:
            self._system.open(place.side(LOCK), APPEND).close()
        except FileNotFoundError:
            sides = (JOURNAL, *TARGET_SIDES, *HOME_SIDES)
            return any(self._system.lookup(place.side(side)) is not None for side in sides)
        except OSError:
            return False
        return True

    def _same_place(self, one: Place, other: Place) -> bool:
        """Tell whether two paths are one place, be it by a directory that is mounted twice."""
        if one == other or one.base != other.base:
            return one == other
        directory, beside = self._system.lookup(one.directory), self._system.lookup(other.directory)
        return directory is not None and beside is not None and directory.same_file(beside)

    def _settle_locked(self, places: Sequence[Place], result: Recovery) -> None:
        for place in places:
            journal = self._notes.journal(place)
            if journal is not None and journal.replace_input:
                self._await_run(place)
                journal = self._notes.journal(place)
            if journal is not None:
                result.found = True
                self._settle_journal(place, journal, result)
        # Where no journal is seen, it may have been removed by a run that was killed before this
        # was durable: it must be gone for good before what it names is removed, or used again.
        for directory in dict.fromkeys(place.directory for place in places):
            self._system.sync_directory(directory)
        for place in places:
            result.found |= self._remove_sides(place, TARGET_SIDES + HOME_SIDES)

    def _await_run(self, home: Place) -> None:
        """Wait until nobody holds the data lock of a home.

        A run that is still at work, because somebody took its lock file away, holds it from
        before its journal to behind its commit.
        """
        try:
            file = self._system.open(home.path, READ)
        except FileNotFoundError:
            return
        try:
            lock_open(file, home, self._engine.deadline())
        finally:
            file.close()

    def _remove_sides(self, place: Place, suffixes: Sequence[str]) -> bool:
        """Remove files that mean nothing without a journal; tell whether there was one."""
        return sum([self._remove_side(place.side(suffix)) for suffix in suffixes]) > 0

    def _remove_side(self, path: str) -> bool:
        try:
            return self._system.remove(path)
        except OSError:
            found = self._system.lookup(path)
            if found is not None and stat.S_ISDIR(found.mode):
                text = "is a directory, and would have the name of a temporary file"
                raise Refused(f"{show(path)} {text}") from None
            raise

    def _settle_journal(self, home: Place, journal: Journal, result: Recovery) -> None:
        self._mark_targets(home, journal)
        if self.is_committed(home, journal):
            self._verify_targets(home, journal)
            self._system.sync_directory(home.directory)  # the rename may be visible without being durable
            result.moved_bytes += self.finish(home, journal)
            result.committed += 1
        else:
            moved, finished = self.settle_open(home, journal, {"archive", "audit"})
            result.moved_bytes += moved
            result.committed += finished
            result.rolled_back += not finished

    def _mark_targets(self, home: Place, journal: Journal) -> None:
        """Find out which targets have no pointer to this journal beside them.

        It was there before the journal, and goes after it. The journal may be a copy, and the
        target the original's; or somebody took the pointer for a stale one where its home could
        not be seen. Nothing may be taken from such a target, and nothing that lies beside it is
        ours to remove.
        """
        own = self._system.lookup(home.side(JOURNAL))
        for target in journal.targets or []:
            place = place_of(target.path, home)
            if place != home:
                pointed = self._notes.pointer(place)
                note = None if pointed is None else self._system.lookup(pointed.side(JOURNAL))
                target.unmarked = own is None or note is None or not note.same_file(own)

    def is_committed(self, home: Place, journal: Journal) -> bool:
        """Tell whether the input of a run was replaced."""
        if not journal.replace_input or journal.new is None or journal.old is None:
            return False  # its commit would have removed the journal
        path = home.side(NEW)
        info = self._system.lookup(path)
        if info is not None:
            if info.inode != journal.new.ino:
                raise NeedsRecovery(f"{show(path)} is not the file that the journal beside it names")
            return False
        store = self._system.lookup(home.path)
        if store is None:
            raise NeedsRecovery(f"{show(home.path)} is missing, and its recovery needs it")
        if store.inode != journal.old.ino:
            return True
        self._check_is_old(home, journal.old)
        return False

    def _check_is_old(self, home: Place, old: OldInput) -> None:
        """Make sure that an input with the inode number of the old one is the old one.

        On another disk, to which the files were moved, the new one may have got this number.
        """
        file = self._system.open(home.path, READ)
        try:
            same = starts_with(file, old.bytes, old.sha256)
        finally:
            file.close()
        if not same:
            text = "has the inode number, but not the content, that it had before an unfinished sweep"
            raise NeedsRecovery(f"{show(home.path)} {text}")

    def _verify_targets(self, home: Place, journal: Journal) -> None:
        """Make sure, before the old input goes, that archive and audit hold what was added.

        Once draining has begun this was known, and others may have changed them since.
        """
        if journal.drain is not None:
            return
        for target in journal.targets or []:
            place = place_of(target.path, home)
            try:
                file = self._system.open(place.path, READ)
            except FileNotFoundError:
                text = f"is missing, but a finished sweep of {show(home.path)} added to it"
                raise NeedsRecovery(f"{target.role} {show(place.path)} {text}") from None
            try:
                self._verify(file, home, place, target)
            finally:
                file.close()

    def _verify(self, file: File, home: Place, place: Place, target: Target) -> None:
        name, inode = f"{target.role} {show(place.path)}", file.info().inode
        other = inode != target.next_ino if target.mode == "replace" else target.existed and inode != target.ino
        if other:
            self._engine.warnings.append(f"{name} was replaced after the sweep of {show(home.path)}")
            return
        try:
            intact = added_intact(file, target)
        except CutError:
            intact = False
        if not intact and target.mode == "append" and target.role == "archive":
            intact = self._holds_lines(home, file, target)
        if not intact:
            raise NeedsRecovery(f"{name} does not hold what a finished sweep of {show(home.path)} added to it")

    def _holds_lines(self, home: Place, file: File, target: Target) -> bool:
        """Tell whether a target holds all lines that were staged for it, be it among lines of others."""
        try:
            staged = open_staged(self._engine, home, target)
        except FileNotFoundError:
            return False
        try:
            return not compare_lines(file, target, staged, file.info().size)[1]
        finally:
            staged.close()

    def finish(self, home: Place, journal: Journal) -> int:
        """Complete a committed run; return how many bytes others had written to the old input."""
        mover = Mover(self._engine, home, journal)
        mover.drain()
        self._close(home, journal)
        return mover.moved

    def settle_open(self, home: Place, journal: Journal, touched: set[str]) -> tuple[int, bool]:
        """Undo a run that did not commit, or finish it where others wrote behind what it added.

        Return how many bytes were moved, and whether it was finished.
        """
        try:
            return self._roll_back(home, journal, touched, even_in_use=False), False
        except StaysError as error:
            stays = error
        try:
            Forward(self._engine, home, journal).run()
        except UnconfirmedError as error:
            text = f"{show(home.path)} is swept, but the directory could not be made durable: {error}"
            raise CommittedUncertain(text) from error
        except (NeedsRecovery, Refused, OSError) as error:
            if self.is_committed(home, journal):
                raise  # the next run finishes it
            if stays.in_use:
                return self._roll_back_in_use(home, journal, touched, error), False
            if isinstance(error, NeedsRecovery):
                raise NeedsRecovery(f"{stays}, and the sweep cannot be finished: {error}") from error
            raise
        if journal.replace_input:
            return self.finish(home, journal), True
        self._close(home, journal)
        return 0, True

    def _roll_back_in_use(self, home: Place, journal: Journal, touched: set[str], cause: Exception) -> int:
        try:
            return self._roll_back(home, journal, touched, even_in_use=True)
        except StaysError as error:  # now somebody has written behind it
            raise NeedsRecovery(f"{error}, and the sweep cannot be finished: {cause}") from cause

    def _roll_back(self, home: Place, journal: Journal, touched: set[str], *, even_in_use: bool) -> int:
        """Undo a run where it touched anything; look at all before touching it."""
        undos = plan_all(Undo(self._engine, home, even_in_use=even_in_use), journal, touched)
        mover = Mover(self._engine, home, journal)
        if journal.replace_input:
            mover.move_extra()
        for undo in undos:
            undo()
        self._close(home, journal)
        return mover.moved

    def _close(self, home: Place, journal: Journal) -> None:
        """End a run: first its journal, durably, then what that names."""
        self._system.remove(home.side(JOURNAL))
        self._system.sync_directory(home.directory)
        self.clean_up(home, journal)

    def clean_up(self, home: Place, journal: Journal) -> None:
        """Remove what a run left, its journal being gone for good."""
        self._remove_sides(home, HOME_SIDES)
        for target in journal.targets or []:
            if not target.unmarked:
                self._remove_sides(place_of(target.path, home), TARGET_SIDES)


def recover_at(engine: Engine, path: str) -> Recovery:
    """Settle what an interrupted run left at an input, archive or audit of that name."""
    result = Recovery()
    Settler(engine).settle([Place(engine.system.real_path(path))], result).release()
    return result
