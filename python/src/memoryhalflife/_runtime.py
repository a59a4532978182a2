"""The runtime below the engine: a logical clock, a store whose entries expire, and its schedule.

It knows nothing of memories or decay: entries have a key, a value and a tick at which they are
due. Time moves only when somebody says so.

What an entry goes through: living until its due tick, then, if the store is given a grace, resting
until due + grace, then gone. Costs: every operation on one entry O(log n) at most, and expiring
what is due O(k log n) for k due entries, whatever number of ticks passes and of entries lives.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Clock", "Expired", "ExpiringStore", "Schedule", "Store"]

V = TypeVar("V")


class Expired(NamedTuple):
    """A memory expired: its key, and the tick at which it did."""

    key: str
    tick: int


class Clock(NamedTuple):
    """The tick it is now, and how many entries have expired and were forgotten so far."""

    now: int = 0
    expired: int = 0
    forgotten: int = 0


class Store(Protocol[V]):
    """A store of expiring entries, in memory or elsewhere; used by one thread at a time.

    Everything happens between `begin` and `commit` or `rollback`. What was committed stays;
    a rollback undoes all since `begin`, the clock included.
    """

    clock: Clock

    def begin(self, *, write: bool) -> None:
        """Start a transaction; it sees one state throughout, and keeps other writers out if write."""

    def commit(self) -> None:
        """End the transaction and keep what it did."""

    def rollback(self) -> None:
        """End the transaction and undo what it did."""

    def get(self, key: str) -> tuple[V, int | None] | None:
        """Return the value under key and the tick at which it expired (None while it lives)."""

    def put(self, key: str, value: V, due: int, expired_at: int | None = None) -> None:
        """Keep value under key in place of what was there."""

    def refresh(self, key: str, value: V, due: int) -> None:
        """Do as `put` for a key that is there and a value that differs only in its last access."""

    def remove(self, key: str) -> None:
        """Remove what is under key, which is there."""

    def expire(self, until: int, grace: int) -> list[Expired]:
        """Let all that is due at tick until or before expire; return it by tick, then by key."""

    def entries(self) -> Iterator[tuple[V, int | None]]:
        """Yield all values and the ticks at which they expired, in no particular order."""

    def before_fork(self) -> None:
        """Make ready for a fork of this process, possibly inside a transaction."""

    def after_fork_in_child(self) -> None:
        """Follow `before_fork` in the new process."""

    def translated(self, error: BaseException) -> BaseException:
        """Return what the caller should see in place of an error raised by the store."""

    def close(self) -> None:
        """Let go of whatever the store holds; called once, between transactions."""


class Schedule:
    """Which keys are due when: a heap of ticks, and the keys of each tick.

    A tick whose last key was removed stays in the heap without keys; when such ticks outnumber
    the others, the heap is built anew. So there are never more than about twice as many ticks as
    keys, and what a removal leaves behind is paid for once.

    Keys of a tick are those of a dict, not a set: up to Python 3.9, adding and removing the same one
    again and again makes a set slower and slower.
    """

    __slots__ = ("_empty", "_heap", "_keys")

    def __init__(self) -> None:
        """Start with nothing due."""
        self._keys: dict[int, dict[str, None]] = {}  # exactly the ticks that are in the heap
        self._heap: list[int] = []
        self._empty = 0

    def __len__(self) -> int:
        """Return how many ticks are kept, empty ones included."""
        return len(self._heap)

    def add(self, key: str, due: int) -> None:
        """Note that key is due at tick due; it was not noted for that tick before."""
        keys = self._keys.get(due)
        if keys is None:
            self._keys[due] = {key: None}
            heappush(self._heap, due)
            return
        if not keys:
            self._empty -= 1
        keys[key] = None

    def remove(self, key: str, due: int) -> None:
        """Take back what `add` noted; nothing happens if it is not noted any more."""
        keys = self._keys.get(due)
        if not keys:
            return
        keys.pop(key, None)
        if keys:
            return
        keys.clear()  # a dict keeps the room that it once needed, unless it is cleared
        self._empty += 1
        if self._empty > 32 + len(self._heap) // 2:
            self._keys = {tick: keys for tick, keys in self._keys.items() if keys}
            self._heap = list(self._keys)
            heapify(self._heap)
            self._empty = 0

    def pop_due(self, until: int) -> tuple[int, list[str]] | None:
        """Take out the first tick up to until at which something is due; return its keys, sorted."""
        heap = self._heap
        while heap and heap[0] <= until:
            tick = heappop(heap)
            keys = self._keys.pop(tick)
            if keys:
                return tick, sorted(keys)
            self._empty -= 1
        return None


class ExpiringStore(Generic[V]):
    """A `Store` in memory."""

    def __init__(self) -> None:
        """Start empty, at tick 0."""
        self.clock = Clock()
        self._entries: dict[str, tuple[V, int, int | None]] = {}
        self._schedule = Schedule()
        # what each changed key held when the transaction began
        self._undo: dict[str, tuple[V, int, int | None] | None] | None = None
        self._undo_clock = self.clock

    def begin(self, *, write: bool) -> None:
        """Start a transaction."""
        if write:
            self._undo = {}
            self._undo_clock = self.clock

    def commit(self) -> None:
        """Keep what was done since begin."""
        self._undo = None

    def rollback(self) -> None:
        """Undo what was done since begin."""
        undo, self._undo = self._undo, None
        if undo is not None:
            for key, entry in undo.items():
                self._replace(key, entry)
            self.clock = self._undo_clock

    def get(self, key: str) -> tuple[V, int | None] | None:
        """Return the value under key and when it expired."""
        entry = self._entries.get(key)
        return None if entry is None else (entry[0], entry[2])

    def put(self, key: str, value: V, due: int, expired_at: int | None = None) -> None:
        """Keep value under key."""
        self._replace(key, (value, due, expired_at))

    def refresh(self, key: str, value: V, due: int) -> None:
        """Keep value, accessed anew, under key."""
        self._replace(key, (value, due, None))

    def remove(self, key: str) -> None:
        """Remove what is under key."""
        self._replace(key, None)

    def expire(self, until: int, grace: int) -> list[Expired]:
        """Let all that is due up to tick until expire."""
        expired: list[Expired] = []
        entries, undo = self._entries, self._undo
        while True:
            first = self._schedule.pop_due(until)
            if first is None:
                return expired
            tick, keys = first
            if undo is not None:
                for key in keys:
                    undo.setdefault(key, entries[key])
            for key in keys:
                value, _, expired_at = entries.pop(key)
                if expired_at is None:
                    expired.append(Expired(key, tick))
                    if grace:
                        self.put(key, value, tick + grace, tick)

    def entries(self) -> Iterator[tuple[V, int | None]]:
        """Yield all values and when they expired."""
        for value, _, expired_at in self._entries.values():
            yield value, expired_at

    def before_fork(self) -> None:
        """Do nothing: the child has a copy of its own."""

    def after_fork_in_child(self) -> None:
        """Do nothing."""

    def translated(self, error: BaseException) -> BaseException:
        """Return the error: none needs translation."""
        return error

    def close(self) -> None:
        """Let go of everything."""
        self._entries = {}
        self._schedule = Schedule()

    def _replace(self, key: str, entry: tuple[V, int, int | None] | None) -> None:
        """Change what is under key: the one place where entries, schedule and undo change."""
        old = self._entries.get(key)
        if self._undo is not None:
            self._undo.setdefault(key, old)
        if entry is not None:
            self._entries[key] = entry
            if old is not None and old[1] == entry[1]:
                return
            self._schedule.add(key, entry[1])
        elif old is not None:
            del self._entries[key]
        if old is not None:
            self._schedule.remove(key, old[1])
