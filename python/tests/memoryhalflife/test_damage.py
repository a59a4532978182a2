"""Damaged files: refused when they are opened, or at the latest when the damage is read."""

from __future__ import annotations

import random
import sqlite3
import sys
from contextlib import closing, suppress

import pytest

from memoryhalflife import MemoryEngine
from recolva.errors import InvalidArgument, Refused
from tests.memoryhalflife.files import assert_refused, contents, filled


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bits_are_refused_or_unnoticed(path, seed):
    """A file with flipped bits gives answers or is refused, at the latest when they are read; it raises nothing else."""
    dice = random.Random(seed)
    content = bytearray(filled(path, 40, grace_ticks=2).read_bytes())
    for _ in range(dice.choice((1, 1, 3, 40))):
        content[dice.randrange(100, len(content))] ^= 1 << dice.randrange(8)
    path.write_bytes(content)
    before = contents(path.parent)
    try:
        engine = MemoryEngine.open(path)
    except Refused:
        assert contents(path.parent) == before
        return
    with engine:
        for work in (engine.to_dict, engine.memories, engine.entropy_score, lambda: engine.tick(10**6)):
            with suppress(Refused):
                work()


@pytest.mark.parametrize("part", [1, 90, 99, 4095, 4097, 20_000, -1, -100])
def test_a_file_that_is_cut_short_is_refused(path, part):
    """A file that lost its end is refused, even where SQLite would read zeros instead."""
    content = filled(path).read_bytes()
    path.write_bytes(content[:part])
    assert_refused(path, "agent.db")


DAMAGES = {
    "tables": ("PRAGMA user_version = 1; DROP INDEX memory_due", "its tables are not those of this program"),
    "clock": ("UPDATE engine SET now = -1", "now must be between 0 and 9007199254740991, got -1"),
    "clock's type": ("UPDATE engine SET now = 'x'", "now must be an integer, got str"),
    "settings": ("UPDATE engine SET default_half_life = 0", "default_half_life must be between 1 and"),
    "no clock": ("DELETE FROM engine", "the settings can't be read"),
}


@pytest.mark.parametrize(("statement", "text"), DAMAGES.values(), ids=DAMAGES)
def test_what_was_never_written_is_refused(path, statement, text):
    """SQLite's own check does not know which values an engine may have; ours does."""
    with closing(sqlite3.connect(filled(path))) as connection:
        connection.executescript(statement)
    assert_refused(path, text)


@pytest.mark.parametrize("index", ["memory_due", "sqlite_autoindex_memory_1"])
def test_an_index_that_is_older_than_its_table_is_refused(path, index):
    """A page that the disk did not write is found at opening: memories would expire at another tick, or not be found."""
    before = filled(path, 40).read_bytes()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (index,)).fetchone()[0]
        connection.execute("UPDATE memory SET due_at = due_at + 1000, key = 'other' WHERE key = 'key-7'")
    after = path.read_bytes()
    start, end = 4096 * (page - 1), 4096 * page
    assert before[start:end] != after[start:end]
    path.write_bytes(after[:start] + before[start:end] + after[end:])
    assert_refused(path, "is damaged: row 8 missing from index")


@pytest.mark.parametrize(
    "change",
    [
        "content = '{\"a\":'",
        "content = x'ff'",
        "content = CAST(x'22ff22' AS TEXT)",
        "tags = '[5'",
        "half_life = 0",
        "half_life = 'x'",
        "threshold = 1.6",
        "created_at = -1",
        "last_accessed_at = created_at - 1",
        "access_count = 0.5",
        "key = x'ff'",
        "expired_at = 'x'",
    ],
)
def test_a_memory_that_was_never_written_is_refused_when_it_is_read(path, change):
    """A memory that can't be one is never handed out; the error names the file and shows no content."""
    filled(path, 3)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE memory SET {change} WHERE key = 'key-1'")  # noqa: S608 - the changes above
        connection.commit()
    with MemoryEngine.open(path) as engine:
        for work in (engine.memories, engine.to_dict):
            with pytest.raises(
                Refused, match=r"agent\.db is damaged: (a memory can't be read|a text in it is not UTF-8)"
            ):
                work()
        assert engine.peek("key-0").key == "key-0"


def test_a_key_that_was_never_written_does_not_expire(path):
    """A damaged key is refused before anything of the tick is kept."""
    filled(path, 3)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE memory SET key = x'ff' WHERE key = 'key-1'")
        connection.commit()
    with MemoryEngine.open(path) as engine:
        with pytest.raises(Refused, match="is damaged: a key can't be read"):
            engine.tick(100)
        assert engine.now == 3


@pytest.mark.skipif(sys.version_info < (3, 11), reason="needs Connection.setlimit")
def test_content_that_no_file_can_hold_is_refused(path):
    """What SQLite can't take is the fault of the content, not a damage of the file."""
    with MemoryEngine.open(path) as engine:
        engine._store._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1000)
        with pytest.raises(InvalidArgument, match="content must fit into .*: string or blob too big"):
            engine.store("k", "x" * 2000)
        engine.store("k", "x")
