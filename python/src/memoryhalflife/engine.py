"""MemoryEngine: memories that expire unless they are used, in memory or in one file."""

from __future__ import annotations

import os
from contextlib import contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Callable, NoReturn

from memoryhalflife import state as _state
from memoryhalflife._checks import (
    DEFAULT_HALF_LIFE,
    DEFAULT_THRESHOLD,
    MAX_TICK,
    Settings,
    checked_callback,
    checked_half_life,
    checked_key,
    checked_settings,
    checked_tags,
    checked_threshold,
    integer,
    number,
    quoted,
)
from memoryhalflife._entropy import entropy_score
from memoryhalflife._guard import Guard
from memoryhalflife._runtime import Clock, Expired, ExpiringStore, Store
from memoryhalflife._ttl import time_to_live
from memoryhalflife.memory import Memory, accessed, trusted, with_content
from memoryhalflife.values import JSON, copied
from recolva.errors import InvalidArgument, InvalidArgumentType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

__all__ = ["MemoryEngine"]

OnExpire = Callable[[Expired], object]


class MemoryEngine:
    """A memory whose entries lose confidence with every tick and expire unless recalled.

    ``confidence = 2^(-elapsed / half_life)``, where elapsed counts ticks since the last access: one
    tick is one conversation turn, or whatever you call `tick` for. A memory expires as soon as its
    confidence would be at or below its threshold; ``Memory.ttl()`` says after how many ticks.

    - ``default_half_life``: an integer from 1 to 10^9, for memories stored without one.
    - ``default_threshold``: a number between 0 and 1, both excluded, likewise.
    - ``grace_ticks``: for so many ticks, from 0 to 10^9, an expired memory can be brought back by
      `revive`. Until then it stands in `to_dict` under "grace" and in no other answer.
    - ``on_expire``: called with one `Expired` for each memory that expired, in order, after the
      tick (or the `batch` around it) is complete and outside the lock, so it may use the engine. If
      it raises, the others are still reported, then the first exception reaches the caller.

    ``path`` is the file in which it is kept, None for one in memory. Threads may share an engine:
    operations exclude each other, and one in memory waits for nothing else, so asyncio can call it
    as it is. Arguments out of range raise a ValueError, those of a wrong type a TypeError.
    """

    def __init__(
        self,
        *,
        default_half_life: int = DEFAULT_HALF_LIFE,
        default_threshold: float = DEFAULT_THRESHOLD,
        grace_ticks: int = 0,
        on_expire: OnExpire | None = None,
    ) -> None:
        """Make an empty engine in memory, at tick 0."""
        settings = checked_settings(default_half_life, default_threshold, grace_ticks)
        checked_callback(on_expire)
        self._start(ExpiringStore(), settings, on_expire)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        default_half_life: int | None = None,
        default_threshold: float | None = None,
        grace_ticks: int | None = None,
        on_expire: OnExpire | None = None,
        synchronous: str = "FULL",
        timeout: float = 10.0,
    ) -> MemoryEngine:
        """Open the engine that is kept in a SQLite file, or make a new one there.

        The defaults are kept in the file: leave them out to take them from there (a new file takes
        those of the constructor); a value that differs from the file's is an error. Several
        processes may have the file open. Every operation is one transaction, which waits up to
        ``timeout`` seconds for other processes. ``synchronous``: with "FULL" an operation is on
        the disk when it returns; with "NORMAL" it outlives the process, but a power cut may take
        the last ones; "OFF" is for tests. Close the engine, or use it in a ``with`` statement.

        A file that is damaged, written by a newer version or by another program is refused
        (`recolva.errors.Refused`) and stays as it is.
        """
        from memoryhalflife._sqlite import SqliteStore

        checked_callback(on_expire)
        wanted = (default_half_life, default_threshold, grace_ticks)
        store, settings = SqliteStore.open(path, wanted, synchronous=synchronous, timeout=timeout)
        engine = cls.__new__(cls)
        cls._start(engine, store, settings, on_expire, os.path.realpath(os.fsdecode(path)))
        return engine

    def _start(
        self,
        store: Store[Memory],
        settings: Settings,
        on_expire: OnExpire | None,
        path: str | None = None,
    ) -> None:
        self._store = store
        self._guard = Guard(store)
        self._read = self._guard.read
        self._write = self._guard.write
        self._settings = settings
        self._on_expire = on_expire
        self._unreported: list[Expired] = []
        self.path = path

    @property
    def now(self) -> int:
        """The tick it is now."""
        with self._read:
            return self._store.clock.now

    @property
    def default_half_life(self) -> int:
        """The half-life of memories stored without one."""
        return self._settings.default_half_life

    @property
    def default_threshold(self) -> float:
        """The threshold of memories stored without one."""
        return self._settings.default_threshold

    @property
    def grace_ticks(self) -> int:
        """For how many ticks an expired memory can be revived."""
        return self._settings.grace_ticks

    def store(
        self,
        key: str,
        content: JSON,
        *,
        half_life: int | None = None,
        tags: Iterable[str] = (),
        threshold: float | None = None,
    ) -> Memory:
        """Keep content under key, with confidence 1, and return the memory.

        ``key`` is any non-empty string, ``content`` any JSON value; it is copied. What was under
        the key before, living or in its grace, is gone: the new memory starts afresh.
        """
        key = checked_key(key)
        content = copied(content)
        settings = self._settings
        life = settings.default_half_life if half_life is None else checked_half_life(half_life)
        limit = settings.default_threshold if threshold is None else checked_threshold(threshold)
        names = checked_tags(tags)
        with self._write:
            now = self._store.clock.now
            memory = trusted(key, content, life, now, now, 0, names, limit)
            self._store.put(key, memory, now + time_to_live(life, limit))
        return _handed_out(memory)

    def recall(self, key: str) -> Memory | None:
        """Return the memory under key, used: its confidence is 1 again, its access_count one more.

        None if there is no living memory under the key.
        """
        key = checked_key(key)
        with self._write:
            entry = self._store.get(key)
            if entry is None or entry[1] is not None:
                return None
            memory = self._access(entry[0], 1)
        return _handed_out(memory)

    def peek(self, key: str) -> Memory | None:
        """Return the memory under key without using it, or None if there is no living one."""
        key = checked_key(key)
        with self._read:
            entry = self._store.get(key)
        return None if entry is None or entry[1] is not None else _handed_out(entry[0])

    def revive(self, key: str) -> Memory | None:
        """Bring back the memory under key that expired less than grace_ticks ago, and return it.

        Its confidence is 1 again; reviving is not counted as an access. None if there is nothing to
        bring back: the memory is living, or gone, or never was.
        """
        key = checked_key(key)
        with self._write:
            entry = self._store.get(key)
            if entry is None or entry[1] is None:
                return None
            memory = self._access(entry[0], 0)
        return _handed_out(memory)

    def restore(self, memory: Memory) -> None:
        """Keep a memory as it is, its times and its count included; the key must be free.

        For memories that were handed out by an engine before, and written down somewhere.
        """
        if not isinstance(memory, Memory):
            raise InvalidArgumentType(f"memory must be a Memory, got {type(memory).__name__}")
        memory = _handed_out(memory)
        due = memory.last_accessed_at + memory.ttl()
        with self._write:
            now = self._store.clock.now
            fault = self._why_not(memory, due, now)
            if fault is None:
                self._store.put(memory.key, memory, due)
        if fault is not None:  # raised here, so that a batch around it can go on
            raise InvalidArgument(fault)

    def _why_not(self, memory: Memory, due: int, now: int) -> str | None:
        """Say why a memory can't be restored at tick now, or return None."""
        if memory.last_accessed_at > now:
            return f"last_accessed_at must be between 0 and {now}, got {memory.last_accessed_at}"
        if due <= now:
            return f"memory {quoted(memory.key)} expired at tick {due}, and now is {now}"
        return f"key {quoted(memory.key)} is in use" if self._store.get(memory.key) else None

    def forget(self, key: str) -> bool:
        """Erase the memory under key, also one in its grace; say whether there was one."""
        key = checked_key(key)
        with self._write:
            entry = self._store.get(key)
            if entry is None:
                return False
            self._store.remove(key)
            if entry[1] is None:  # one in its grace is counted as expired already
                clock = self._store.clock
                self._store.clock = clock._replace(forgotten=clock.forgotten + 1)
        return True

    def tick(self, n: int = 1) -> list[Expired]:
        """Let n ticks pass (n >= 0) and return what expired: by tick, then by key.

        The time this takes depends on how many memories expire, not on n or on how many live.
        """
        n = integer("n", n, 0, MAX_TICK)
        with self._write:
            clock, expired = self._store.clock, []
            now = clock.now + n
            if clock.now < now <= MAX_TICK:
                expired = self._store.expire(now, self._settings.grace_ticks)
                self._store.clock = Clock(now, clock.expired + len(expired), clock.forgotten)
            in_batch = self._guard.depth > 1
            if in_batch:
                self._unreported += expired
        if now > MAX_TICK:
            raise InvalidArgument(f"n must not take the clock past {MAX_TICK}, got {n} at tick {clock.now}")
        if not in_batch:
            self._report(expired)
        return expired

    def memories(self, tag: str | None = None) -> list[Memory]:
        """Return the living memories, or those with the given tag, sorted by key."""
        if tag is not None:
            tag = checked_key(tag, "tag")
        with self._read:
            return [_handed_out(memory) for memory in self._living() if tag is None or tag in memory.tags]

    def fading(self, threshold: float = 0.5) -> list[Memory]:
        """Return the living memories with a confidence below threshold, sorted by key."""
        threshold = number("threshold", threshold, 0.0, 1.0)
        with self._read:
            now = self._store.clock.now
            return [_handed_out(memory) for memory in self._living() if memory.is_fading(now, threshold)]

    def entropy_score(self) -> dict[str, int | float]:
        """Measure how far the knowledge has decayed.

        mass: how many memories live; pressure: the sum of 1 - confidence over them; score:
        pressure / mass, in [0, 1), 0 when there are none; and the counts living, fading (below
        0.5), expired and forgotten (so far).
        """
        with self._read:
            return entropy_score(self._store.clock, self._store.entries())

    def to_dict(self) -> dict[str, Any]:
        """Return everything the engine knows as JSON values, to be read by `from_dict`."""
        with self._read:
            return _state.to_dict(self._settings, self._store.clock, self._store.entries())

    @classmethod
    def from_dict(
        cls,
        state: dict[str, Any],
        *,
        path: str | os.PathLike[str] | None = None,
        on_expire: OnExpire | None = None,
    ) -> MemoryEngine:
        """Make an engine from what `to_dict` returned, or from a dump of memory-half-life 0.1.

        With ``path`` it is kept in that file, which must be new, or an engine in which nothing has
        happened yet; else in memory.
        """
        checked_callback(on_expire)
        loaded = _state.from_dict(state)
        if path is None:
            engine = cls.__new__(cls)
            cls._start(engine, ExpiringStore(), loaded.settings, on_expire)
        else:
            engine = cls.open(path, **loaded.settings._asdict(), on_expire=on_expire)
        try:
            cls._load(engine, loaded)
        except BaseException:
            engine.close()
            raise
        return engine

    def _load(self, loaded: _state.Loaded) -> None:
        with self._write:
            if self._store.clock != Clock() or next(self._store.entries(), None) is not None:
                raise InvalidArgument(f"path must be a new file, and {self.path} has memories of its own")
            self._store.clock = loaded.clock
            for memory, due, expired_at in loaded.entries:
                self._store.put(memory.key, memory, due, expired_at)

    @contextmanager
    def batch(self) -> Iterator[MemoryEngine]:
        """Make the operations inside the ``with`` statement one transaction.

        In a file this is fast, and all of them become durable together at its end; an exception
        undoes them all, in memory too. Other threads and processes wait meanwhile; ``on_expire`` is
        called at the end. Inside a batch, a batch joins the one around it.
        """
        expired: list[Expired] = []
        with self._write:
            try:
                yield self
            finally:
                if self._guard.depth == 1:
                    expired, self._unreported = self._unreported, []
        self._report(expired)

    def close(self) -> None:
        """Close the file, if there is one; the engine can't be used afterwards."""
        self._guard.close()

    def __enter__(self) -> MemoryEngine:
        """Return the engine; leaving the ``with`` statement closes it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the engine."""
        self.close()

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled: two engines on one store would spoil each other."""
        raise TypeError("an engine can't be copied or pickled: use to_dict() and from_dict(), or open() its file")

    def __repr__(self) -> str:
        """Show the settings, and the file if there is one."""
        file = "" if self.path is None else f" in {self.path!r}"
        half_life, threshold, grace = self._settings
        return f"<MemoryEngine{file}: half_life={half_life} threshold={threshold} grace_ticks={grace}>"

    def _access(self, memory: Memory, recalls: int) -> Memory:
        now = self._store.clock.now
        memory = accessed(memory, now, recalls)
        self._store.refresh(memory.key, memory, now + time_to_live(memory.half_life, memory.threshold))
        return memory

    def _living(self) -> list[Memory]:
        living = (memory for memory, expired_at in self._store.entries() if expired_at is None)
        return sorted(living, key=attrgetter("key"))

    def _report(self, expired: list[Expired]) -> None:
        """Call on_expire for each; raise the first exception when all have been told."""
        if self._on_expire is None:
            return
        first: BaseException | None = None
        for event in expired:
            try:
                self._on_expire(event)
            except Exception as error:
                first = first or error
        if first is not None:
            raise first


def _handed_out(memory: Memory) -> Memory:
    """Return the memory for the caller, whose changes to its content must not reach the engine."""
    content = memory.content
    return with_content(memory, copied(content)) if isinstance(content, (list, dict)) else memory
