"""A file in stretches of whole lines, in memory that the longest line bounds."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BLOCK_BYTES = 1 << 20
"""How much is read at a time."""

MAX_LINE_BYTES = 64 << 20
"""Longest line, its line end not counted, unless the caller chose another limit."""

_KEPT_BYTES = 8 << 20

_BOM = b"\xef\xbb\xbf"


class Kind(Enum):
    """What a stretch holds."""

    MARK = "mark"  # a byte order mark at the start of the file: kept, no line
    LINES = "lines"  # whole lines, each with its LF
    LAST = "last"  # a last line without LF
    TOO_LONG = "too long"  # the beginning of a line over the limit
    REST = "rest"  # more of that line, up to its LF or the end of the file


class Stretch(NamedTuple):
    """Some bytes of the file; all stretches together are the file."""

    kind: Kind
    data: bytes


def stretches(read: Callable[[int], bytes], max_line_bytes: int) -> Iterator[Stretch]:
    """Cut into stretches what `read` returns until it returns nothing.

    A line is found to be too long here only when it does not fit the limit before
    its end was seen; lines within LINES and LAST remain to be measured. A consumer
    that does not want the rest of such a line stops there, and no more is read.
    """
    # glibc gives memory as large as a block back to the system when it is freed, and must have the next one cleared
    # anew. The largest block ever freed teaches it what to keep; this one is never touched, so that it costs nothing.
    bytes(_KEPT_BYTES)
    chunk = _start(read)
    if chunk.startswith(_BOM):
        yield Stretch(Kind.MARK, _BOM)
        chunk = chunk[len(_BOM) :] or read(BLOCK_BYTES)
    held: list[bytes] = []  # the beginning of a line, its LF not seen yet
    size = 0
    skipping = False
    while chunk:
        if skipping:
            cut = chunk.find(b"\n") + 1
            yield Stretch(Kind.REST, chunk[:cut] if cut else chunk)
            skipping = not cut
            chunk = chunk[cut:] if cut else b""
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield Stretch(Kind.LINES, b"".join([*held, memoryview(chunk)[:cut]]))
            held, size, chunk = [], 0, chunk[cut:]
        if chunk:
            held.append(chunk)
            size += len(chunk)
        if size > max_line_bytes + 1:  # one more may be the CR of a line end
            yield Stretch(Kind.TOO_LONG, b"".join(held))
            held, size, skipping = [], 0, True
        chunk = read(BLOCK_BYTES)
    if held:
        yield Stretch(Kind.LAST, b"".join(held))


def _start(read: Callable[[int], bytes]) -> bytes:
    """Read the first block, long enough for a byte order mark to show."""
    start = b""
    while len(start) < len(_BOM):
        chunk = read(BLOCK_BYTES)
        if not chunk:
            break
        start += chunk
    return start
