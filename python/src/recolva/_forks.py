"""No fork while another thread imports or loads: a child would inherit it half done, for ever.

The lock of a module being imported belongs, in the child of a fork, to a thread that is not there,
and whoever needs the module waits without end. The names of this package are imported at their
first use, often in threads, and so is the native library; both happen within `held_off`.

Python waits in ``os.fork`` for the blocks to end. New ones may begin as long as it does, since one
may need another to end; once the fork proceeds they wait for it, a moment.
"""

from __future__ import annotations

import os
import time
from _thread import RLock, get_ident

__all__ = ["held_off"]

_PATIENCE_S = 10.0  # a busy thread may wait for what the forking one holds, an import lock say

_gate = RLock()
_busy: list[int] = []  # threads within held_off, once for each level


class _HeldOff:
    """A block in which this thread must not be cut off by a fork of another."""

    def __enter__(self) -> None:
        with _gate:
            _busy.append(get_ident())

    def __exit__(self, *_: object) -> None:
        _busy.remove(get_ident())


held_off = _HeldOff()


def _before_fork() -> None:
    """Return with the gate held when no other thread is busy, or none that gets on."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        _gate.acquire()
        if set(_busy) <= {get_ident()} or time.monotonic() > deadline:
            return
        _gate.release()
        time.sleep(0.001)


def _after_fork_in_parent() -> None:
    _gate.release()


def _after_fork_in_child() -> None:
    """Forget the threads that are not here; the gate is new, for one of them may wait at the old."""
    global _gate  # noqa: PLW0603 - one gate for the process
    _gate = RLock()
    _busy[:] = [thread for thread in _busy if thread == get_ident()]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
