"""Faults that version 0.1 of memory-half-life had, each with the right outcome."""

from __future__ import annotations

import pytest

from memoryhalflife import MemoryEngine


def test_expired_memories_are_freed(new_engine):
    """1,000 memories after 10,000 ticks: none is held anywhere."""
    engine = new_engine()
    with engine.batch():
        for i in range(1000):
            engine.store(f"k{i}", "permanently forgotten")
    assert len(engine.tick(10_000)) == 1000
    assert "permanently" not in str(engine.to_dict())
    assert list(engine._store.entries()) == []


def test_a_long_tick_takes_no_room(new_engine):
    """tick(1,000,000) makes no object per tick."""
    engine = new_engine()
    engine.store("k", 1)
    tracemalloc = pytest.importorskip("tracemalloc", reason="this Python counts no memory")
    tracemalloc.start()
    try:
        engine.tick(1_000_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100_000


def test_forgetting_leaves_no_tombstone(new_engine):
    """What was forgotten is no mass and no entry."""
    engine = new_engine()
    engine.store("k", 1)
    engine.forget("k")
    assert engine.entropy_score()["mass"] == 0
    assert engine.to_dict()["memories"] == {}


def test_entropy_rises_while_memories_decay(new_engine):
    """The score of 100 decaying memories rises with every tick until they are gone."""
    engine = new_engine()
    with engine.batch():
        for i in range(100):
            engine.store(f"k{i}", i)
    scores = []
    for _ in range(34):
        scores.append(engine.entropy_score()["score"])
        engine.tick()
    assert scores == sorted(set(scores))
    assert scores[0] == 0.0
    assert scores[-1] > 0.89
    assert engine.entropy_score()["score"] == 0.0


def test_a_newline_does_not_overwrite_another_key(new_engine):
    r"""The strings "a" and "a\n" are two keys."""
    engine = new_engine()
    engine.store("a", "first")
    engine.store("a\n", "second")
    assert engine.peek("a").content == "first"


def test_defaults_survive_a_dump():
    """A loaded engine gives new memories the TTL that the dumped one gave."""
    engine = MemoryEngine(default_half_life=99, default_threshold=0.25, grace_ticks=7)
    loaded = MemoryEngine.from_dict(engine.to_dict())
    assert loaded.store("k", 1).ttl() == engine.store("k", 1).ttl() == 198
    assert loaded.grace_ticks == 7


def test_a_string_is_no_list_of_tags(new_engine):
    """tags="abc" is an error, not three tags."""
    with pytest.raises(TypeError, match="tags must be a list of strings, got str"):
        new_engine().store("k", 1, tags="abc")


def test_expiry_and_confidence_agree(new_engine):
    """A memory lives while its confidence is above the threshold, and not at it."""
    engine = new_engine()
    for half_life in range(1, 40):
        for threshold in (0.5, 0.25, 0.1, 0.9):
            engine.store("k", 1, half_life=half_life, threshold=threshold)
            started = engine.now
            memory = engine.peek("k")
            engine.tick(memory.ttl() - 1)
            assert engine.peek("k").confidence(engine.now) > threshold
            assert engine.tick() == [("k", started + memory.ttl())]
            assert memory.confidence(engine.now) <= threshold


def test_an_engine_that_could_store_nothing_is_not_made():
    """default_threshold=1.0 is refused when the engine is made."""
    with pytest.raises(ValueError, match="default_threshold must be greater than 0 and less than 1, got 1"):
        MemoryEngine(default_threshold=1.0)
