"""An audit read as a ledger: what its runs moved, and where that stands now."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Optional

from recolva import _ranges
from recolva._audit import RUN_PREFIX, Digest
from recolva._json_syntax import RecordFault
from recolva._record_rules import read_id
from recolva.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from recolva._system import File

BOM = b"\xef\xbb\xbf"

_SAMPLE = 1 << 16
"""How many ids of a run, and of a store, are compared at most."""

_PRIME = 2**61 - 1
_BASE = 1_000_003 * 998_244_353 % _PRIME

_ENTRY = re.compile(
    rb'\{"mode":"[^"]*","id":"((?:[^"\\]|\\.)*)",.*?"action":"(retained|pruned|restored)".*?'
    rb',"line":(\d+),"run_id":"([^"]*)"\}\n',
    re.DOTALL,
)


class Line(NamedTuple):
    """A line, its newline included if it has one."""

    number: int
    """From 1."""
    start: int
    """Offset of its first byte."""
    data: bytes


def lines(pieces: Iterable[bytes], start: int = 0) -> Iterator[Line]:
    """Cut pieces of a file into lines; in memory is no more than a piece and the longest line."""
    held: list[bytes] = []
    number = 1
    for piece in pieces:
        *whole, rest = piece.split(b"\n")
        for part in whole:
            data = b"".join([*held, part, b"\n"])
            yield Line(number, start, data)
            held, number, start = [], number + 1, start + len(data)
        if rest:
            held.append(rest)
    if held:
        yield Line(number, start, b"".join(held))


class Entry(NamedTuple):
    """An audit line about one record."""

    id: str
    action: str
    line: int


@dataclass(frozen=True)
class Run:
    """A line that closes the block of a run."""

    run_id: str
    mode: str
    of: str
    scanned: int
    pruned: int
    before: Digest
    after: Digest
    archived: Digest
    audited: Digest
    number: int
    """Of its line in the audit."""
    start: int
    """Where that line begins, and the block before it ends."""


class Span(NamedTuple):
    """A range of bytes."""

    start: int
    end: int


class Audit:
    """An open audit file and the run lines in it."""

    def __init__(self, file: File) -> None:
        self._file = file
        size = file.info().size
        found = (_run(line) for line in lines(_ranges.chunks(file, 0, size)) if line.data.startswith(RUN_PREFIX))
        self.runs = [run for run in found if run is not None]

    def run(self, run_id: str) -> Optional[Run]:
        """Return the run of that id."""
        return next((run for run in self.runs if run.run_id == run_id), None)

    def check_block(self, run: Run) -> None:
        """Refuse unless the lines before a run line are those that the run wrote."""
        first = run.start - run.audited.bytes
        if first < 0 or _ranges.sha256(self._file, first, run.start) != run.audited.sha256:
            text = f"audit line {run.number}: the lines before it are not those that run {run.run_id} wrote"
            raise Refused(text)

    def moved(self, run: Run) -> Iterator[Entry]:
        """Yield the entries of the records that a run moved."""
        return (entry for entry in self.scored(run) if entry.action != "retained")

    def scored(self, run: Run) -> Iterator[Entry]:
        """Yield the entries of all records of a run."""
        for line in lines(_ranges.chunks(self._file, run.start - run.audited.bytes, run.start)):
            match = _ENTRY.fullmatch(line.data)
            if match is None or match[4].decode() != run.run_id:
                raise Refused(f"audit line {run.number} is none of run {run.run_id}")
            yield Entry(json.loads(b'"' + match[1] + b'"'), match[2].decode(), int(match[3]))

    def restored_since(self, run: Run) -> Optional[set[str]]:
        """Return the ids that were restored by their ids after a run; None if all of the run was."""
        ids: set[str] = set()
        for later in self.runs:
            if later.mode == "restore" and later.start >= run.start:
                self.check_block(later)
                if later.of == run.run_id:
                    return None
                if not later.of:
                    ids.update(entry.id for entry in self.moved(later))
        return ids

    def may_have_swept(self, run: Run, store: Iterable[Optional[str]]) -> bool:
        """Tell whether a run may have swept the store that holds these ids.

        Several stores may share an audit; what tells them apart are the ids: from the store as it
        is now back to the run, each sweep shares some with the next. Where nothing is left to tell
        by, because a sweep pruned all or the store is empty, it may.
        """
        stride = max(each.scanned for each in self.runs) // _SAMPLE + 1
        known = _sample((identity for identity in store if identity is not None), stride)
        if not known:
            return True
        for each in reversed(self.runs):
            if each.mode != "dry-run" and each.pruned == each.scanned > 0:
                return True
            try:
                scored = _sample((entry.id for entry in self.scored(each)), stride)
            except Refused:  # its block is damaged
                return True
            if each is run:
                return not scored or not known.isdisjoint(scored)
            if not known.isdisjoint(scored):
                known |= scored
        return True


def _sample(ids: Iterable[str], stride: int) -> set[str]:
    """Return the ids with a checksum that the stride divides, so that samples share what their wholes share."""
    return {identity for identity in ids if zlib.crc32(identity.encode()) % stride == 0}


def _run(line: Line) -> Optional[Run]:
    """Read a run line; None if no run wrote it."""
    try:
        form = json.loads(line.data)
        before, after, archived, audited = (
            Digest(form[name]["sha256"], form[name]["bytes"]) for name in ("before", "after", "archived", "audited")
        )
        if any(len(sha256) != 64 or size < 0 for sha256, size in (before, after, archived, audited)):
            return None
        moved = form.get("of", ""), form.get("scanned", 0), form.get("pruned", 0)
        return Run(form["run_id"], form["mode"], *moved, before, after, archived, audited, line.number, line.start)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def id_reader(id_field: str) -> Callable[[Line], Optional[str]]:
    """Return a function that reads the id of a line; None where it has no valid one."""

    def read(line: Line) -> Optional[str]:
        data = line.data[:-1] if line.data.endswith(b"\n") else line.data
        if line.number == 1 and data.startswith(BOM):
            data = data[len(BOM) :]
        try:
            return read_id(data, id_field)
        except RecordFault:
            return None

    return read


def at_end(file: File, size: int, digest: Digest) -> Optional[Span]:
    """Look for a digest at the end of a file, where it stands unless something was added since."""
    for added in (0, 1):  # the last line may have got its newline only later
        start = size - added - digest.bytes
        if start >= 0 and holds(file, Span(start, size), digest):
            return Span(start, start + digest.bytes)
    return None


def holds(file: File, span: Span, digest: Digest) -> bool:
    """Tell whether a range has a digest, but for a newline that was added to its last line."""
    extra = span.end - span.start - digest.bytes
    if extra not in (0, 1) or (extra == 1 and _ranges.ends_open(file, span.end)):
        return False
    return _ranges.sha256(file, span.start, span.start + digest.bytes) == digest.sha256


def find(file: File, size: int, ids: Iterable[str], read: Callable[[Line], Optional[str]]) -> Iterator[Span]:
    """Yield every range of lines with these ids in this order.

    A polynomial hash of the ids rolls over the lines of the file (Rabin and Karp, 1987), so
    that memory does not grow with their number.
    """
    wanted = count = 0
    for identity in ids:
        wanted, count = (wanted * _BASE + _weight(identity)) % _PRIME, count + 1
    if not count:
        return
    power, rolling = pow(_BASE, count, _PRIME), 0
    behind = lines(_ranges.chunks(file, 0, size))
    first = next(behind, None)
    for line in lines(_ranges.chunks(file, 0, size)):
        rolling = (rolling * _BASE + _weight(read(line))) % _PRIME
        if line.number > count and first is not None:
            rolling = (rolling - _weight(read(first)) * power) % _PRIME
            first = next(behind, None)
        if line.number >= count and rolling == wanted and first is not None:
            yield Span(first.start, line.start + len(line.data))


def _weight(identity: Optional[str]) -> int:
    if identity is None:
        return 0
    return int.from_bytes(hashlib.sha256(identity.encode()).digest()[:7], "big") + 1


def merge(stayed: Iterable[Line], moved: Iterable[Line], numbers: Iterable[int]) -> Iterator[bytes]:
    """Undo a move: yield the lines of `moved` at the given numbers, and those of `stayed` at all others.

    A byte order mark stays in front. Ends early where lines and numbers do not fit.
    """
    stay, move, numbers = iter(stayed), iter(moved), iter(numbers)
    after = next(numbers, 0)
    held: Optional[Line] = None
    if after == 1:
        held = next(stay, None)
        if held is not None and held.data.startswith(BOM):
            yield BOM
            held = held._replace(data=held.data[len(BOM) :])
    line = 0
    while True:
        line += 1
        if line == after:
            found = next(move, None)
            after = next(numbers, 0)
        else:
            found, held = (held, None) if held is not None else (next(stay, None), None)
        if found is None:
            return
        yield found.data
