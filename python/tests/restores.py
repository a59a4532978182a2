"""A restore beside a program that appends to the store without the lock."""

from __future__ import annotations

import json
import os
import warnings
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, Optional

from recolva import jsonl
from recolva._system import System
from recolva.errors import CommittedUncertain, Refused
from tests.crashes import ARGUMENTS, STORE, record, using
from tests.faults import Fault, Killed, Layer, lines_of

if TYPE_CHECKING:
    from io import FileIO
    from pathlib import Path


def _at_once(path: str, flags: int) -> int:
    """Open a file, or raise BlockingIOError rather than wait until a lease ends."""
    return os.open(path, flags | os.O_NONBLOCK)


class Scene:
    """A swept store, its archive and audit, and what was appended since."""

    def __init__(self, root: Path, *, by_run: bool, long: int = 0) -> None:
        root.mkdir(parents=True)
        self.store, self.archive, self.audit = root / "s", root / "a", root / "u"
        self.whole = STORE + b"".join(record(f"{n:0>1000}", old=True) for n in range(long))
        self.store.write_bytes(self.whole)
        jsonl.archive_exponential_jsonl(self.store, self.archive, audit=self.audit, **ARGUMENTS)
        lines = [json.loads(line) for line in self.audit.read_bytes().splitlines()]
        ids = [line["id"] for line in lines[:-1] if line["action"] == "pruned"]
        assert len(ids) == 2 + long
        self.words: dict[str, Any] = {"run_id": lines[-1]["run_id"]} if by_run else {"ids": ids}
        self.appended: list[bytes] = []
        self.writer: Optional[FileIO] = None
        """Keeps the store open, to append in the middle of a write."""

    def restore(self, fault: Fault, at: int = 0, acts: int = 1) -> Layer:
        """Restore with a fault, while somebody appends at some calls."""
        layer = Layer(System(), fault)
        layer.before = lambda call: self.append() if at <= call < at + acts and at else None
        with using(layer), warnings.catch_warnings(), suppress(Killed, OSError, Refused, CommittedUncertain):
            warnings.simplefilter("ignore", RuntimeWarning)
            jsonl.restore(self.store, self.archive, audit=self.audit, lock_timeout=0.0, **self.words)
        layer.end()
        return layer

    def append(self) -> None:
        """Append a line without the lock, on a line of its own; not while a lease makes an open wait."""
        line = record(f"late{len(self.appended)}", old=False)
        with suppress(BlockingIOError), self._opened() as file:
            whole = self.store.read_bytes().endswith(b"\n")
            file.write(line if whole else b"\n" + line)
            self.appended.append(line)

    def _opened(self) -> AbstractContextManager[FileIO]:
        return nullcontext(self.writer) if self.writer else open(self.store, "ab", 0, opener=_at_once)

    def recover(self, *paths: Path) -> None:
        """Settle what was left at some files, in turn."""
        for path in paths:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # others wrote between the lines
                jsonl.recover(path, lock_timeout=0.0)

    def check(self) -> None:
        """Each line is in one place, and nothing of ours is left."""
        found = self.store.read_bytes() + self.archive.read_bytes()
        lines = [line for line in lines_of(found) if line.endswith(b"}")]  # a torn one is none
        assert lines == lines_of(self.whole + b"".join(self.appended))
        left = [path.name for path in self.store.parent.iterdir() if ".recolva-" in path.name]
        assert not left, left
