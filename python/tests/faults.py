"""A layer over a System that fails, lies or dies at any call, for tests of the protocol."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Optional

from recolva._system import File, Info, System

if TYPE_CHECKING:
    from collections.abc import Iterator


class Killed(BaseException):
    """The process is gone: nothing that it would still do is done."""


@dataclass
class Fault:
    """What happens at one call.

    kill   the process ends before the call
    torn   a write does half, then the process ends
    error  the call fails with EIO, nothing done
    late   the call is done, then fails with EIO
    short  a write does half, then fails with ENOSPC; any other call fails with ENOSPC
    """

    at: int = 0
    """Number of the call, from 1; 0 for none."""
    kind: str = "kill"


@dataclass
class Layer(System):
    """Passes calls on to another System, counts those that change something, and makes one fail."""

    inner: System
    fault: Fault = field(default_factory=Fault)
    skip: int = 0
    """Number of a call that is not done, but reports that it was: a mutant of the protocol."""
    before: Optional[Callable[[int], None]] = None
    """Called with the number of each call, before it: other processes do something there."""
    calls: list[str] = field(default_factory=list)
    """What was called: verb and name of the file."""
    dead: bool = False
    files: list[LayerFile] = field(default_factory=list)

    def call(self, verb: str, path: str, do: Callable[[], Any], lie: Any = None) -> Any:
        """Make a call, or not."""
        self.check()
        self.calls.append(f"{verb} {os.path.basename(path)}")
        number, fault = len(self.calls), self.fault
        if self.before is not None:
            self.before(number)
        if number == self.skip:
            return lie
        if number != fault.at:
            return do()
        if fault.kind in ("kill", "torn"):
            self.dead = True
            raise Killed
        if fault.kind == "late":
            do()
        elif verb == "sync":
            self.fail_sync(path)
        raise OSError(errno.ENOSPC if fault.kind == "short" else errno.EIO, "injected", path)

    def fail_sync(self, path: str) -> None:
        """Let the pages be dropped, which a later sync does not bring back."""
        for file in self.files:
            if file.path == path and hasattr(file.inner, "lose"):
                file.inner.lose()

    def check(self) -> None:
        if self.dead:
            raise Killed

    def end(self) -> None:
        """End the process: its files are closed and its locks given up."""
        self.dead = True
        for file in self.files:
            file.inner.close()

    def open(self, path: str, flags: int, mode: int = 0o600) -> File:
        def do() -> File:
            file = LayerFile(self, self.inner.open(path, flags, mode))
            self.files.append(file)
            return file

        if flags & os.O_CREAT:
            return self.call("create", path, do)
        self.check()
        return do()

    def lookup(self, path: str) -> Optional[Info]:
        self.check()
        return self.inner.lookup(path)

    def link(self, path: str, other: str) -> None:
        self.call("link", other, lambda: self.inner.link(path, other))

    def rename(self, path: str, other: str) -> None:
        self.call("rename", other, lambda: self.inner.rename(path, other))

    def remove(self, path: str) -> bool:
        if self.lookup(path) is None:
            return False
        return self.call("remove", path, lambda: self.inner.remove(path), lie=True)

    def sync_directory(self, path: str) -> None:
        self.call("sync directory", path, lambda: self.inner.sync_directory(path))

    def real_path(self, path: str) -> str:
        return self.inner.real_path(path)

    def network(self, directory: str) -> str:
        return self.inner.network(directory)

    def pid(self) -> int:
        return self.inner.pid()

    def uid(self) -> int:
        return self.inner.uid()

    def now(self) -> float:
        return self.inner.now()

    def sleep(self, seconds: float) -> None:
        self.check()
        self.inner.sleep(seconds)


class LayerFile(File):
    """A file of the layer."""

    def __init__(self, layer: Layer, inner: File) -> None:
        self.layer, self.inner, self.path, self.fd = layer, inner, inner.path, inner.fd

    def _call(self, verb: str, do: Callable[[], Any], lie: Any = None) -> Any:
        return self.layer.call(verb, self.path, do, lie)

    def read_at(self, position: int, size: int) -> bytes:
        self.layer.check()
        return self.inner.read_at(position, size)

    def write(self, data: bytes) -> None:
        fault = self.layer.fault
        if len(self.layer.calls) + 1 == fault.at and fault.kind in ("torn", "short"):
            self.inner.write(data[: len(data) // 2])
        self._call("write", lambda: self.inner.write(data))

    def write_at(self, position: int, data: bytes) -> None:
        self._call("write", lambda: self.inner.write_at(position, data))

    def info(self) -> Info:
        self.layer.check()
        return self.inner.info()

    def truncate(self, size: int) -> None:
        self._call("truncate", lambda: self.inner.truncate(size))

    def sync(self) -> None:
        self._call("sync", self.inner.sync)

    def reserve(self, position: int, size: int) -> None:
        self._call("reserve", lambda: self.inner.reserve(position, size))

    def try_lock(self) -> bool:
        return self._call("lock", self.inner.try_lock, lie=True)

    def unlock(self) -> None:
        self.layer.check()
        self.inner.unlock()

    def has_writers(self) -> Optional[bool]:
        self.layer.check()
        return self.inner.has_writers()

    def try_exclusive(self) -> Optional[bool]:
        self.layer.check()
        return self.inner.try_exclusive()

    def end_exclusive(self) -> None:
        self.inner.end_exclusive()

    def copy_attributes(self, model: File, *, access_only: bool = False) -> None:
        inner = model.inner if isinstance(model, LayerFile) else model
        self._call("attributes", lambda: self.inner.copy_attributes(inner, access_only=access_only))

    def close(self) -> None:
        self.layer.check()
        self.fd = -1
        self.inner.close()


def lines_of(*contents: Optional[bytes]) -> list[bytes]:
    """Return all lines of some files in order of their bytes, to be compared as a multiset."""

    def split() -> Iterator[bytes]:
        for content in contents:
            yield from (content or b"").splitlines()

    return sorted(split())
