"""What an engine does around its operations: callbacks, batches, closing, threads, coroutines."""

from __future__ import annotations

import asyncio
import sys
import threading

import pytest


def keys(memories):
    return [memory.key for memory in memories]


def test_on_expire_sees_the_tick_complete(new_engine):
    """The callback finds the new tick and may use the engine."""
    seen = []

    def note(event):
        seen.append((event, engine.now, engine.peek(event.key)))
        engine.revive(event.key)

    engine = new_engine(default_half_life=1, default_threshold=0.5, grace_ticks=9, on_expire=note)
    engine.store("b", 1)
    engine.store("a", 1)
    assert engine.tick(2) == [("a", 1), ("b", 1)]
    assert seen == [(("a", 1), 2, None), (("b", 1), 2, None)]
    assert keys(engine.memories()) == ["a", "b"]


def test_on_expire_may_fail(new_engine):
    """An exception of the callback reaches the caller; everything else has happened."""
    seen = []

    def fail(event):
        seen.append(event.key)
        raise KeyError(event.key)

    engine = new_engine(on_expire=fail)
    for key in "ab":
        engine.store(key, 1)
    with pytest.raises(KeyError, match="a"):
        engine.tick(50)
    assert seen == ["a", "b"]
    assert engine.now == 50
    assert engine.memories() == []


def test_on_expire_runs_outside_the_lock(new_engine):
    """Another thread can use the engine while the callback runs."""
    answers = []

    def ask(_):
        thread = threading.Thread(target=lambda: answers.append(engine.now))
        thread.start()
        thread.join(10)

    engine = new_engine(on_expire=ask)
    engine.store("k", 1)
    engine.tick(34)
    assert answers == [34]


def test_a_batch_is_undone_as_a_whole(new_engine):
    """An exception inside a batch takes back everything in it, the clock too, and tells nobody."""
    told = []
    engine = new_engine(default_half_life=1, default_threshold=0.25, grace_ticks=1, on_expire=told.append)
    for key in "abc":
        engine.store(key, key)
    before = engine.to_dict()

    class StopError(Exception):
        pass

    def work():
        with engine.batch():
            engine.recall("a")
            engine.forget("b")
            engine.store("c", "other")
            engine.store("d", "new")
            assert engine.tick(4) == [(key, 2) for key in "acd"]
            engine.store("a", "again")
            raise StopError

    with pytest.raises(StopError):
        work()
    assert engine.to_dict() == before
    assert told == []
    assert engine.tick(2) == [("a", 2), ("b", 2), ("c", 2)]


def test_a_batch_reports_at_its_end(new_engine):
    """In a batch tick returns what expired at once; the callback waits for the batch to be kept."""
    told = []
    engine = new_engine(default_half_life=1, default_threshold=0.5, on_expire=told.append)
    with engine.batch() as same, engine.batch():
        assert same is engine
        engine.store("a", 1)
        assert engine.tick(1) == [("a", 1)]
        assert told == []
    assert told == [("a", 1)]
    assert engine.now == 1


def test_a_failed_inner_batch_fails_the_outer(new_engine):
    """A batch in a batch is part of it: it can't be undone alone."""
    engine = new_engine()

    def work():
        with engine.batch():
            engine.store("a", 1)
            try:
                with engine.batch():
                    raise KeyError("x")
            except KeyError:
                pass

    with pytest.raises(RuntimeError, match="the batch failed and was rolled back"):
        work()
    assert engine.memories() == []
    engine.store("b", 1)
    assert keys(engine.memories()) == ["b"]


def test_a_closed_engine_says_so(new_engine):
    """After close, every operation is an error; closing again is not."""
    with new_engine() as engine:
        engine.store("k", 1)
    engine.close()
    for call in (engine.tick, engine.memories, lambda: engine.store("k", 1), lambda: engine.now):
        with pytest.raises(ValueError, match="the engine is closed"):
            call()


def test_an_engine_is_not_closed_inside_a_batch(new_engine):
    """Close inside a batch is refused."""
    engine = new_engine()
    with engine.batch(), pytest.raises(ValueError, match="can't be closed inside a batch"):
        engine.close()
    engine.tick()


def test_threads_lose_nothing(new_engine):
    """Recalls, stores and ticks of several threads add up."""
    engine = new_engine(default_half_life=10**6)
    engine.store("shared", 0)
    errors = []

    def work(name):
        try:
            for i in range(150):
                engine.recall("shared")
                engine.store(f"{name}-{i}", i)
                engine.tick(1)
                if i % 50 == 0:
                    engine.memories()
                    engine.entropy_score()
                    engine.to_dict()
        except Exception as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(interval)
    assert errors == []
    assert engine.now == 600
    assert engine.peek("shared").access_count == 600
    assert len(engine.memories()) == 601


def test_coroutines_lose_nothing(new_engine):
    """Coroutines that call the engine as it is, or in a thread, add up; the loop is free meanwhile."""
    engine = new_engine(default_half_life=10**6)
    engine.store("shared", 0)
    turns = []

    async def direct(name):
        for i in range(50):
            engine.recall("shared")
            engine.store(f"{name}-{i}", i)
            engine.tick()
            await asyncio.sleep(0)

    async def threaded(name):
        loop = asyncio.get_running_loop()
        for i in range(50):
            await loop.run_in_executor(None, engine.recall, "shared")
            await loop.run_in_executor(None, engine.store, f"{name}-{i}", i)
            await loop.run_in_executor(None, engine.tick)

    async def beat():
        while True:
            turns.append(engine.now)
            await asyncio.sleep(0.001)

    async def everything():
        pulse = asyncio.ensure_future(beat())
        await asyncio.gather(direct("a"), threaded("b"), direct("c"), threaded("d"))
        pulse.cancel()

    asyncio.run(everything())
    assert engine.now == 200
    assert engine.peek("shared").access_count == 200
    assert len(engine.memories()) == 201
    assert turns == sorted(turns)
    assert len(turns) > 1
