"""One lock around a store, a transaction in it, and what a fork does to both.

A store is used by one thread at a time: `Guard.write` and `Guard.read` are context managers that
take the lock and a transaction; inside a batch they join the transaction that is open. Before this
process forks (``os.fork``, a fork pool), the lock is taken and the store told to let go of what a
child must not inherit; after it, both processes go on.
"""

from __future__ import annotations

import os
import time
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakSet

from recolva.errors import InvalidArgument, Refused

if TYPE_CHECKING:
    from types import TracebackType

    from memoryhalflife._runtime import Store

__all__ = ["Guard"]

V = TypeVar("V")


class Guard(Generic[V]):
    """Mutual exclusion and transactions for one store."""

    def __init__(self, store: Store[V]) -> None:
        """Guard an open store."""
        self.store = store
        self.lock = RLock()
        self.depth = 0  # of nested transactions; only the outermost is one
        self.closed = False
        self.broken = False  # something failed inside the transaction: it can't be kept
        self.abandoned = False  # by a thread that is not in this forked process
        self.read = _Section(self, write=False)
        self.write = _Section(self, write=True)
        with _guards_lock:
            _guards.add(self)

    def enter(self, *, write: bool) -> None:
        """Take the lock and begin, or join what has begun."""
        self.lock.acquire()
        try:
            if self.abandoned:
                raise Refused("the engine was in use by another thread when this process was forked")
            if self.closed:
                raise InvalidArgument("the engine is closed")
            if self.broken:
                raise Refused("the batch failed and will be rolled back")
            if self.depth == 0:
                self.store.begin(write=write)
            self.depth += 1
        except BaseException:
            self.lock.release()
            raise

    def leave(self, *, failed: bool) -> None:
        """End the outermost transaction; give the lock back."""
        try:
            self.depth -= 1
            if self.depth > 0:
                self.broken = self.broken or failed
                return
            broken, self.broken = self.broken or failed, False
            if not broken:
                self.store.commit()
                return
            self.store.rollback()
            if not failed:
                raise Refused("the batch failed and was rolled back")
        finally:
            self.lock.release()

    def abandon(self) -> None:
        """Refuse to go on with what a thread was doing that this forked process does not have."""
        self.lock = RLock()
        self.depth = 0
        self.abandoned = self.closed = True
        self.store.after_fork_in_child()

    def close(self) -> None:
        """Close the store, once; not possible inside a batch."""
        with self.lock:
            if self.depth:
                raise InvalidArgument("the engine can't be closed inside a batch")
            if not self.closed:
                self.closed = True
                self.store.close()


class _Section:
    """A reusable context manager: a generator would cost more than the operation inside."""

    __slots__ = ("_guard", "_write")

    def __init__(self, guard: Guard[Any], *, write: bool) -> None:
        self._guard = guard
        self._write = write

    def __enter__(self) -> None:
        self._guard.enter(write=self._write)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._guard.leave(failed=kind is not None)
        if error is not None:
            translated = self._guard.store.translated(error)
            if translated is not error:
                raise translated from error


_PATIENCE_S = 10.0  # a thread inside a batch may itself wait for the one that forks

_guards: WeakSet[Guard[Any]] = WeakSet()
_guards_lock = Lock()  # nobody waits for anything else while holding it
_held: list[Guard[Any]] = []


def _before_fork() -> None:
    """Return when no other thread is inside a store, or none that gets on; keep the others out.

    All locks are taken at once or none, and only one is waited for while holding no other: a thread
    that is inside a store may fork too, or make an engine.
    """
    deadline = time.monotonic() + _PATIENCE_S
    missing: set[Guard[Any]] = set()
    while True:
        waited = missing.pop() if missing else None
        if waited and not waited.lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            waited = None
        _guards_lock.acquire()
        _held[:] = [guard for guard in _guards if guard.lock.acquire(blocking=False)]
        if waited:
            waited.lock.release()  # it is among those held
        missing = set(_guards).difference(_held)
        if not missing or time.monotonic() > deadline:
            break
        _after_fork()
    for guard in _held:
        if not guard.closed:
            guard.store.before_fork()


def _after_fork_in_child() -> None:
    for guard in _guards:
        if guard not in _held:
            guard.abandon()
        elif not guard.closed:
            guard.store.after_fork_in_child()
    _after_fork()


def _after_fork() -> None:
    while _held:
        _held.pop().lock.release()
    _guards_lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
