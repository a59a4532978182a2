"""The bridge between ticks and milliseconds, and records lossless both ways."""

from __future__ import annotations

import errno
import json
import os
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryhalflife import Memory, MemoryEngine
from recolva import MemoryStore, prune_memories, score_memories
from recolva.adapters.ticks import EXTRA_FIELD, TickStore, export_jsonl, import_jsonl
from recolva.errors import InvalidRecord, Refused
from recolva.jsonl import scan_exponential_jsonl

MINUTE = 60_000


def read(path):
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def filled(new_engine):
    """Return an engine at tick 20 with two fresh memories and two old ones."""
    engine = new_engine(default_half_life=30)
    engine.store("old", {"text": "\u2028"}, tags=["t"])
    engine.store("older", None, half_life=99, threshold=0.25)
    engine.tick(20)
    engine.store("new", "text")
    engine.store("b c", [1, 2.5])
    engine.recall("b c")
    return engine


def test_an_engine_is_a_store(new_engine):
    """Scores of the store are those of the times that the ticks stand for."""
    store = TickStore(filled(new_engine), ms_per_tick=MINUTE)
    assert isinstance(store, MemoryStore)
    assert store.now_ms == 20 * MINUTE
    decisions = score_memories(
        store.get_memories(), model="exponential", now=store.now_ms, threshold=0.5, half_life_millis=10 * MINUTE
    )
    assert [(d.id, d.score, d.prune) for d in decisions] == [
        ("b c", 1.0, False),
        ("new", 1.0, False),
        ("old", 0.25, True),
        ("older", 0.25, True),
    ]


def prune(store, action):
    return prune_memories(
        store, model="exponential", now=store.now_ms, threshold=0.5, half_life_millis=10 * MINUTE, action=action
    )


def test_deleting_forgets(new_engine):
    """A prune that deletes forgets exactly what it decided to prune."""
    engine = filled(new_engine)
    prune(TickStore(engine, ms_per_tick=MINUTE), "delete")
    assert [memory.key for memory in engine.memories()] == ["b c", "new"]
    assert engine.entropy_score()["forgotten"] == 2


def test_a_wall_clock_is_refused(new_engine):
    """An engine's time is its own: by the wall clock every memory would be decades old, and go."""
    engine = new_engine()
    engine.store("a", "kept")
    store = TickStore(engine, ms_per_tick=60_000)
    policy = {"model": "exponential", "half_life_millis": 600_000, "threshold": 0.5, "action": "delete"}
    with pytest.raises(
        Refused, match="^now 1790000000000 is later than the clock of the store itself, 0: pass its now"
    ):
        prune_memories(store, now=1_790_000_000_000, **policy)
    assert [decision.prune for decision in prune_memories(store, now=store.now_ms, **policy)] == [False]
    assert engine.peek("a").content == "kept"


def test_archiving_writes_before_it_forgets(new_engine, tmp_path):
    """A prune that archives appends the memories to the archive; they can be read back."""
    engine = filled(new_engine)
    pruned = [engine.peek("old"), engine.peek("older")]
    archive = tmp_path / "archive.jsonl"
    archive.write_bytes(b'{"id": "earlier"}')
    prune(TickStore(engine, ms_per_tick=MINUTE, archive=archive), "archive")
    assert [record["id"] for record in read(archive)] == ["earlier", "old", "older"]
    assert [memory.key for memory in engine.memories()] == ["b c", "new"]
    archive.write_bytes(archive.read_bytes().split(b"\n", 1)[1])
    assert import_jsonl(engine, archive, ms_per_tick=MINUTE) == 2
    assert [engine.peek("old"), engine.peek("older")] == pruned


