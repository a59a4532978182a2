"""Preparing a commit: the last checks, the last bytes, and everything staged made durable.

Nothing but staged files is changed here.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING, Optional

from recolva import _ranges
from recolva._audit import NOTHING
from recolva._journal import VERSION, Journal, NewInput, OldInput, Target, name_from
from recolva._locks import lock_open
from recolva._places import Member, refused_links, show
from recolva._replace import check_still_there
from recolva._stage import Final, Last, RunLine, Staged, cut_text, opened
from recolva.errors import Refused

if TYPE_CHECKING:
    from recolva._system import File, Info
    from recolva._transaction import Transaction


def prepare(t: Transaction, last: Optional[Last], run_line: Optional[RunLine]) -> tuple[Final, Optional[Journal]]:
    """Lock and check the data files, stage the rest; return the journal to write, if any."""
    _lock_files(t)
    size = _check_input(t)
    final = _decide_last(t, last, grew=size > t.input.size)
    if t.audit is not None and run_line is not None:
        t.audit.write(run_line(final))
    journal = _plan(t, final, size)
    if journal is not None:
        _drop_unused(t, journal)
        _sync_stage(t, journal)
        if t.locks is not None:
            t.locks.check_held()
    return final, journal


def _lock_files(t: Transaction) -> None:
    """Lock the data files in the order of their inodes."""
    if t.locks is None:
        return
    deadline = t.deadline()
    for member in sorted(t.members.changing(), key=_order):
        if member.role == "input":
            lock_open(t.input.file, t.home, deadline)
        else:
            with suppress(FileNotFoundError):
                t.data.get(member.place, deadline)


def _order(member: Member) -> tuple[int, int]:
    return (0, 0) if member.info is None else (member.info.device, member.info.inode)


def _check_input(t: Transaction) -> int:
    """Refuse an input that is not the one that was swept; return its length now."""
    opened_as, read = t.input.info, t.input.position
    if read != t.input.size:
        raise ValueError(f"only {read} of {t.input.size} bytes of the input were read")
    now = t.input.file.info()
    if not t.files.mutate:
        return now.size
    path = show(t.home.path)
    check_still_there(t.system, t.home, t.input.info)
    if now.links > 1:
        raise refused_links(t.members.input, now.links)
    if now.size < t.input.size:
        raise Refused(cut_text(t.home.path, t.input.size, now.size))
    unchanged = (now.modified_ns, now.changed_ns) == (opened_as.modified_ns, opened_as.changed_ns)
    if unchanged and not t.racy:
        return now.size
    if _ranges.sha256(t.input.file, 0, t.input.size) != t.input.digest(0).sha256:
        raise Refused(f"input {path} was rewritten meanwhile")
    return now.size


def _decide_last(t: Transaction, last: Optional[Last], *, grew: bool) -> Final:
    """Write the effects of a last line without newline, unless the file has grown.

    Then the line may only now be complete.
    """
    undecided = len(last.line) if last is not None and grew else 0
    if last is not None and not undecided:
        if last.fault is not None:  # it had grown, and shrank again
            raise last.fault
        for to, data in ((t.retained, last.retained), (t.pruned, last.pruned), (t.audit, last.audit)):
            if to is not None:
                to.write(data)
    before = t.input.digest(undecided)
    return Final(
        undecided > 0,
        before,
        before if t.retained is None else t.retained.digest(),
        NOTHING if t.pruned is None or t.members.archive is None else t.pruned.digest(),
        NOTHING if t.audit is None else t.audit.digest(),
    )


def _plan(t: Transaction, final: Final, size: int) -> Optional[Journal]:
    """Carry the appended tail over and describe the commit; None if nothing is to be changed."""
    journal = Journal(VERSION, name_from(t.home, t.home))
    targets = []
    if t.retained is not None and t.pruned is not None and t.pruned.size:
        _plan_input(t, journal, t.retained, final.before.bytes, size)
        if t.members.archive is not None:
            targets.append(_plan_target(t, t.members.archive, t.pruned))
    if t.members.audit is not None and t.audit is not None and t.audit.size:
        targets.append(_plan_target(t, t.members.audit, t.audit))
    journal.targets = targets or None
    return journal if journal.replace_input or targets else None


def _plan_input(t: Transaction, journal: Journal, retained: Staged, start: int, end: int) -> None:
    """Copy what was appended since, [start, end), behind the retained lines.

    While somebody is writing, a last line that is not whole stays for the drain: its rest
    may still come.
    """
    file = t.input.file
    writers = file.has_writers()
    grown = file.info().size != end  # then the end was perhaps measured within a line
    if start < end and (writers is not False or grown):
        end = _ranges.after_last_newline(file, start, end)
    state = t.input.hash_of(t.input.position - start)
    content = hashlib.sha256() if state is None else state.copy()
    for data in _ranges.chunks(file, start, end):
        retained.write(data)
        content.update(data)
    journal.replace_input = True
    journal.old = OldInput(t.input.info.inode, end, _ranges.ends_open(file, end), content.hexdigest())


def _is_unchanged(file: File, member: Member, now: Info) -> bool:
    return member.info == now and (not member.sum or member.sum == _ranges.sha256(file, 0, now.size))


def _plan_target(t: Transaction, member: Member, staged: Staged) -> Target:
    digest = staged.digest()
    target = Target(member.role, name_from(t.home, member.place), member.mode, bytes=digest.bytes, sha256=digest.sha256)
    file = t.data.open.get(member.place)
    if file is not None:
        info = file.info()
        if info.links > 1:
            raise refused_links(member, info.links)
        target.existed, target.ino, target.size = True, info.inode, info.size
        if target.mode == "replace" and not _is_unchanged(file, member, info):  # what was added would be gone
            raise Refused(f"{member} was changed meanwhile")
        target.joint = target.mode == "append" and _ranges.ends_open(file, info.size)
    at = (0, 0) if t.audit_at is None else (t.audit_at.inode, t.audit_at.size)
    if member.role == "audit" and target.mode == "append" and (target.ino, target.size) != at:
        raise Refused(f"{member} was changed meanwhile")
    return target


def _drop_unused(t: Transaction, journal: Journal) -> None:
    """Remove what was staged for a file that stays as it is."""
    used = [t.target_files(target)[1] for target in journal.targets or []]
    if journal.replace_input and t.retained is not None:
        used.append(t.retained)
    for staged in t.staged():
        if staged not in used:
            staged.drop()


def _sync_stage(t: Transaction, journal: Journal) -> None:
    """Give the staged files their attributes and make them durable under their names."""
    for staged in t.staged():
        staged.flush()
    if journal.replace_input and t.retained is not None:
        file = opened(t.retained)
        file.copy_attributes(t.input.file)
        digest = t.retained.digest()
        journal.new = NewInput(file.info().inode, digest.bytes, digest.sha256)
    replaced = [target for target in journal.targets or [] if target.mode == "replace"]
    for target in replaced:
        member, staged = t.target_files(target)
        target.next_ino = _dress_next(t, t.data.open.get(member.place), opened(staged))
    for staged in t.staged():
        opened(staged).sync()
    t.system.sync_directory(t.home.directory)
    for target in replaced:
        t.system.sync_directory(t.target_files(target)[0].place.directory)


def _dress_next(t: Transaction, old: Optional[File], file: File) -> int:
    """Give a file that takes another's place its attributes; return its inode."""
    if old is not None:
        file.copy_attributes(old)
    else:
        file.copy_attributes(t.input.file, access_only=True)
    return file.info().inode
