"""The bytes of a sweep on their way: read and hashed from the input, staged in private files."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Callable, NamedTuple, Optional

from recolva._audit import NO_PREVIOUS, RUN_PREFIX, Digest
from recolva._places import show
from recolva._ranges import CHUNK_BYTES, chunks, copy, ends_open
from recolva._system import CREATE, READ
from recolva.errors import Refused

if TYPE_CHECKING:
    from recolva._places import Place
    from recolva._system import File, System


class Last(NamedTuple):
    """A last line without newline, and what it adds to each output if it is decided."""

    line: bytes
    retained: bytes = b""
    pruned: bytes = b""
    audit: bytes = b""
    fault: Optional[Exception] = None
    """What is wrong with a line that only growth can complete."""


class Final(NamedTuple):
    """What the run line of an audit says about the files."""

    grew: bool
    """The last line was not decided but carried over."""
    before: Digest
    after: Digest
    archived: Digest
    audited: Digest


RunLine = Callable[[Final], bytes]


class Input:
    """A file as it was when it was opened; what is read is hashed if asked for."""

    def __init__(self, system: System, place: Place, *, hashed: bool) -> None:
        self.file = system.open(place.path, READ)
        try:
            self.info = self.file.info()
        except BaseException:
            self.file.close()
            raise
        self.size = self.info.size
        self.position = 0
        self._hash = hashlib.sha256() if hashed else None
        self._whole_lines = hashlib.sha256()  # state of the hash after the last LF

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`, nothing at the end."""
        data = self.file.read_at(self.position, min(size, self.size - self.position))
        if not data and self.position < self.size:
            raise Refused("the input was cut while it was read")
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
        state = self.hash_of(undecided)
        return Digest(state.hexdigest() if state else "", self.position - undecided)

    def hash_of(self, undecided: int) -> Optional[hashlib._Hash]:
        """Return the state of the hash behind what was read, without these bytes of a last line."""
        return self._whole_lines if undecided and self._hash else self._hash


class Staged:
    """Bytes on their way into a file: in a private file, or only counted without a path."""

    def __init__(self, system: System, path: Optional[str]) -> None:
        self._system, self.path = system, path
        self.file: Optional[File] = None if path is None else system.open(path, CREATE)
        self.size = 0
        self._hash = hashlib.sha256()
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0

    def write(self, data: bytes) -> None:
        """Append data."""
        self._hash.update(data)
        self.size += len(data)
        if self.file is not None and data:
            self._waiting.append(data)
            self._waiting_bytes += len(data)
            if self._waiting_bytes >= CHUNK_BYTES:
                self.flush()

    def flush(self) -> None:
        """Pass everything to the system."""
        if self.file is not None and self._waiting:
            data, self._waiting, self._waiting_bytes = b"".join(self._waiting), [], 0
            self.file.write(data)

    def digest(self) -> Digest:
        """Describe what was written so far."""
        return Digest(self._hash.hexdigest(), self.size)

    def close(self) -> None:
        """Close the file; once is enough."""
        if self.file is not None:
            self.file.close()

    def drop(self) -> None:
        """Close the file and remove it, unless its name leads to another.

        Then somebody took our lock away, and another run staged its own.
        """
        if self.file is not None and self.path is not None:
            mine = self.file.info()
            self.close()
            self.file = None
            current = self._system.lookup(self.path)
            if current is not None and current.same_file(mine):
                self._system.remove(self.path)


def opened(staged: Optional[Staged]) -> File:
    """Return the file of something staged that must have one."""
    if staged is None or staged.file is None:
        raise ValueError("nothing is staged there")
    return staged.file


def chain_link(file: File, size: int) -> str:
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


def _last_run_line(file: File, size: int) -> Optional[int]:
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


def staged_name(role: str) -> str:
    """Return the suffix under which the bytes for a role wait to be appended."""
    return {"archive": "add", "audit": "aud"}[role]


def cut_text(path: str, before: int, now: int) -> str:
    """Say that an input became shorter."""
    return f"input {show(path)} was cut meanwhile, from {before} to {now} bytes"
