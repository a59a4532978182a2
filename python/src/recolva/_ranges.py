"""Stretches of files, read in pieces of bounded size."""

from __future__ import annotations

import errno
import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recolva._system import File

CHUNK_BYTES = 256 << 10
"""Bounds every buffer that does not have to hold a whole line."""


class CutError(OSError):
    """A file ended before its time."""


def chunks(file: File, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes [start, end); raise CutError if the file ends before."""
    while start < end:
        data = file.read_at(start, min(CHUNK_BYTES, end - start))
        if not data:
            raise CutError(errno.EIO, f"{end - start} bytes are missing at its end", file.path)
        yield data
        start += len(data)


def read_full(file: File, start: int, size: int) -> bytes:
    """Return exactly the bytes [start, start + size)."""
    return b"".join(chunks(file, start, start + size))


def copy(file: File, start: int, end: int, write: Callable[[bytes], object]) -> None:
    """Pass the bytes [start, end) on."""
    for data in chunks(file, start, end):
        write(data)


def sha256(file: File, start: int, end: int) -> str:
    """Return the SHA-256 of the bytes [start, end) in hex."""
    digest = hashlib.sha256()
    copy(file, start, end, digest.update)
    return digest.hexdigest()


def starts_with(file: File, size: int, wanted: str) -> bool:
    """Tell whether the first `size` bytes are there and have a sum."""
    try:
        return sha256(file, 0, size) == wanted
    except CutError:
        return False


def ends_open(file: File, size: int) -> bool:
    """Tell whether the first `size` bytes end without a newline."""
    return size > 0 and read_full(file, size - 1, 1) != b"\n"


def after_last_newline(file: File, start: int, end: int) -> int:
    """Return where the last whole line in [start, end) ends; `start` if there is none."""
    while end > start:
        begin = max(start, end - CHUNK_BYTES)
        cut = read_full(file, begin, end - begin).rfind(b"\n")
        if cut >= 0:
            return begin + cut + 1
        end = begin
    return start


def equal_or_zero(have: bytes, want: bytes) -> bool:
    """Tell whether `want` begins with `have`, where zeros in `have` count as equal.

    Zeros stand where a power cut lost what was written.
    """
    if want.startswith(have):
        return True
    return len(have) <= len(want) and all(mine in (yours, 0) for mine, yours in zip(have, want))
