"""Moving archived records back to their store: a sweep with the roles exchanged."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Optional

import recolva
from recolva import _canon, _ledger, _ranges
from recolva._audit import Digest
from recolva._engine import Engine
from recolva._ledger import BOM, Audit, Line, Span
from recolva._locks import Deadline
from recolva._places import Files, show
from recolva._recover import recover_at
from recolva._system import READ, SYSTEM
from recolva._transaction import Options, Transaction
from recolva.errors import InvalidArgument, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recolva._ledger import Run
    from recolva._stage import Final
    from recolva._system import File


class RestoreJob(NamedTuple):
    """What to restore: the records of a run, or those with certain ids."""

    store: str
    archive: str
    audit: Optional[str]
    run_id: str
    ids: tuple[str, ...]
    id_field: str
    audit_mode: str
    options: Options


class Restored(NamedTuple):
    """What a restore came to."""

    scanned: int
    """Records in the archive."""
    restored: int
    placed: str
    """`merged`: each where it had been; `appended`: at the end of the store; "" for none."""
    bytes: int
    """Of the restored records."""
    run_id: str
    """Name of the restore itself, as in its audit; "" where nothing was restored."""


class _NotMergedError(Exception):
    """Records cannot go back to where they were, or not safely: they are appended instead."""


class _Selection(NamedTuple):
    """Which records of the archive come back."""

    records: int
    """Of the run, still in the archive; -1 by ids."""
    whole: bool
    """All that the run archived."""
    span: Span
    gone: frozenset[str]
    """Ids that came back already."""


_NONE = _Selection(0, False, Span(0, 0), frozenset())


def restore(job: RestoreJob) -> Restored:
    """Restore; on any error but CommittedUncertain nothing has changed."""
    os.stat(job.archive)  # noqa: PTH116 - a path may be of any kind
    _check_aliases(job)
    # What is looked at here must be what the transaction changes, whatever becomes of a
    # symbolic link meanwhile.
    real_path = SYSTEM.real_path
    job = job._replace(
        store=real_path(job.store),
        archive=real_path(job.archive),
        audit=None if job.audit is None else real_path(job.audit),
    )
    for path in (job.archive, job.store):
        recover_at(Engine(job.options.lock_timeout), path)
    if job.run_id:
        with suppress(_NotMergedError):
            return _attempt(job, merged=True)
    return _attempt(job, merged=False)


def _check_aliases(job: RestoreJob) -> None:
    """Refuse two files that are one, in the roles that the caller gave them."""
    named = [("input", job.store), ("archive", job.archive), *([("audit", job.audit)] if job.audit else [])]
    for number, (role, path) in enumerate(named):
        for other_role, other in named[:number]:
            with suppress(FileNotFoundError):
                if os.path.samefile(path, other):  # noqa: PTH121
                    raise Refused(f"{other_role} {show(other)} and {role} {show(path)} are the same file")


def _attempt(job: RestoreJob, *, merged: bool) -> Restored:
    mode = "replace" if merged else "append"
    files = Files(job.archive, job.store, job.audit, archive_mode=mode, audit_mode=job.audit_mode, mutate=True)
    transaction = Transaction(files, job.options)
    try:
        return _Restoring(job, transaction, merged=merged).run()
    finally:
        transaction.rollback()


class _Restoring:
    """One attempt, its files locked."""

    def __init__(self, job: RestoreJob, transaction: Transaction, *, merged: bool) -> None:
        self._job, self._transaction, self._merged = job, transaction, merged
        self._read_id = _ledger.id_reader(job.id_field)
        self._moved, self._moved_bytes = hashlib.sha256(), 0
        self._restored = self._left = 0
        self._run_id = self._name()
        self._audit_file: Optional[File] = None

    def run(self) -> Restored:
        """Restore, and say what was done."""
        if not self._job.run_id or self._job.audit is None:
            return self._run()
        with _Opened(self._transaction, self._job.audit) as self._audit_file:
            return self._run()

    def _run(self) -> Restored:
        transaction = self._transaction
        with _Opened(transaction, self._job.store) as store, _Opened(transaction, self._job.archive) as archive:
            selection, audit = self._select(archive)
            if not selection.records:
                return Restored(self._count(), 0, "", 0, "")
            if self._merged and not self._merge(selection, audit, store, archive):
                raise _NotMergedError
            if not self._merged:
                self._check_store(audit, store)
            self._take(selection, audit)
            if not self._restored:
                return Restored(self._left, 0, "", 0, "")
            if self._merged and store.has_writers():
                raise _NotMergedError
            if not self._merged:
                self._await_line(store)
            store.close()  # others are shut out of it where nobody has it open
            try:
                transaction.commit(None, self._run_line)
            except Refused:
                if self._merged:
                    raise _NotMergedError from None  # somebody is at the store: adding to it harms nobody
                raise
        return Restored(self._restored + self._left, self._restored, self._placed, self._moved_bytes, self._run_id)

    @property
    def _placed(self) -> str:
        return "merged" if self._merged else "appended"

    def _select(self, archive: File) -> tuple[_Selection, Optional[Audit]]:
        """Find the records of the run that were not restored since."""
        job = self._job
        if self._audit_file is None:
            return _NONE._replace(records=-1), None
        audit = Audit(self._audit_file)
        run = audit.run(job.run_id)
        if run is None:
            raise InvalidArgument(f"run {job.run_id} is not in the audit")
        if run.mode == "delete" and run.pruned:
            text = f"run {run.run_id} deleted its {run.pruned} records: there is nothing to restore them from"
            raise InvalidArgument(text)
        if run.mode != "archive":
            return _NONE, audit
        audit.check_block(run)
        gone = audit.restored_since(run)
        if gone is None:
            return _NONE, audit
        count = sum(entry.id not in gone for entry in audit.moved(run))
        span = self._locate(archive, audit, run, gone, count) if count else Span(0, 0)
        return _Selection(count, count == run.pruned, span, frozenset(gone)), audit

    def _locate(self, archive: File, audit: Audit, run: Run, gone: set[str], count: int) -> Span:
        size = archive.info().size
        whole = count == run.pruned
        span = _ledger.at_end(archive, size, run.archived) if whole else None
        if span is not None:
            return span
        ids = (entry.id for entry in audit.moved(run) if entry.id not in gone)
        found = _ledger.find(archive, size, ids, self._read_id)
        if whole:
            for near in found:
                if _ledger.holds(archive, near, run.archived):
                    return Span(near.start, near.start + run.archived.bytes)
            text = f"the archive does not hold the {count} records that run {run.run_id} archived as it archived them"
            raise Refused(text)
        first = next(found, None)
        if first is None:
            text = f"the archive does not hold the {count} records of run {run.run_id} that were not restored"
            raise Refused(text)
        if next(found, None) is not None:
            text = f"what is left of run {run.run_id} cannot be told from other records with the same ids"
            raise Refused(f"{text}: restore them by their ids")
        return first

    def _merge(self, selection: _Selection, audit: Optional[Audit], store: File, archive: File) -> bool:
        """Stage the store as it was before the run; False if it is not what the run left."""
        run = audit.run(self._job.run_id) if audit is not None else None
        staged, size = self._transaction.pruned, store.info().size
        if audit is None or run is None or staged is None or not selection.whole or size != run.after.bytes:
            return False
        if _ranges.sha256(store, 0, size) != run.after.sha256:
            return False
        stayed = _ledger.lines(_ranges.chunks(store, 0, size))
        moved = _ledger.lines(_ranges.chunks(archive, *selection.span))
        for data in _ledger.merge(stayed, moved, (entry.line for entry in audit.moved(run))):
            staged.write(data)
        return staged.digest() == run.before

    def _await_line(self, store: File) -> None:
        """Wait until no program is in the middle of a line: what is added now would split it."""
        deadline = Deadline(self._transaction.system, self._job.options.lock_timeout)
        while store.has_writers() and _ranges.ends_open(store, store.info().size):
            text = f"{show(self._job.store)} ends within a line, and a program has it open for writing"
            deadline.wait(f"{text}: what is restored would split the line")

    def _check_store(self, audit: Optional[Audit], store: File) -> None:
        """Refuse to bring the records of a run to a store that it did not sweep."""
        run = audit.run(self._job.run_id) if audit is not None else None
        if audit is None or run is None:
            return
        ids = map(self._read_id, _ledger.lines(_ranges.chunks(store, 0, store.info().size)))
        if not audit.may_have_swept(run, ids):
            text = f"the store shares no record with run {run.run_id}"
            raise Refused(f"{text}: restore to the store that it swept, or by ids")

    def _take(self, selection: _Selection, audit: Optional[Audit]) -> None:
        """Divide the archive: what stays, and what moves; a last line gets its newline when it moves."""
        transaction = self._transaction
        retained, pruned = transaction.retained, transaction.pruned
        if retained is None or pruned is None:
            raise ValueError("nothing is staged")
        entries = self._entries(selection, audit)
        for line in self._archive_lines():
            identity = self._takes(line, selection, entries)
            if identity is None:
                self._left += not _is_blank(line.data)
                retained.write(line.data)
                continue
            data = line.data if line.data.endswith(b"\n") else line.data + b"\n"
            self._restored += 1
            self._moved.update(data)
            self._moved_bytes += len(data)
            if not self._merged:
                pruned.write(data)
            if transaction.audit is not None:
                name = _canon.string(identity)
                text = f'{{"mode":"restore","id":{name},"action":"restored","line":{line.number},"run_id":"{self._run_id}"}}\n'
                transaction.audit.write(text.encode())

    def _archive_lines(self) -> Iterator[Line]:
        """Yield the lines of the archive; a byte order mark stays there."""
        for line in _ledger.lines(iter(lambda: self._transaction.read(_ranges.CHUNK_BYTES), b"")):
            if line.number == 1 and line.data.startswith(BOM) and self._transaction.retained is not None:
                self._transaction.retained.write(BOM)
                rest = line.data[len(BOM) :]
                if rest:
                    yield Line(1, len(BOM), rest)
            else:
                yield line

    def _entries(self, selection: _Selection, audit: Optional[Audit]) -> Iterator[str]:
        run = audit.run(self._job.run_id) if audit is not None else None
        if audit is None or run is None:
            return iter(())
        return (entry.id for entry in audit.moved(run) if entry.id not in selection.gone)

    def _takes(self, line: Line, selection: _Selection, entries: Iterator[str]) -> Optional[str]:
        """Return the id of a line that comes back, None for one that stays."""
        if selection.records >= 0:
            if not selection.span.start <= line.start < selection.span.end:
                return None
            identity = next(entries, None)
            if identity is None:
                raise Refused("the archive holds more lines of the run than its audit")
            return identity
        identity = self._read_id(line)
        return identity if identity in self._job.ids else None

    def _count(self) -> int:
        """Count the records of an archive that stays as it is."""
        return sum(not _is_blank(line.data) for line in self._archive_lines())

    def _name(self) -> str:
        """Name the restore by all that determines it."""
        job, transaction = self._job, self._transaction
        ids = "" if job.run_id else f'"ids":[{",".join(map(_canon.string, job.ids))}],'
        form = f'{{{ids}"input_bytes":{transaction.input_size},"mode":"restore","prev":"{transaction.prev}"'
        if job.run_id:
            form += f',"run":{_canon.string(job.run_id)}'
        return hashlib.sha256(f"{form}}}".encode()).hexdigest()[:16]

    def _run_line(self, final: Final) -> bytes:
        form: dict[str, _canon.Value] = {
            "event": "run",
            "run_id": self._run_id,
            "mode": "restore",
            "of": self._job.run_id,
            "placed": self._placed,
            "scanned": self._restored + self._left,
            "restored": self._restored,
            "before": final.before._asdict(),
            "after": final.after._asdict(),
            "archived": Digest(self._moved.hexdigest(), self._moved_bytes)._asdict(),
            "audited": final.audited._asdict(),
            "version": recolva.__version__,
            "prev": self._transaction.prev,
        }
        return _canon.text(form).encode() + b"\n"


def _is_blank(data: bytes) -> bool:
    return not data.strip(b" \t\r\n")


class _Opened:
    """A file to be looked at, closed at the end."""

    def __init__(self, transaction: Transaction, path: str) -> None:
        self._file = transaction.system.open(path, READ)

    def __enter__(self) -> File:
        return self._file

    def __exit__(self, *_: object) -> None:
        self._file.close()