def test_a_failing_archive_forgets_nothing(new_engine, tmp_path):
    """If the archive can't be written, every memory stays."""
    engine = filled(new_engine)
    with pytest.raises((OSError, Refused)):
        prune(TickStore(engine, ms_per_tick=MINUTE, archive=tmp_path / "missing" / "archive.jsonl"), "archive")
    with pytest.raises(ValueError, match="archive must name a file"):
        prune(TickStore(engine, ms_per_tick=MINUTE), "archive")
    assert len(engine.memories()) == 4


def test_pruning_twice_succeeds(new_engine, tmp_path):
    """What is gone already is no error."""
    engine = filled(new_engine)
    store = TickStore(engine, ms_per_tick=MINUTE, archive=tmp_path / "archive.jsonl")
    store.archive_memories(["old", "gone"])
    store.archive_memories(["old"])
    store.delete_memories(["old", "gone"])
    assert [record["id"] for record in read(tmp_path / "archive.jsonl")] == ["old"]
    assert engine.peek("old") is None


def test_an_archive_gets_all_or_nothing(new_engine, tmp_path, monkeypatch):
    """If the disk fills up amid the records, none is left in the archive, and a retry archives each once."""
    engine, archive = filled(new_engine), tmp_path / "archive.jsonl"
    archive.write_bytes(b'{"id": "earlier"}')
    store = TickStore(engine, ms_per_tick=MINUTE, archive=archive)
    write, room = os.write, [10]

    def full(file, data):
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data[: room.pop()])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            store.archive_memories(["old", "older"])
    assert archive.read_bytes() == b'{"id": "earlier"}'
    assert len(engine.memories()) == 4
    store.archive_memories(["old", "older", "old"])
    assert [record["id"] for record in read(archive)] == ["earlier", "old", "older"]


def test_a_string_is_no_list_of_keys(new_engine, tmp_path):
    """archive_memories("ab") is an error, not two keys."""
    store = TickStore(new_engine(), ms_per_tick=MINUTE, archive=tmp_path / "archive.jsonl")
    for method in (store.archive_memories, store.delete_memories):
        with pytest.raises(TypeError, match="memory_ids must be a list of keys, got str"):
            method("ab")


def test_the_file_of_an_engine_is_no_archive(path):
    """An archive that is the engine's own file, or lies beside it for SQLite, is refused under any name."""
    alias = path.with_name("alias")
    alias.symlink_to(path)
    with MemoryEngine.open(path) as engine:
        engine.store("k", 1)
        for archive in (path, str(path), alias, f"{path}-wal", f"{path}-shm"):
            with pytest.raises(Refused, match="is the file in which the engine is kept"):
                TickStore(engine, ms_per_tick=MINUTE, archive=archive).archive_memories(["k"])
    with MemoryEngine.open(path) as engine:
        assert engine.peek("k").content == 1


def test_blank_keys_are_left_out(new_engine, tmp_path):
    """A key of blanks can't be an id: it is no candidate, and an export says so."""
    engine = new_engine()
    engine.store(" \t", 1)
    engine.store("a", 1)
    assert [record.id for record in TickStore(engine, ms_per_tick=1).get_memories()] == ["a"]
    with pytest.raises(ValueError, match="must not be blank"):
        export_jsonl(engine, tmp_path / "x.jsonl", ms_per_tick=1)
    assert list(tmp_path.iterdir()) == []


def test_memories_survive_a_round_trip(new_engine, tmp_path):
    """Export and import give the same memories, and the file can be scanned by recolva."""
    engine, path = filled(new_engine), tmp_path / "records.jsonl"
    assert export_jsonl(engine, path, ms_per_tick=MINUTE) == 4
    assert [entry.name for entry in tmp_path.iterdir()] == ["records.jsonl"]
    decisions = scan_exponential_jsonl(path, now=20 * MINUTE, half_life_millis=10 * MINUTE, threshold=0.5)
    assert [(d.id, d.prune) for d in decisions] == [("b c", False), ("new", False), ("old", True), ("older", True)]
    other = new_engine()
    other.tick(20)
    assert import_jsonl(other, path, ms_per_tick=MINUTE) == 4
    assert other.memories() == engine.memories()
    with pytest.raises(Refused, match="exists"):
        export_jsonl(engine, path, ms_per_tick=MINUTE)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=3), children, max_size=3),
    max_leaves=6,
)
records = st.fixed_dictionaries(
    {},
    optional={
        "last_accessed_ms": st.sampled_from([0, 60_007, 5 * MINUTE, -1, 10**15, 1.0, True]),
        "importance": st.sampled_from([0, 0.5, 1, 2, "high", None]),
        "id": st.just("other"),
        "content": values,
        EXTRA_FIELD: values,
        "text": values,
    },
)


