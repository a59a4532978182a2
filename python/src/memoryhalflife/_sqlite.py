"""A store of memories in one SQLite file, for `MemoryEngine.open`."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING, Any, Callable, NoReturn

from memoryhalflife import values
from memoryhalflife._checks import (
    DEFAULT_HALF_LIFE,
    DEFAULT_THRESHOLD,
    MAX_HALF_LIFE,
    Settings,
    checked_settings,
    number_text,
)
from memoryhalflife._database import (
    Access,
    checked_access,
    connect,
    damaged,
    failure,
    open_database,
    read_clock,
    read_settings,
)
from memoryhalflife._runtime import Clock, Expired
from memoryhalflife.memory import Memory, trusted
from recolva.errors import InvalidArgument, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SqliteStore"]

_COLUMNS = "content, half_life, created_at, last_accessed_at, access_count, tags, threshold, expired_at"
_GET = f"SELECT {_COLUMNS} FROM memory WHERE key = ?"
_ENTRIES = f"SELECT {_COLUMNS}, key FROM memory"
_PUT = f"INSERT OR REPLACE INTO memory ({_COLUMNS}, due_at, key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_REFRESH = "UPDATE memory SET last_accessed_at = ?, access_count = ?, due_at = ?, expired_at = NULL WHERE key = ?"
_SET_CLOCK = "UPDATE engine SET now = ?, expired = ?, forgotten = ?"

# An expired memory starts its grace; due_at moves in one statement, before what is due is deleted.
_DUE = "SELECT key, due_at FROM memory WHERE due_at <= ? AND expired_at IS NULL"
_REST = "UPDATE memory SET expired_at = due_at, due_at = due_at + ? WHERE due_at <= ? AND expired_at IS NULL"
_GONE = "DELETE FROM memory WHERE due_at <= ?"


class SqliteStore:
    """A `memoryhalflife._runtime.Store` of memories in a SQLite file."""

    def __init__(self, access: Access, connection: sqlite3.Connection) -> None:
        """Use an open connection; `open` is the way to make a store."""
        self._access = access
        self._connection: sqlite3.Connection | None = connection
        self._execute: Callable[..., sqlite3.Cursor] = connection.execute
        self._pid = os.getpid()
        self._file = _identity(access)
        self._clock: Clock | None = None  # as read or set in this transaction

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        wanted: tuple[int | None, float | None, int | None],
        *,
        synchronous: str,
        timeout: float,
    ) -> tuple[SqliteStore, Settings]:
        """Open or make the file; wanted are the settings asked for, None for those in the file."""
        access = checked_access(path, synchronous, timeout)
        standard = (DEFAULT_HALF_LIFE, DEFAULT_THRESHOLD, 0)
        defaults = checked_settings(*(s if w is None else w for w, s in zip(wanted, standard)))
        connection = open_database(access, defaults)
        try:
            settings = read_settings(access, connection.execute)
            for name, asked, value, kept in zip(Settings._fields, wanted, defaults, settings):
                if asked is not None and value != kept:
                    raise InvalidArgument(
                        f"{name} must be {number_text(kept)} as in {access.path}, got {number_text(value)}"
                    )
        except BaseException:
            connection.close()
            raise
        return cls(access, connection), settings

    @property
    def clock(self) -> Clock:
        """The clock as this transaction sees it."""
        if self._clock is None:
            self._clock = read_clock(self._access, self._execute)
        return self._clock

    @clock.setter
    def clock(self, clock: Clock) -> None:
        self._execute(_SET_CLOCK, clock)
        self._clock = clock

    def begin(self, *, write: bool) -> None:
        """Start a transaction; a writing one waits until no other process has one."""
        if self._pid != os.getpid() or self._connection is None:
            self._reconnect()
        self._clock = None
        if write and _identity(self._access) != self._file:
            raise Refused(
                f"{self._access.path} was removed or replaced while it was open: what is stored would be lost"
            )
        try:
            self._execute("BEGIN IMMEDIATE" if write else "BEGIN")
        except sqlite3.Error as error:
            raise failure(self._access, error) from error

    def commit(self) -> None:
        """Make durable what was done since begin."""
        try:
            self._execute("COMMIT")
        except sqlite3.Error as error:
            self.rollback()
            raise failure(self._access, error) from error

    def rollback(self) -> None:
        """Undo what was done since begin; SQLite has done so itself after some failures."""
        if self._connection is not None and self._connection.in_transaction:
            self._execute("ROLLBACK")

    def get(self, key: str) -> tuple[Memory, int | None] | None:
        """Return the memory under key and when it expired."""
        row = self._execute(_GET, (key,)).fetchone()
        return None if row is None else self._entry(key, row)

    def put(self, key: str, value: Memory, due: int, expired_at: int | None = None) -> None:
        """Keep a memory under key."""
        row = (
            values.dumps(value.content),
            value.half_life,
            value.created_at,
            value.last_accessed_at,
            value.access_count,
            values.dumps(list(value.tags)) if value.tags else "[]",
            value.threshold,
            expired_at,
            due,
            key,
        )
        try:
            self._execute(_PUT, row)
        except OverflowError as error:  # 2 GiB, beyond what sqlite3 hands on
            raise InvalidArgument(f"content must fit into {self._access.path}: {error}") from None

    def refresh(self, key: str, value: Memory, due: int) -> None:
        """Note that the memory under key was accessed."""
        self._execute(_REFRESH, (value.last_accessed_at, value.access_count, due, key))

    def remove(self, key: str) -> None:
        """Remove the memory under key."""
        self._execute("DELETE FROM memory WHERE key = ?", (key,))

    def expire(self, until: int, grace: int) -> list[Expired]:
        """Let all that is due up to tick until expire."""
        expired = [Expired(key, due) for key, due in self._execute(_DUE, (until,))]
        for event in expired:
            if type(event.key) is not str:
                raise damaged(self._access, "a key", event.key)
        if expired and grace:
            self._execute(_REST, (grace, until))
        self._execute(_GONE, (until,))
        expired.sort(key=_by_tick)
        return expired

    def entries(self) -> Iterator[tuple[Memory, int | None]]:
        """Yield all memories and when they expired."""
        for row in self._execute(_ENTRIES):
            yield self._entry(row[8], row)

    def before_fork(self) -> None:
        """Close the connection: a child of this process must not inherit an open one.

        Each process connects again when it needs to. That is impossible inside a batch, which goes
        on in the parent; the child then refuses to use the file.
        """
        if self._connection is not None and not self._connection.in_transaction:
            self.close()

    def after_fork_in_child(self) -> None:
        """Never use a connection of the parent: SQLite believes that this process holds its locks."""
        if self._connection is not None:
            self._execute = self._refuse

    def translated(self, error: BaseException) -> BaseException:
        """Return what the caller of the engine sees of an error."""
        return failure(self._access, error) if isinstance(error, sqlite3.Error) else error

    def close(self) -> None:
        """Close the file."""
        connection, self._connection = self._connection, None
        if connection is not None and self._pid == os.getpid():
            connection.close()

    def _entry(self, key: str, row: tuple[Any, ...]) -> tuple[Memory, int | None]:
        """Return a memory and when it expired; SQLite's checks don't notice every damage to them."""
        try:
            return _memory(key, row), row[7]
        except (ValueError, TypeError) as error:
            raise damaged(self._access, "a memory", error) from error

    def _refuse(self, *_: object) -> NoReturn:
        raise Refused(f"{self._access.path} was in use when this process was forked: open it in a new process")

    def _reconnect(self) -> None:
        if self._connection is not None:  # forked by other means than os.fork
            self._refuse()
        if _identity(self._access) != self._file:
            raise FileNotFoundError(f"{self._access.path} is not there any more")
        self._connection = connect(self._access)
        self._execute = self._connection.execute
        self._pid = os.getpid()


def _identity(access: Access) -> tuple[int, int] | None:
    """Return what tells a file from another that takes its name, or None if there is none."""
    try:
        status = os.stat(access.path)  # noqa: PTH116 - before every transaction
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _by_tick(event: Expired) -> tuple[int, str]:
    return event.tick, event.key


def _memory(key: str, row: tuple[Any, ...]) -> Memory:
    """Return the memory of a row; ValueError or TypeError if the row can't be one that was written."""
    content, half_life, created_at, last_accessed_at, access_count, tags, threshold, expired_at = row[:8]
    if not (
        0 <= created_at <= last_accessed_at
        and 1 <= half_life <= MAX_HALF_LIFE
        and 0.0 < threshold < 1.0
        and access_count >= 0
        and type(key) is str
        and type(created_at) is type(last_accessed_at) is type(access_count) is int
        and (expired_at is None or type(expired_at) is int)
    ):
        raise ValueError(f"key {key!r:.40}")
    return trusted(
        key,
        values.loads(content),
        half_life,
        created_at,
        last_accessed_at,
        access_count,
        () if tags == "[]" else tuple(values.loads(tags)),  # type: ignore[arg-type]
        threshold,
    )
