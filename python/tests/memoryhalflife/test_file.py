"""The file of an engine: what is refused and left alone, what it holds, how it is shared."""

from __future__ import annotations

import os
import random
import sqlite3
import sys
from contextlib import closing

import pytest

from memoryhalflife import MemoryEngine, _database, _sqlite
from memoryhalflife._database import APPLICATION_ID
from memoryhalflife._sqlite import SqliteStore
from recolva.errors import Refused
from tests.memoryhalflife.files import assert_refused, contents, filled


def test_everything_is_there_after_reopening(path):
    """Memories, clock, counters and settings come back from the file."""
    with MemoryEngine.open(path, default_half_life=7, default_threshold=0.3, grace_ticks=2) as engine:
        engine.store("a", {"x": [1, 2.5, None]}, tags=["t"])
        engine.store("b", 1, half_life=1)
        engine.store("c", 1)
        engine.forget("c")
        engine.tick(3)
        state = engine.to_dict()
        assert sorted(state["grace"]) == ["b"]
    with MemoryEngine.open(path) as engine:
        assert engine.to_dict() == state
        assert engine.revive("b").key == "b"


def test_closing_leaves_one_file(path):
    """No journal, log or shared memory stays beside a closed file."""
    filled(path)
    assert [entry.name for entry in path.parent.iterdir()] == ["agent.db"]


def test_what_was_forgotten_is_not_in_the_file(path):
    """After closing, no byte of a forgotten or expired memory is left on the disk."""
    with MemoryEngine.open(path, grace_ticks=1) as engine:
        for i in range(50):
            engine.store(f"forgotten-key-{i}", f"first secret {i} " * 20)
            engine.store(f"expired-key-{i}", f"second secret {i} " * 20, half_life=1)
        engine.store("kept", "kept content")
        engine.tick(5)
        for i in range(50):
            engine.forget(f"forgotten-key-{i}")
    data = path.read_bytes()
    assert b"kept content" in data
    assert b"secret" not in data
    assert b"forgotten-key" not in data
    assert b"expired-key" not in data


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"default_half_life": 11}, "default_half_life must be 7 as in "),
        ({"default_threshold": 0.2}, "default_threshold must be 0.1 as in "),
        ({"grace_ticks": 1}, "grace_ticks must be 0 as in "),
    ],
)
def test_other_settings_than_the_files_are_an_error(path, arguments, text):
    """Settings given at opening must be those that the file was made with."""
    filled(path, default_half_life=7)
    before = contents(path.parent)
    with pytest.raises(ValueError, match="as in") as caught:
        MemoryEngine.open(path, **arguments)
    assert str(caught.value).startswith(text)
    assert contents(path.parent) == before
    MemoryEngine.open(path, default_half_life=7, default_threshold=0.1, grace_ticks=0).close()


def test_text_is_refused(path):
    """A file that is no database stays as it is."""
    path.write_text("# my notes\n" * 100)
    assert_refused(path, "is not a database of memories")


def test_a_short_file_is_refused(path):
    """A file too short for a header stays as it is."""
    path.write_bytes(b"SQLite format 3\0")
    assert_refused(path, "is not a database of memories")


