"""Doing what a journal says. From its writing on, an error is settled as a crash would be: by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from recolva import _ranges
from recolva._forward import create_beside
from recolva._journal import Journal, Target, place_of
from recolva._places import JOURNAL, Member, show
from recolva._replace import UnconfirmedError, link_prior, lock_staged, place_next, replace_input
from recolva._stage import Staged, opened
from recolva._standing import Span, append_lines, compare_lines
from recolva._undo import added_intact
from recolva.errors import CommittedUncertain, NeedsRecovery, Refused

if TYPE_CHECKING:
    from recolva._system import File
    from recolva._transaction import Transaction


def perform(t: Transaction, journal: Journal) -> None:
    """Write the journal and do what it says."""
    home, touched = show(t.home.path), set[str]()
    try:
        _record(t, journal)
        _mutate(t, journal, touched)
    except UnconfirmedError as error:
        t.remain()
        text = f"{home} is swept, but the directory could not be made durable: {error}"
        raise CommittedUncertain(text) from error.__cause__
    except BaseException as cause:  # noqa: BLE001 - an interrupt, too, is settled by what the files say
        _undo(t, journal, touched, cause)
    else:
        if journal.replace_input:
            _finish(t, journal)
        else:
            _finish_audit(t, journal)


def _close_own(t: Transaction) -> None:
    """Close what settling opens again: it would meet its own locks, and count itself as a writer."""
    t.input.file.close()
    for staged in t.staged():
        staged.close()


def _finish(t: Transaction, journal: Journal) -> None:
    """Complete a commit that has happened."""
    _close_own(t)
    try:
        t.settler.finish(t.home, journal)
    except (CommittedUncertain, NeedsRecovery):
        t.remain()
        raise
    except (OSError, Refused) as error:
        _uncertain(t, error)


def _uncertain(t: Transaction, error: Exception) -> NoReturn:
    t.remain()
    text = f"{show(t.home.path)} is swept, but its old files remain until the next run: {error}"
    raise CommittedUncertain(text) from error


def _undo(t: Transaction, journal: Journal, touched: set[str], cause: BaseException) -> None:
    """Settle a commit that met an error; the rename may have happened even though it reported one."""
    _close_own(t)
    finished = False
    try:
        committed = t.settler.is_committed(t.home, journal)
        if not committed:
            _, finished = t.settler.settle_open(t.home, journal, touched)
    except NeedsRecovery as error:
        t.remain()
        raise NeedsRecovery(f"{error} (after: {cause})") from cause
    except CommittedUncertain:
        t.remain()
        raise
    except (OSError, Refused) as error:
        t.remain()
        _add_text(cause, f" (nothing is lost; the next run or recover settles the rest: {error})")
        raise cause from error
    if committed:
        _finish(t, journal)
    elif not finished:
        raise cause
    else:
        text = "is swept although a step failed, because that could not be undone beside another writer"
        t.engine.warnings.append(f"{show(t.home.path)} {text}: {cause}")
    if not isinstance(cause, Exception):
        raise cause  # an interrupt, which does not take back what is done


def _add_text(error: BaseException, text: str) -> None:
    if isinstance(error, OSError):
        error.strerror = f"{error.strerror}{text}"
    else:
        error.args = (f"{error}{text}",)


def _record(t: Transaction, journal: Journal) -> None:
    """Write the pointers beside archive and audit, then the journal.

    A pointer without a journal is harmless; a journal whose target does not point back
    would let another store's sweep append behind ours.
    """
    for target in journal.targets or []:
        place = place_of(target.path, t.home)
        if place != t.home:
            t.notes.write_pointer(place, t.home)
    t.notes.write_journal(t.home, journal)


def _mutate(t: Transaction, journal: Journal, touched: set[str]) -> None:
    """Append to archive and audit, then replace the input."""
    for target in journal.targets or []:
        member, staged = t.target_files(target)
        try:
            if target.mode == "replace":
                touched.add(target.role)
                _replace_target(t, target, member, staged)
            else:
                _append_target(t, target, member, staged, touched)
        except Refused as error:
            raise Refused(f"{member}: {error}") from error
    if journal.replace_input:
        replace_input(t.system, t.home, t.input.info, opened(t.retained), close_store=t.input.file.close)


def _append_target(t: Transaction, target: Target, member: Member, staged: Staged, touched: set[str]) -> None:
    """Append the staged bytes to an archive or audit, durably."""
    file = t.data.open.get(member.place)
    if file is None:
        touched.add(target.role)
        file = create_beside(t.engine, member.place, t.input.file)
    if file.info().size != target.size:
        raise Refused("it was changed meanwhile by a writer without the lock")
    touched.add(target.role)
    append_lines(t.engine, file, opened(staged), Span(0, target.bytes))
    file.sync()
    if file.info().size != target.size + target.added:
        _check_added(file, target, opened(staged))
    if not target.existed:
        t.system.sync_directory(member.place.directory)


def _check_added(file: File, target: Target, staged: File) -> None:
    """Make sure that all that we appended is there.

    Another writer may have come between our writes to an archive, but not to an audit, whose
    block must be in one piece.
    """
    try:
        intact = added_intact(file, target)
        if not intact and target.role == "archive":
            intact = not compare_lines(file, target, staged, file.info().size)[1]
        if not intact:
            raise Refused("another writer without the lock wrote into it at the same time")
    except _ranges.CutError:
        raise Refused("it was cut while it was written") from None


def _replace_target(t: Transaction, target: Target, member: Member, staged: Staged) -> None:
    """Put the staged file in the place of an archive or audit.

    The one before stays under a second name until the commit.
    """
    system, place = t.system, member.place
    current = system.lookup(place.path)
    if (current is not None) != target.existed or (current is not None and current.inode != target.ino):
        raise Refused("it was replaced meanwhile")
    if current is not None:
        link_prior(system, place)
    # Cooperating writers that find the new file wait for the commit.
    lock_staged(opened(staged))
    if not system.renames_open_files:
        t.data.release(place)
        staged.close()
    place_next(system, place, target)


def _finish_audit(t: Transaction, journal: Journal) -> None:
    """Commit a transaction that only writes an audit: its commit point is the end of its journal."""
    system, home = t.system, t.home
    try:
        system.remove(home.side(JOURNAL))
    except OSError as error:
        _undo(t, journal, {"audit"}, error)
    try:
        system.sync_directory(home.directory)
    except OSError as error:
        t.remain()
        text = f"the audit is written, but the directory could not be made durable: {error}"
        raise CommittedUncertain(text) from error
    for staged in t.staged():
        staged.close()
    try:
        t.settler.clean_up(home, journal)
    except OSError as error:
        _uncertain(t, error)