@given(
    st.lists(
        st.tuples(
            values | records, st.sampled_from([(), ("jsonl",), ("a", "jsonl")]), st.booleans(), st.integers(0, 2)
        ),
        max_size=4,
    )
)
def test_any_content_survives_a_round_trip(memories):
    """Whatever the content looks like, also like a record that was accessed since, it comes back the same."""
    engine, other = MemoryEngine(default_half_life=100), MemoryEngine()
    for number, (content, tags, recalled, ticks) in enumerate(memories):
        engine.store(f"key {number}", content, tags=tags)
        engine.tick(ticks)
        if recalled:
            engine.recall(f"key {number}")
    other.tick(engine.now)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "records.jsonl")
        export_jsonl(engine, path, ms_per_tick=MINUTE)
        import_jsonl(other, path, ms_per_tick=MINUTE)
    assert repr(other.memories()) == repr(engine.memories())  # where 1, 1.0 and True differ


def test_records_survive_a_round_trip(new_engine, tmp_path):
    """Records of another store come out with every field they had, at their time to the millisecond."""
    records = [
        {"id": "b", "last_accessed_ms": 1_100_007, "importance": 0.25, "text": "\u2028", "tags": [1], "n": {"a": None}},
        {"content": "x", "last_accessed_ms": 0, "id": "a", "half_life": "mine"},
    ]
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    lines = ["", *map(json.dumps, records), "  "]
    source.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    engine = new_engine()
    engine.tick(20)
    assert import_jsonl(engine, source, ms_per_tick=MINUTE, half_life=99) == 2
    assert engine.peek("b").content["text"] == "\u2028"
    assert engine.peek("b").last_accessed_at == 18
    store = TickStore(engine, ms_per_tick=MINUTE)
    assert [(r.id, r.last_accessed_ms, r.importance) for r in store.get_memories()] == [
        ("a", 0, 1.0),
        ("b", 1_100_007, 0.25),
    ]
    export_jsonl(engine, target, ms_per_tick=MINUTE)
    exported = read(target)
    assert [{name: value for name, value in record.items() if name != EXTRA_FIELD} for record in exported] == [
        records[1],
        records[0],
    ]
    again = new_engine()
    again.tick(20)
    import_jsonl(again, target, ms_per_tick=MINUTE)
    assert again.memories() == engine.memories()
    engine.recall("b")
    assert store.get_memories()[1].last_accessed_ms == 20 * MINUTE


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('{"id": "a"}', "last_accessed_ms is missing"),
        ('{"id": "a", "last_accessed_ms": 1', "invalid JSON at byte 34: unexpected end of line"),
        ('{"id": "new", "last_accessed_ms": 1200000}', 'key "new" is in use'),
        (
            '{"id": "a", "last_accessed_ms": 1260000}',
            "last_accessed_ms 1260000 is tick 21, and the engine is at tick 20",
        ),
        ('{"id": "a", "last_accessed_ms": -1}', "last_accessed_ms -1 is tick -1, and the engine is at tick 20"),
        ('{"id": "a", "last_accessed_ms": 60000, "x": {"y": 1, "y": 2}}', "y occurs twice"),
        ('{"id": "a", "last_accessed_ms": 60000, "x": 1e400}', "content must be a JSON value, got Infinity"),
        (
            '{"id": "a", "last_accessed_ms": 60000, "memory_half_life": 1}',
            "memory_half_life must be an object, got int",
        ),
        (
            '{"id": "a", "last_accessed_ms": 60000, "memory_half_life": {"last_accessed_at": 2}}',
            "last_accessed_ms 60000 is tick 1, not 2",
        ),
        (
            '{"id": "a", "last_accessed_ms": 60000, "memory_half_life": {"last_accessed_at": 1}}',
            "access_count is missing",
        ),
    ],
)
def test_a_bad_record_imports_nothing(new_engine, tmp_path, line, text):
    """A record at fault is named by its line, and no other is imported."""
    engine = filled(new_engine)
    before = engine.to_dict()
    path = tmp_path / "in.jsonl"
    path.write_text('{"id": "good", "last_accessed_ms": 1200000}\n\n' + line + "\n")
    with pytest.raises(InvalidRecord) as caught:
        import_jsonl(engine, path, ms_per_tick=MINUTE)
    assert str(caught.value) == f"line 3: {text}"
    assert caught.value.line == 3
    assert engine.to_dict() == before


