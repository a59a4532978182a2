"""The schedule and the store below the engine."""

from __future__ import annotations

import random
import sys

import pytest

from memoryhalflife._runtime import Expired, ExpiringStore, Schedule


def test_keys_come_out_by_tick_then_by_key():
    """Keys are due in the order of ticks, and of keys within a tick."""
    schedule = Schedule()
    for key, due in [("b", 7), ("c", 3), ("a", 7), ("d", 9)]:
        schedule.add(key, due)
    assert schedule.pop_due(8) == (3, ["c"])
    assert schedule.pop_due(8) == (7, ["a", "b"])
    assert schedule.pop_due(8) is None


def test_a_removed_key_is_not_due():
    """A key that was removed does not come out, and its tick is passed over."""
    schedule = Schedule()
    schedule.add("a", 1)
    schedule.remove("a", 1)
    schedule.add("b", 2)
    assert schedule.pop_due(5) == (2, ["b"])


def test_empty_ticks_stay_bounded():
    """However often keys move, the heap holds at most twice as many ticks as keys, and a few."""
    schedule, due = Schedule(), {}
    for i in range(100):
        schedule.add(str(i), i)
        due[str(i)] = i
    rng = random.Random(4)
    for step in range(100, 20_000):
        key = str(rng.randrange(100))
        schedule.remove(key, due[key])
        schedule.add(key, step)
        due[key] = step
        assert len(schedule) <= 2 * 100 + 66
    popped = []
    while (first := schedule.pop_due(10**12)) is not None:
        popped += [(first[0], key) for key in first[1]]
    assert popped == sorted((tick, key) for key, tick in due.items())
    assert len(schedule) == 0


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="other Pythons don't tell the size of an object")
def test_an_empty_tick_takes_no_room():
    """A tick that many keys have left does not keep the room that they needed."""
    schedule = Schedule()
    for i in range(10_000):
        schedule.add(str(i), 5)
    for i in range(10_000):
        schedule.remove(str(i), 5)
    assert sum(map(sys.getsizeof, schedule._keys.values())) < 1000


def test_a_rollback_restores_entries_and_schedule():
    """After a rollback everything expires as if nothing had happened."""
    store = ExpiringStore()
    store.put("a", 1, 5)
    store.put("b", 2, 6)
    store.begin(write=True)
    store.expire(5, 0)
    store.put("b", 3, 9)
    store.put("c", 4, 4)
    store.remove("c")
    store.clock = store.clock._replace(now=5)
    store.rollback()
    assert store.clock.now == 0
    assert store.expire(10, 0) == [Expired("a", 5), Expired("b", 6)]
    assert list(store.entries()) == []


def test_an_expired_entry_rests_for_its_grace():
    """With a grace an entry is kept, marked, and goes when the grace is over."""
    store = ExpiringStore()
    store.put("a", 1, 5)
    assert store.expire(5, 3) == [Expired("a", 5)]
    assert store.get("a") == (1, 5)
    assert store.expire(7, 3) == []
    assert store.get("a") == (1, 5)
    assert store.expire(8, 3) == []
    assert store.get("a") is None
