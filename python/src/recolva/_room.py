"""Whether the limits of this process leave the library room.

The Go runtime within it reserves address space and starts threads while it is loaded, and where the
system refuses, it ends the process with a stack trace instead of returning an error. So a process
under a small limit (``ulimit -v``, ``ulimit -d``), or where no more threads can be started
(``ulimit -u``, the number of processes that a container may have), does not load it.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import NamedTuple

__all__ = ["shortage"]


class _Need(NamedTuple):
    limit: str
    what: str
    field: int
    """Position of the present use, in pages, in /proc/self/statm."""
    room: int
    """Bytes that must be left. With two processors 1.6 GB and 60 MB are taken; more take more."""


_NEEDS = (
    _Need("RLIMIT_AS", "address space", 0, 4 << 30),
    _Need("RLIMIT_DATA", "data", 5, 1 << 30),
)


def shortage() -> str:
    """Return the text of what leaves too little room, or the empty string."""
    try:
        import resource  # noqa: PLC0415 - not every system has such limits
    except ImportError:
        return ""
    for need in _NEEDS:
        kind = getattr(resource, need.limit, None)
        limit = resource.RLIM_INFINITY if kind is None else resource.getrlimit(kind)[0]
        if limit != resource.RLIM_INFINITY and limit - _pages(need.field) * resource.getpagesize() < need.room:
            return f"{need.limit} of {limit} bytes of {need.what} leaves the native library no room"
    return "" if _can_start_threads() else "the native library could not start its threads"


def _can_start_threads() -> bool:
    """Say whether as many threads can be started as the runtime may want; they end at once."""
    gate = threading.Event()
    started = []
    try:
        for _ in range(8 + min(os.cpu_count() or 1, 32)):
            thread = threading.Thread(target=gate.wait, daemon=True)
            thread.start()
            started.append(thread)
    except RuntimeError:
        return False
    finally:
        gate.set()
        for thread in started:
            thread.join()
    return True


def _pages(field: int) -> int:
    """Return the present use, 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[field])
    except (OSError, ValueError, IndexError):
        return 0
