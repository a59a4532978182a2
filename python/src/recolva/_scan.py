"""Lines to decisions, by the native library where it can, else in Python: the same either way."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple, Optional, Protocol

from recolva import _canon
from recolva._backend import native_library
from recolva._columns import Batch
from recolva._guards import SECONDS_FROM, SECONDS_TO
from recolva.decisions import decide
from recolva.errors import InvalidRecord
from recolva.records import Layout, Parser, RecordFault, is_blank

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from recolva._audit import Policy
    from recolva._ffi import Block, NativeLibrary

_CAPACITY = 1 << 14  # records of one native call


class Suspect(NamedTuple):
    """A record whose time looks like seconds."""

    line: int
    last_accessed_ms: int


@dataclass
class Found:
    """What a scan found in one stretch of lines."""

    batch: Batch
    pruned: list[tuple[int, int]]
    """Where the pruned lines stand in the data, line ends included."""
    lines: int
    """How many lines there were."""
    blank: int = 0
    invalid: int = 0
    suspects: list[Suspect] = field(default_factory=list)


class Scanner(Protocol):
    """Decides whole lines; `first_line` is the number of the first."""

    def scan(self, data: bytes, first_line: int) -> Iterator[Found]:
        """Yield what is found, in order; raise `InvalidRecord` for a line that must not be."""
        ...


def invalid(line: int, text: str) -> InvalidRecord:
    """Return the error for a line that is no record."""
    return InvalidRecord(f"line {line}: {text}", line)


def make_scanner(policy: Policy, now: int, max_line_bytes: int, *, spans: bool = True) -> Scanner:
    """Return the fastest scanner for a policy; without `spans` it may leave `Found.pruned` empty."""
    pure = PureScanner(policy, now, max_line_bytes)
    library = native_library() if policy.layout == Layout(need_importance=policy.layout.need_importance) else None
    return pure if library is None else NativeScanner(library, pure, spans=spans)


class PureScanner:
    """Decides line by line, and has the last word on what is wrong with a line."""

    def __init__(self, policy: Policy, now: int, max_line_bytes: int) -> None:
        self.policy, self.now, self.max_line_bytes = policy, now, max_line_bytes
        self._parser = Parser(policy.layout)
        self._seconds_possible = now >= SECONDS_FROM * 1000

    def scan(self, data: bytes, first_line: int) -> Iterator[Found]:
        """Yield one `Found` for all of the data; a last line may lack its LF."""
        ids: list[str] = []
        scores, prune, lines = array("d"), bytearray(), array("q")
        found = Found(Batch(b"", scores, b"", range(0)), [], 0)
        score, threshold, now = self.policy.model.score, self.policy.threshold, self.now
        end, line = 0, first_line - 1
        for content in _contents(data):
            start, line = end, line + 1
            end += len(content) + 1
            parsed = self._record(content, line, found, ended=end <= len(data))
            if parsed is None:
                continue
            identity, last_accessed_ms, importance = parsed
            value = score(last_accessed_ms, now, importance)
            gone, _ = decide(value, threshold)
            ids.append(_canon.string(identity)[1:-1])
            scores.append(value)
            prune.append(gone)
            lines.append(line)
            if gone:
                found.pruned.append((start, end))
            if SECONDS_FROM <= last_accessed_ms < SECONDS_TO and self._seconds_possible:
                found.suspects.append(Suspect(line, last_accessed_ms))
        found.lines = line + 1 - first_line
        every = found.blank == found.invalid == 0
        numbers = range(first_line, line + 1) if every else lines
        found.batch = Batch("\n".join(ids).encode(), scores, bytes(prune), numbers)
        yield found

    def _record(self, content: bytes, line: int, found: Found, *, ended: bool) -> Optional[tuple[str, int, float]]:
        """Parse a line without its LF; None if it is blank, or invalid and to be kept."""
        try:
            length = len(content) - (ended and content.endswith(b"\r"))
            if length > self.max_line_bytes:
                raise too_long(self.max_line_bytes)
            if content[:1] != b"{" and is_blank(content):
                found.blank += 1
                return None
            return self._parser(content)
        except RecordFault as fault:
            if self.policy.on_invalid != "keep":
                raise invalid(line, fault.text) from None
            found.invalid += 1
            return None


def too_long(max_line_bytes: int) -> RecordFault:
    """Return the fault of a line over the limit."""
    return RecordFault(f"line is longer than {max_line_bytes} bytes")


def _contents(data: bytes) -> list[bytes]:
    """Split at LF alone; nothing follows a last LF."""
    contents = data.split(b"\n")
    if not contents[-1]:
        contents.pop()
    return contents


class NativeScanner:
    """Decides blocks by the native library; a line that it calls bad is read again in Python."""

    def __init__(self, library: NativeLibrary, pure: PureScanner, *, spans: bool = True) -> None:
        from recolva._ffi import Block  # noqa: PLC0415 - a Python without ctypes has it not, nor a library

        self._library, self._pure, self._spans = library, pure, spans
        self._block = Block(_CAPACITY)

    def scan(self, data: bytes, first_line: int) -> Iterator[Found]:
        """Yield a `Found` for each stretch between bad lines."""
        if len(data) > self._pure.max_line_bytes or not data.endswith(b"\n"):
            yield from self._pure.scan(data, first_line)  # it measures every line
            return
        policy, block, base = self._pure.policy, self._block, 0
        while base < len(data):
            rest = data[base:] if base else data
            self._library.scan_block(rest, len(rest), False, policy.model, self._pure.now, policy.threshold, block)
            if block.records or block.blanks:
                found = self._found(rest, base, first_line)
                first_line += found.lines
                yield found
            base += block.consumed
            if block.bad_line:
                end = data.find(b"\n", base) + 1
                for found in self._pure.scan(data[base:end], first_line):
                    yield _moved(found, base)
                first_line, base = first_line + 1, end

    def _found(self, data: bytes, base: int, first_line: int) -> Found:
        block, count = self._block, self._block.records
        ids = b"\n".join([data[start:end] for start, end in zip(block.id_start[:count], block.id_end)])
        lines = count + block.blanks
        numbers = range(first_line, first_line + count) if not block.blanks else _numbers(data, block, first_line)
        prune = block.prune[:count].tobytes()
        pruned = []
        if self._spans:
            spans = zip(compress(block.line_start, prune), compress(block.line_end, prune))
            pruned = [(start + base, end + base) for start, end in spans]
        suspects = self._suspects(block.last_accessed[:count], numbers)
        return Found(Batch(ids, block.score[:count], prune, numbers), pruned, lines, block.blanks, 0, suspects)

    def _suspects(self, times: array[int], lines: Iterable[int]) -> list[Suspect]:
        if self._pure.now < SECONDS_FROM * 1000 or not times or min(times) >= SECONDS_TO:
            return []
        return [Suspect(line, time) for line, time in zip(lines, times) if SECONDS_FROM <= time < SECONDS_TO]


def _numbers(data: bytes, block: Block, first_line: int) -> array[int]:
    """Number the records of a block that has blank lines between them."""
    numbers, line, end = array("q"), first_line, 0
    for start, after in zip(block.line_start[: block.records], block.line_end):
        line += data.count(b"\n", end, start)
        numbers.append(line)
        line, end = line + 1, after
    return numbers


def _moved(found: Found, by: int) -> Found:
    found.pruned = [(start + by, end + by) for start, end in found.pruned]
    return found