def test_a_foreign_database_is_refused(path):
    """Another program's database stays as it is."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE memory (x)")
        connection.commit()
    assert_refused(path, "is a database of another program (application id 0)")


def test_a_newer_file_is_refused(path):
    """A layout of the future stays as it is."""
    with closing(sqlite3.connect(filled(path))) as connection:
        connection.execute("PRAGMA user_version = 2")
    assert_refused(path, "was written by a newer version of this program (layout 2, known up to 1)")


def test_a_file_without_tables_is_refused(path):
    """A database that only claims to be ours is called damaged."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 1")
        connection.execute("CREATE TABLE other (x)")
        connection.commit()
    assert_refused(path, "is damaged")


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_file_is_refused(path, seed):
    """Pages overwritten with noise, or cut off, are found at opening; the file stays as it is."""
    rng = random.Random(seed)
    data = bytearray(filled(path).read_bytes())
    page = 4096 * rng.randrange(1, len(data) // 4096)
    if seed % 3 == 2:
        del data[page:]
    else:
        data[page : page + 4096] = rng.randbytes(4096) if seed % 3 else bytes(4096)
    path.write_bytes(data)
    assert_refused(path, "is damaged")


def test_a_damaged_file_with_a_log_is_refused(path):
    """Beside a log that a crash left behind, a damaged file and its log stay as they are."""
    filled(path)
    with MemoryEngine.open(path) as engine:
        engine.store("in the log", 1)
        copies = contents(path.parent)
    log, data = copies["agent.db-wal"], bytearray(copies["agent.db"])
    logged = {int.from_bytes(log[start : start + 4], "big") for start in range(32, len(log), 24 + 4096)}
    page = max(set(range(1, len(data) // 4096 + 1)) - logged)
    data[4096 * (page - 1) : 4096 * page] = bytes(4096)
    folder = path.parent / "crashed"
    folder.mkdir()
    (folder / "agent.db").write_bytes(data)
    (folder / "agent.db-wal").write_bytes(copies["agent.db-wal"])
    with pytest.raises(Refused, match="is damaged"):
        MemoryEngine.open(folder / "agent.db")
    assert (folder / "agent.db").read_bytes() == data
    assert (folder / "agent.db-wal").read_bytes() == copies["agent.db-wal"]


@pytest.mark.parametrize("cut", [False, True])
def test_a_log_left_by_a_crash_is_used(path, cut):
    """What only the log holds is there after the crash, also after one while it was moved."""
    with MemoryEngine.open(path) as engine:
        engine.store("in the log", 1)
        for i in range(200):
            engine.store(f"key-{i}", "x" * 100)
        copies = contents(path.parent)
    folder = path.parent / "crashed"
    folder.mkdir()
    for name in ("agent.db", "agent.db-wal"):
        (folder / name).write_bytes(copies[name])
    if cut:  # in the middle of moving the log into the file: the first page says that it is longer
        log = copies["agent.db-wal"]
        frames = [log[start : start + 24 + 4096] for start in range(32, len(log), 24 + 4096)]
        first = [frame[24:] for frame in frames if frame[:4] == b"\0\0\0\1"][-1]
        assert int.from_bytes(first[28:32], "big") > len(copies["agent.db"]) // 4096
        (folder / "agent.db").write_bytes(first + copies["agent.db"][4096:])
    with MemoryEngine.open(folder / "agent.db") as engine:
        assert engine.peek("in the log").content == 1


@pytest.mark.parametrize("pages", [1, 3, 6])
def test_a_file_whose_making_was_cut_short_is_made_anew(path, pages):
    """A journal from the first transaction takes back what was written of it."""
    filled(path, count=0)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        data = path.read_bytes()
    with closing(sqlite3.connect(path.with_name("other.db"), isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("CREATE TABLE t (x)")
        connection.execute("PRAGMA cache_size = 0")
        connection.execute("INSERT INTO t VALUES (zeroblob(100000))")  # more than the cache: it is written
        journal = path.with_name("other.db-journal").read_bytes()
        connection.execute("ROLLBACK")
    path.write_bytes(data[: 4096 * pages])
    path.with_name("agent.db-journal").write_bytes(journal)
    with MemoryEngine.open(path, default_half_life=3) as engine:
        assert engine.store("a", 1).half_life == 3
    with MemoryEngine.open(path) as engine:
        assert engine.peek("a").half_life == 3


def test_an_empty_file_is_a_new_one(path):
    """A file of no bytes, as mkstemp makes it, becomes an engine."""
    path.touch()
    with MemoryEngine.open(path, default_half_life=3) as engine:
        engine.store("a", 1)
    with MemoryEngine.open(path) as engine:
        assert engine.peek("a").half_life == 3


def test_other_things_than_files_are_refused(tmp_path):
    """A directory, a missing directory: each has its own words."""
    with pytest.raises(Refused, match="is not a regular file"):
        MemoryEngine.open(tmp_path)
    with pytest.raises(FileNotFoundError, match="is not a directory"):
        MemoryEngine.open(tmp_path / "missing" / "agent.db")


@pytest.mark.skipif(sys.platform == "win32", reason="an open file can't be removed there")
@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_removed_takes_no_more(path, replaced):
    """What would go into a file without a name is refused, not acknowledged and lost."""
    with MemoryEngine.open(path) as engine:
        engine.store("a", 1)
        path.unlink()
        if replaced:
            path.touch()
        for work in (lambda: engine.store("b", 2), engine.tick):
            with pytest.raises(Refused, match="was removed or replaced while it was open"):
                work()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_that_leads_nowhere_is_an_oserror(path):
    """A loop of links fails as the operating system says; a link to a new file makes that file."""
    path.symlink_to(path)
    with pytest.raises(OSError, match="symbolic links"):
        MemoryEngine.open(path)
    link = path.with_name("link")
    link.symlink_to(path.with_name("real.db"))
    MemoryEngine.open(link).close()
    assert (link.is_symlink(), path.with_name("real.db").is_file()) == (True, True)


def test_odd_file_names_are_kept(tmp_path):
    """Names that mean something in a URI name files all the same."""
    for name in ("a?mode=ro.db", "b#c.db", "100%25.db", "d e.db", "ü.db"):
        MemoryEngine.open(tmp_path / name).close()
        assert (tmp_path / name).is_file()
        MemoryEngine.open(str(tmp_path / name)).close()
    assert len(list(tmp_path.iterdir())) == 5


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_is_another_name(path):
    """A file opened through a symbolic link is the file; the link stays one."""
    link = path.parent / "link.db"
    link.symlink_to(path)
    with MemoryEngine.open(link) as one, MemoryEngine.open(path) as two:
        one.store("a", 1)
        assert two.recall("a").access_count == 1
    assert link.is_symlink()
    assert sorted(contents(path.parent)) == ["agent.db", "link.db"]


def test_a_busy_file_is_refused_in_time(path):
    """When another connection writes for longer than the timeout, the text says so."""
    with MemoryEngine.open(path) as one, MemoryEngine.open(path, timeout=0.05) as other:
        with one.batch(), pytest.raises(Refused, match=r"is busy: other processes used it for 0\.05 s"):
            other.store("a", 1)
        assert other.store("a", 1).key == "a"
        assert one.peek("a").key == "a"


def test_two_engines_of_one_file_see_each_other(path):
    """Two connections share clock, memories and counters."""
    with MemoryEngine.open(path) as one, MemoryEngine.open(path) as two:
        one.store("a", 1)
        assert two.recall("a").access_count == 1
        assert one.recall("a").access_count == 2
        two.tick(5)
        assert one.now == 5
        assert one.tick(28) == []
        assert two.tick(5) == [("a", 34)]
        assert one.peek("a") is None


def test_a_full_disk_is_an_oserror(path):
    """When SQLite can't write, the operation fails as a whole and the engine goes on."""
    with MemoryEngine.open(path) as engine:
        engine.store("a", "old")
        pages = engine._store._connection.execute("PRAGMA page_count").fetchone()[0]
        engine._store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(OSError, match="is full"):
            engine.store("a", "x" * 100_000)
        with pytest.raises(OSError, match="is full"), engine.batch():
            engine.store("b", 1)
            engine.store("a", "x" * 100_000)
        assert engine.peek("a").content == "old"
        assert engine.peek("b") is None
        assert engine.recall("a").access_count == 1


def test_dumps_move_between_memory_and_file(path):
    """from_dict puts a dump into a new file, and never over an old one."""
    engine = MemoryEngine(default_half_life=4, grace_ticks=8)
    engine.store("a", {"b": 1})
    engine.store("c", 1, half_life=1)
    engine.tick(4)
    state = engine.to_dict()
    with MemoryEngine.from_dict(state, path=path) as kept:
        assert kept.to_dict() == state
    with pytest.raises(ValueError, match="path must be a new file"):
        MemoryEngine.from_dict(state, path=path)
    for other in (MemoryEngine(), MemoryEngine(default_half_life=4, grace_ticks=8)):
        with pytest.raises(ValueError, match=r"must be .*agent\.db|path must be a new file"):
            MemoryEngine.from_dict(other.to_dict(), path=path)
    with MemoryEngine.open(path) as kept:
        assert MemoryEngine.from_dict(kept.to_dict()).to_dict() == state
        assert "agent.db" in repr(kept)


def test_a_dump_that_failed_to_move_can_be_moved_again(path, monkeypatch):
    """If a dump can't be written, nothing of it is in the file, nothing is left open, and a retry succeeds."""
    engine = MemoryEngine()
    engine.store("a", 1)

    def full(*_):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "put", full)
        with pytest.raises(OSError, match="database or disk is full"):
            MemoryEngine.from_dict(engine.to_dict(), path=path)
    assert [entry.name for entry in path.parent.iterdir()] == ["agent.db"]
    with MemoryEngine.from_dict(engine.to_dict(), path=path) as kept:
        assert kept.to_dict() == engine.to_dict()


@pytest.mark.skipif(sys.platform == "win32" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_an_unreadable_file_is_an_oserror(path):
    """Without permission, opening fails as the operating system says."""
    filled(path).chmod(0o200)
    with pytest.raises(OSError, match="unable to open"):
        MemoryEngine.open(path)


@pytest.mark.skipif(
    sys.platform == "win32" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes all"
)
@pytest.mark.parametrize("part", ["file", "folder"])
def test_a_file_that_may_not_be_written_is_an_oserror(path, part):
    """Without leave to write, a sound file is not called damaged, and nothing is left beside it."""
    filled(path)
    before = contents(path.parent)
    (path if part == "file" else path.parent).chmod(0o444 if part == "file" else 0o555)
    with pytest.raises(PermissionError, match="can't be written: "):
        MemoryEngine.open(path)
    assert contents(path.parent) == before


def test_a_readonly_database_is_not_called_damaged(path, monkeypatch):
    """What SQLite says of a file that may not be written becomes a PermissionError, also for root."""
    filled(path)
    connection = _database._connection

    def readonly(access, mode):
        return connection(access, mode if "immutable" in mode else "ro")

    monkeypatch.setattr(_database, "_connection", readonly)
    with MemoryEngine.open(path) as engine, pytest.raises(PermissionError, match="can't be written"):
        engine.tick()


@pytest.mark.parametrize(("synchronous", "level"), [("FULL", 2), ("NORMAL", 1), ("OFF", 0)])
def test_commits_are_as_durable_as_asked(path, synchronous, level):
    """SQLite is told how commits are to be kept, logs ahead, and erases what is deleted; reconnecting too."""
    with MemoryEngine.open(path, synchronous=synchronous) as engine:
        for _ in range(2):
            execute = engine._store._connection.execute
            for name, value in [("synchronous", level), ("journal_mode", "wal"), ("secure_delete", 1)]:
                assert execute(f"PRAGMA {name}").fetchone()[0] == value
            engine._store.before_fork()  # closes the connection; the next operation makes another
            engine.tick()


@pytest.mark.parametrize("statement", [_sqlite._DUE, _sqlite._REST, _sqlite._GONE])
def test_expiring_looks_only_at_what_is_due(path, statement):
    """The statements of a tick find what is due by the index, and never go through all memories."""
    with MemoryEngine.open(path) as engine:
        values = (1,) * statement.count("?")
        plan = engine._store._connection.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall()
    assert [row[3].replace("TABLE ", "") for row in plan] == ["SEARCH memory USING INDEX memory_due (due_at<?)"]
