"""One sweep: read, decide, stage, commit. The mode only says what becomes of pruned lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Optional

from recolva import _audit
from recolva._columns import Decisions
from recolva._guards import wrong_units
from recolva._lines import MAX_LINE_BYTES, Kind, stretches
from recolva._scan import PureScanner, invalid, make_scanner, too_long
from recolva._stage import Final, Last
from recolva._transaction import Options, Transaction
from recolva.errors import InvalidRecord, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recolva._audit import Audit, Policy
    from recolva._columns import Batch
    from recolva._guards import Guard, PruneLimit
    from recolva._places import Files
    from recolva._scan import Found, Suspect

TORN = " (no newline at the end of the file: an interrupted append?)"


@dataclass(frozen=True)
class Job:
    """What to sweep, and how."""

    mode: str
    """`dry-run`, `archive` or `delete`."""
    files: Files
    policy: Policy
    now: int
    unit_given: bool = False
    """The caller said which unit the times have: nothing is suspected."""
    options: Options = field(default_factory=Options)
    max_prune: Optional[PruneLimit] = None
    max_line_bytes: int = MAX_LINE_BYTES
    progress: Optional[Callable[[int, int], object]] = None


def sweep(job: Job) -> Decisions:
    """Sweep a file; on any error but CommittedUncertain nothing has changed."""
    transaction = Transaction(job.files, job.options)
    try:
        return _Sweep(job, transaction).run()
    finally:
        transaction.rollback()


@dataclass
class _Sweep:
    """A sweep in progress."""

    job: Job
    transaction: Transaction
    decisions: Decisions = field(default_factory=Decisions)
    suspects: int = 0
    first_suspect: Optional[Suspect] = None
    audit: Optional[Audit] = None
    line: int = 1
    """Number of the next line."""
    last: Optional[Last] = None
    last_found: Optional[Found] = None

    def run(self) -> Decisions:
        job, transaction = self.job, self.transaction
        prev, size = transaction.prev, transaction.input_size
        run = _audit.run_id(job.policy, job.mode, job.now, size, prev)
        self.decisions.run_id = run
        if transaction.audit is not None:
            self.audit = _audit.Audit(job.policy, job.mode, job.now, run, prev)
        scanner = make_scanner(job.policy, job.now, job.max_line_bytes, spans=job.files.mutate)
        done = 0
        for kind, data in stretches(transaction.read, job.max_line_bytes):
            if kind is Kind.LINES:
                self._lines(data, scanner.scan(data, self.line))
            elif kind is Kind.LAST:
                self._last_line(data)
            else:
                self._verbatim(kind, data)
            done += len(data)
            if job.progress is not None:
                job.progress(done, size)
        self._check_guards()
        final = transaction.commit(self.last, self._run_line)
        if self.last_found is not None and not final.grew:
            self._count(self.last_found)
        return self.decisions

    def _lines(self, data: bytes, scan: Iterator[Found]) -> None:
        """Decide whole lines and stage the outcome."""
        pruned: list[tuple[int, int]] = []
        for found in scan:
            self._count(found)
            self._suspect(found)
            self.line += found.lines
            pruned += found.pruned
            if self.audit is not None and self.transaction.audit is not None:
                self.transaction.audit.write(_audit_lines(self.audit, found.batch))
        if self.transaction.retained is not None and self.transaction.pruned is not None:
            retained, gone = _split(data, pruned)
            self.transaction.retained.write(retained)
            self.transaction.pruned.write(gone)

    def _last_line(self, data: bytes) -> None:
        """Decide a last line without newline, for the case that the file does not grow."""
        pure = PureScanner(self.job.policy, self.job.now, self.job.max_line_bytes)
        try:
            (found,) = pure.scan(data, self.line)
        except InvalidRecord as error:
            fault = InvalidRecord(f"{error}{TORN}", error.line)
            if not self.transaction.grew():
                raise fault from None
            self.last = Last(data, fault=fault)
            return
        retained, gone = _split(data, [(0, len(data))] if found.pruned else [])
        audit = _audit_lines(self.audit, found.batch) if self.audit is not None else b""
        self.last, self.last_found = Last(data, retained, gone, audit), found
        self._suspect(found)

    def _verbatim(self, kind: Kind, data: bytes) -> None:
        """Keep what is no record: a byte order mark, or a line over the limit."""
        if kind is Kind.TOO_LONG:
            if self.job.policy.on_invalid != "keep":
                raise invalid(self.line, too_long(self.job.max_line_bytes).text)
            self.decisions.invalid += 1
        if kind is Kind.REST and data.endswith(b"\n"):
            self.line += 1
        if self.transaction.retained is not None:
            self.transaction.retained.write(data)

    def _count(self, found: Found) -> None:
        self.decisions.add(found.batch)
        self.decisions.blank += found.blank
        self.decisions.invalid += found.invalid

    def _suspect(self, found: Found) -> None:
        if found.suspects:
            self.first_suspect = self.first_suspect or found.suspects[0]
            self.suspects += len(found.suspects)

    def _check_guards(self) -> None:
        """Refuse to mutate, or say that a mutation would be refused."""
        guards = [guard for guard in (self._units(), self._limit()) if guard is not None]
        if guards and self.job.files.mutate:
            raise Refused(f"{guards[0].text}: {guards[0].advice}")
        self.decisions.would_refuse = (*(guard.text for guard in guards), *self.transaction.members.would_refuse())

    def _units(self) -> Optional[Guard]:
        if self.first_suspect is None or self.job.unit_given:
            return None
        scanned = self._counts(self.last_found).scanned
        return wrong_units(self.job.policy.layout.time_field, self.first_suspect, self.suspects, scanned)

    def _limit(self) -> Optional[Guard]:
        if self.job.max_prune is None:
            return None
        counts = self._counts(self.last_found)
        return self.job.max_prune.check(counts.pruned, counts.scanned)

    def _counts(self, extra: Optional[Found]) -> _audit.Counts:
        """Count what was decided, with the last line where it has no newline."""
        return _audit.Counts(
            scanned=len(self.decisions) + (len(extra.batch) if extra else 0),
            pruned=self.decisions.pruned + (len(extra.pruned) if extra else 0),
        )

    def _run_line(self, final: Final) -> bytes:
        if self.audit is None:
            raise ValueError("there is no audit")
        counts = self._counts(None if final.grew else self.last_found)
        return self.audit.run_line(counts, final.before, final.after, final.archived, final.audited)


def _audit_lines(audit: Audit, batch: Batch) -> bytes:
    columns = zip(batch.decoded_ids(), batch.scores, batch.prune, batch.lines)
    return "".join([audit.decision(*row) for row in columns]).encode()


def _split(data: bytes, pruned: list[tuple[int, int]]) -> tuple[bytes, bytes]:
    """Return the bytes that stay and the bytes of the pruned lines, both in order."""
    retained, gone, end = [], [], 0
    for start, after in pruned:
        retained.append(data[end:start])
        gone.append(data[start:after])
        end = after
    retained.append(data[end:])
    return b"".join(retained), b"".join(gone)
