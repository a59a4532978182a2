"""The bytes of a sweep on their way: read and hashed, staged in private files, made durable."""

from __future__ import annotations

import hashlib
import os
import sys
from typing import TYPE_CHECKING, Optional

from recolva._audit import NO_PREVIOUS, RUN_PREFIX, Digest
from recolva._places import Place, open_file, show
from recolva.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

if sys.platform != "win32":
    import fcntl

CHUNK_BYTES = 1 << 20


def sync(file: int) -> None:
    """Make a file durable."""
    if sys.platform == "darwin":  # plain fsync stops at the drive's cache there
        fcntl.fcntl(file, fcntl.F_FULLFSYNC)
    else:
        os.fsync(file)


def sync_directory(path: str) -> None:
    """Make the names in a directory durable, where the system can."""
    if sys.platform == "win32":
        return
    directory = os.open(path, os.O_RDONLY)
    try:
        sync(directory)
    finally:
        os.close(directory)


class Input:
    """A file as it was when it was opened; what is read is hashed if asked for."""

    def __init__(self, place: Place, *, hashed: bool) -> None:
        self._shown = show(place.path)
        self.file = open_file(place.path, os.O_RDONLY)
        self.info = os.fstat(self.file)
        self.size = self.info.st_size
        self.position = 0
        self._hash = hashlib.sha256() if hashed else None
        self._whole_lines = hashlib.sha256()  # state of the hash after the last LF

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`, nothing at the end."""
        data = read_at(self.file, self.position, min(size, self.size - self.position))
        if not data and self.position < self.size:
            raise Refused(f"{self._shown} became shorter while it was read")
        self.position += len(data)
        if self._hash is not None:
            cut = data.rfind(b"\n") + 1
            if cut:
                self._hash.update(data[:cut])
                self._whole_lines = self._hash.copy()
            self._hash.update(data[cut:])
        return data

    def digest(self, undecided: int) -> Digest:
        """Describe what was read, without the undecided bytes of a last line."""
        state = self._whole_lines if undecided else self._hash
        return Digest(state.hexdigest() if state else "", self.position - undecided)

    def close(self) -> None:
        """Close the file; once is enough."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


class Staged:
    """Bytes on their way into a file: in a private file, or only counted without a path."""

    def __init__(self, path: Optional[str]) -> None:
        self.path = path
        self.file = -1 if path is None else open_file(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        self.size = 0
        self._hash = hashlib.sha256()

    def write(self, data: bytes) -> None:
        """Append data."""
        self._hash.update(data)
        self.size += len(data)
        if self.file >= 0:
            write_all(self.file, data)

    def digest(self) -> Digest:
        """Describe what was written so far."""
        return Digest(self._hash.hexdigest(), self.size)

    def close(self) -> None:
        """Close the file and remove it, unless it went to its place."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1
        if self.path is not None:
            remove(self.path)
            self.path = None


def read_at(file: int, position: int, size: int) -> bytes:
    """Read up to `size` bytes from a position."""
    os.lseek(file, position, os.SEEK_SET)
    return os.read(file, size)


def write_all(file: int, data: bytes) -> None:
    """Write all of the data."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def chunks(file: int, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes [start, end) in bounded pieces; a file that ends before is an error."""
    while start < end:
        data = read_at(file, start, min(CHUNK_BYTES, end - start))
        if not data:
            raise EOFError(f"{end - start} bytes are missing")
        yield data
        start += len(data)


def copy(file: int, start: int, end: int, write: Callable[[bytes], object]) -> None:
    """Pass the bytes [start, end) on."""
    for data in chunks(file, start, end):
        write(data)


def remove(path: str) -> bool:
    """Remove a name if it is there; tell whether it was."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def ends_open(file: int, size: int) -> bool:
    """Tell whether a file of that size ends without a newline."""
    return size > 0 and read_at(file, size - 1, 1) != b"\n"


def chain_link(file: int, size: int) -> str:
    """Return `prev` for the next run of an audit.

    It is the SHA-256 of the audit from its last run line on, with the newline that
    the next run adds if the last one is missing; zeros where there is no run line.
    """
    start = _last_run_line(file, size)
    if start is None:
        return NO_PREVIOUS
    link = hashlib.sha256()
    copy(file, start, size, link.update)
    if ends_open(file, size):
        link.update(b"\n")
    return link.hexdigest()


def _last_run_line(file: int, size: int) -> Optional[int]:
    """Find the last line that begins with the run prefix, reading backwards."""
    wanted = b"\n" + RUN_PREFIX
    end = size
    while end > 0:
        start = max(0, end - CHUNK_BYTES)
        reach = min(size, end + len(wanted) - 1)  # a match that begins before `end` may need more
        window = b"".join(chunks(file, start, reach))
        at = window.rfind(wanted)
        if at >= 0:
            return start + at + 1
        if start == 0 and window.startswith(RUN_PREFIX):
            return 0
        end = start
    return None
