"""Open the SQLite file of an engine, make a new one, or refuse it and leave it as it is.

A file of ours bears an application id and, as user version, the number of its layout. Both are in
its first page from the first transaction on, because a file is made with a rollback journal and
only then switched to write-ahead logging; so they can be read without touching anything.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Callable, NamedTuple

from memoryhalflife._checks import MAX_TICK, Settings, checked_settings, choice, integer, number, number_text
from memoryhalflife._runtime import Clock
from recolva.errors import InvalidArgument, InvalidArgumentType, Refused

__all__ = [
    "APPLICATION_ID",
    "LAYOUT",
    "SYNCHRONOUS",
    "Access",
    "checked_access",
    "connect",
    "damaged",
    "failure",
    "open_database",
    "read_clock",
    "read_settings",
]

APPLICATION_ID = 0x4D48_4C31  # "MHL1"

#: Number of the layout below. A newer one is refused; an older one does not exist yet.
LAYOUT = 1

SYNCHRONOUS = ("FULL", "NORMAL", "OFF")

_SCHEMA = (
    # one row: the clock and what the engine was made with
    """CREATE TABLE engine (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        now INTEGER NOT NULL,
        expired INTEGER NOT NULL,
        forgotten INTEGER NOT NULL,
        default_half_life INTEGER NOT NULL,
        default_threshold REAL NOT NULL,
        grace_ticks INTEGER NOT NULL
    )""",
    # content and tags are JSON; half_life has no type, so that a fractional one of 0.1 stays exact;
    # due_at is when it expires or, if it has expired_at and rests in its grace, when it is gone
    """CREATE TABLE memory (
        key TEXT NOT NULL PRIMARY KEY,
        content TEXT NOT NULL,
        half_life NOT NULL,
        created_at INTEGER NOT NULL,
        last_accessed_at INTEGER NOT NULL,
        access_count INTEGER NOT NULL,
        tags TEXT NOT NULL,
        threshold REAL NOT NULL,
        due_at INTEGER NOT NULL,
        expired_at INTEGER
    )""",
    "CREATE INDEX memory_due ON memory (due_at)",
)


Execute = Callable[..., sqlite3.Cursor]


class Access(NamedTuple):
    """How a file is used: its absolute path, how durable commits are, seconds to wait for others."""

    path: str
    synchronous: str
    timeout: float


def open_database(access: Access, defaults: tuple[int, float, int]) -> sqlite3.Connection:
    """Return a connection to the file, made with defaults if it is new."""
    found = _inspect(access)
    if found and _has(access, "-journal"):
        _settle(access)
        found = _inspect(access)
    if not found:
        _create(access, defaults)
    _check(access)
    return connect(access)


def connect(access: Access) -> sqlite3.Connection:
    """Return a connection to a file that was inspected and checked."""
    connection = _connection(access, "rw")
    try:
        _set_journal(connection, access)
    except BaseException:
        connection.close()
        raise
    return connection


def _inspect(access: Access) -> bool:
    """Say whether there is a file of ours; raise Refused if there is something else.

    Reading goes through SQLite, because a plain close of the file would drop the locks that
    another connection of this process may hold on it.
    """
    try:
        status = Path(access.path).stat()
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(status.st_mode):
        raise Refused(f"{access.path} is not a regular file")
    if not os.access(access.path, os.W_OK):  # SQLite would read it, and leave an empty log beside it
        raise PermissionError(f"{access.path} can't be written: permission denied")
    if status.st_size == 0:
        return False
    application, layout = _identity(access)
    if application != APPLICATION_ID:
        raise Refused(f"{access.path} is a database of another program (application id {application})")
    _refuse_layout(access, layout)
    return True


def _identity(access: Access) -> tuple[int, int]:
    """Return application id and layout of a database.

    An immutable connection takes the first page as it is and touches nothing. While a commit or the
    write-ahead log is on its way into the file (or after that was cut short), the file may be
    shorter than its first page says; with a writable schema SQLite looks past that.
    """
    try:
        with closing(_connection(access, "ro&immutable=1")) as connection:
            connection.execute("PRAGMA writable_schema = ON")
            return _pragma(connection, "application_id"), _pragma(connection, "user_version")
    except sqlite3.OperationalError as error:
        raise failure(access, error) from error
    except sqlite3.DatabaseError as error:
        raise Refused(f"{access.path} is not a database of memories: {error}") from error


def _settle(access: Access) -> None:
    """Let SQLite roll back a transaction that was cut short while the file was made."""
    try:
        with closing(_connection(access, "rw")) as connection:
            _pragma(connection, "user_version")
    except sqlite3.Error as error:
        raise failure(access, error) from error


def _has(access: Access, suffix: str) -> bool:
    """Say whether there is a journal (-journal) or write-ahead log (-wal) with something in it."""
    try:
        return Path(access.path + suffix).stat().st_size > 0
    except FileNotFoundError:
        return False


def _refuse_layout(access: Access, layout: int) -> None:
    if layout > LAYOUT:
        raise Refused(
            f"{access.path} was written by a newer version of this program (layout {layout}, known up to {LAYOUT})"
        )
    if layout < LAYOUT:
        raise Refused(f"{access.path} is damaged: its layout must be {LAYOUT}, got {layout}")


def _create(access: Access, defaults: tuple[int, float, int]) -> None:
    """Make the tables in an empty file, unless another process has just done it."""
    folder = Path(access.path).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a directory")
    try:
        with closing(_connection(access, "rwc")) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            if _pragma(connection, "user_version") == 0:
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {LAYOUT}")
                for statement in _SCHEMA:
                    connection.execute(statement)
                connection.execute("INSERT INTO engine VALUES (1, 0, 0, 0, ?, ?, ?)", defaults)
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise failure(access, error) from error


def _check(access: Access) -> None:
    """Refuse a damaged file: all of it is read, and the indexes are compared with the table.

    The check must not change the file. Closing the only connection moves the write-ahead log into
    it, unless the connection may only read; but such a one leaves an empty log behind. So it depends
    on whether there is a log with something in it, as a crash leaves behind.
    """
    logged = _has(access, "-wal")
    try:
        with closing(_connection(access, "ro" if logged else "rw")) as connection:
            _refuse_layout(access, _pragma(connection, "user_version"))
            fault = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if fault == "ok" and not logged and Path(access.path).stat().st_size % _pragma(connection, "page_size"):
                fault = "its last page is cut short"  # SQLite reads zeros there
            if fault == "ok" and _schema(connection) != sorted(map(_words, _SCHEMA)):
                fault = "its tables are not those of this program"
            if fault == "ok":
                read_settings(access, connection.execute)
                read_clock(access, connection.execute)
    except sqlite3.OperationalError as error:
        if is_busy(error) or _is_denied(error) or str(error).startswith("unable to open"):
            raise failure(access, error) from error
        raise Refused(f"{access.path} is damaged: {error}") from error
    except sqlite3.DatabaseError as error:
        raise Refused(f"{access.path} is damaged: {error}") from error
    if fault != "ok":
        raise Refused(f"{access.path} is damaged: {fault}")


def read_settings(access: Access, execute: Execute) -> Settings:
    """Return the settings in the file."""
    row = execute("SELECT default_half_life, default_threshold, grace_ticks FROM engine").fetchone()
    try:
        return checked_settings(*row)
    except (ValueError, TypeError) as error:
        raise damaged(access, "the settings", error) from None


def read_clock(access: Access, execute: Execute) -> Clock:
    """Return the clock in the file."""
    row = execute("SELECT now, expired, forgotten FROM engine").fetchone()
    try:
        return Clock(*(integer(name, value, 0, MAX_TICK) for name, value in zip(Clock._fields, row)))
    except (ValueError, TypeError) as error:
        raise damaged(access, "the clock", error) from None


def _schema(connection: sqlite3.Connection) -> list[str]:
    """Return the statements that made the tables of a file, whatever bytes it has in their place."""
    rows = connection.execute("SELECT CAST(sql AS BLOB) FROM sqlite_master WHERE sql IS NOT NULL")
    return sorted(_words(sql.decode(errors="replace")) for (sql,) in rows)


def _words(text: str) -> str:
    return " ".join(text.split())


def _set_journal(connection: sqlite3.Connection, access: Access) -> None:
    """Switch to write-ahead logging; a file that has it needs no lock for that, a new one does."""
    deadline = time.monotonic() + access.timeout
    while True:
        try:
            journal = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            break
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() >= deadline:
                raise failure(access, error) from error
            time.sleep(0.005)
    if journal != "wal":
        raise Refused(f"{access.path} is on a file system without write-ahead logging")
    connection.execute(f"PRAGMA synchronous = {access.synchronous}")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA cache_size = -16384")  # 16 MiB


def _connection(access: Access, mode: str) -> sqlite3.Connection:
    """Return a connection that begins no transaction by itself."""
    return sqlite3.connect(
        f"{Path(access.path).as_uri()}?mode={mode}",
        uri=True,
        timeout=access.timeout,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=64,
    )


def failure(access: Access, error: sqlite3.Error) -> Exception:
    """Return what the caller of an engine sees of a failure of SQLite."""
    if str(error).startswith("Could not decode"):  # the text quotes what it could not decode
        return Refused(f"{access.path} is damaged: a text in it is not UTF-8")
    if is_busy(error):
        return Refused(f"{access.path} is busy: other processes used it for {number_text(access.timeout)} s")
    if _is_denied(error):
        return PermissionError(f"{access.path} can't be written: {error}")
    if isinstance(error, sqlite3.DataError):
        return InvalidArgument(f"content must fit into {access.path}: {error}")
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
        return Refused(f"{access.path} is damaged: {error}")
    return OSError(f"{access.path}: {error}")


def damaged(access: Access, what: str, fault: object) -> Refused:
    """Return the error for something in a file that was never written like that; SQLite did not notice."""
    return Refused(f"{access.path} is damaged: {what} can't be read ({fault!s:.80})")


def is_busy(error: sqlite3.Error) -> bool:
    """Say whether other processes are in the way (or were, while they made or recovered the log)."""
    return str(error).endswith(("is locked", "locking protocol"))


def _is_denied(error: sqlite3.Error) -> bool:
    """Say whether the file, or its folder, may not be written."""
    return str(error).startswith("attempt to write a readonly database")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def checked_access(path: Any, synchronous: Any, timeout: Any) -> Access:
    """Return the arguments of an engine's file, checked."""
    try:
        path = os.fsdecode(path)
    except TypeError:
        raise InvalidArgumentType(
            f"path must name a file, got {type(path).__name__} (MemoryEngine() is kept in memory)"
        ) from None
    if path in ("", ":memory:") or "\0" in path:
        raise InvalidArgument(f"path must name a file, got {path!r} (MemoryEngine() is kept in memory)")
    synchronous = choice("synchronous", synchronous, SYNCHRONOUS)
    return Access(os.path.realpath(path), synchronous, number("timeout", timeout, 0.0, 86400.0))