def test_a_record_that_would_have_expired_is_refused(new_engine, tmp_path):
    """An import does not lose a record silently: it says when it would have expired."""
    engine = new_engine()
    engine.tick(1000)
    path = tmp_path / "in.jsonl"
    path.write_text('{"id": "a", "last_accessed_ms": 0}\n')
    with pytest.raises(InvalidRecord, match='line 1: memory "a" expired at tick 34, and now is 1000'):
        import_jsonl(engine, path, ms_per_tick=MINUTE)
    assert import_jsonl(engine, path, ms_per_tick=MINUTE, half_life=1000) == 1


def test_seconds_are_refused(new_engine, tmp_path):
    """A time that looks like seconds is refused, unless milliseconds are insisted on."""
    engine = new_engine(default_half_life=10**9)
    engine.tick(1_750_000_000_000 // MINUTE)
    path = tmp_path / "in.jsonl"
    path.write_text('{"id": "a", "last_accessed_ms": 1750000000}\n')
    with pytest.raises(Refused, match="line 1: last_accessed_ms 1750000000 looks like seconds"):
        import_jsonl(engine, path, ms_per_tick=MINUTE)
    assert import_jsonl(engine, path, ms_per_tick=MINUTE, time_unit="ms") == 1


def test_ticks_worth_too_much_are_refused(new_engine):
    """Times must fit 64 bits, and a tick must be worth something."""
    engine = new_engine()
    engine.tick(2**52)
    store = TickStore(engine, ms_per_tick=2**20)
    with pytest.raises(ValueError, match="ms_per_tick must keep tick 4503599627370496 at or below"):
        store.now_ms
    for value in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="ms_per_tick must be"):
            TickStore(engine, ms_per_tick=value)


def test_restore_checks_what_it_keeps(new_engine):
    """A memory can be put back as it was, under a free key, while it lives; a batch survives a refusal."""
    engine = new_engine()
    engine.tick(50)
    memory = Memory("k", [1], 10, 20, 30, 4, ("t",), 0.1)
    with engine.batch():
        engine.restore(memory)
        for bad, text in [
            (memory, 'key "k" is in use'),
            (Memory("l", 1, 10, 0, 51), "last_accessed_at must be between 0 and 50, got 51"),
            (Memory("l", 1, 10, 0, 16), 'memory "l" expired at tick 50, and now is 50'),
        ]:
            with pytest.raises(ValueError) as caught:
                engine.restore(bad)
            assert str(caught.value) == text
    with pytest.raises(TypeError, match="memory must be a Memory, got dict"):
        engine.restore({})
    assert engine.peek("k") == memory
    assert engine.tick(14) == [("k", 64)]
