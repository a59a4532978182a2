"""The engine's contract: every test here holds in memory and in a file."""

from __future__ import annotations

import pickle

import pytest

from memoryhalflife import Expired, Memory, MemoryEngine
from recolva import exponential_score

LIMIT = 2**53 - 1


def keys(memories):
    return [memory.key for memory in memories]


def test_documented_example(new_engine):
    """The library example of the document gives what its comments say."""
    eng = new_engine(default_half_life=10)
    eng.store("user-name", "Alice")
    eng.store("api-key", "sk-1234", half_life=5)
    assert eng.tick(8) == []
    user = eng.recall("user-name")
    assert user.confidence(eng.now) == 1.0
    assert eng.peek("api-key").ttl() == 17
    assert eng.tick(9) == [Expired("api-key", 17)]
    assert eng.peek("api-key") is None
    eng2 = new_engine(default_half_life=5, default_threshold=0.5)
    eng2.store("temp", "short-lived")
    assert eng2.tick(4) == []
    assert eng2.tick(1) == [Expired("temp", 5)]
    assert eng2.peek("temp") is None


def test_confidence_halves_with_every_half_life(new_engine):
    """1, then 0.5 after one half-life, then 0.25."""
    engine = new_engine(default_half_life=10)
    memory = engine.store("k", "v")
    assert [memory.confidence(tick) for tick in (0, 10, 20)] == [1.0, 0.5, 0.25]
    assert memory.confidence(-5) == 1.0


def test_confidence_is_the_score_of_recolva(new_engine):
    """A memory's confidence has the bits of recolva's exponential score for the same numbers."""
    engine = new_engine()
    for half_life, elapsed in [(1000, 1), (86_399, 100_000), (10**6, 999_999), (10**9, 123_456_789), (1013, 10**6)]:
        memory = engine.store("k", 1, half_life=half_life)
        now = engine.now + elapsed
        score = exponential_score(last_accessed=engine.now, now=now, half_life_millis=half_life)
        assert memory.confidence(now).hex() == score.hex()


def test_store_returns_the_memory(new_engine):
    """A stored memory has the fields that were asked for, and times of now."""
    engine = new_engine(default_half_life=7, default_threshold=0.25)
    engine.tick(3)
    assert engine.store("k", [1], tags=["b", "a", "b"]) == Memory("k", [1], 7, 3, 3, 0, ("b", "a"), 0.25)
    asked = engine.store("l", None, half_life=2, threshold=0.5, tags={"y", "x"})
    assert asked == Memory("l", None, 2, 3, 3, 0, ("x", "y"), 0.5)


def test_recall_refreshes_and_peek_does_not(new_engine):
    """Recall restarts the clock and counts; peek changes nothing."""
    engine = new_engine()
    engine.store("k", "v")
    engine.tick(5)
    assert engine.peek("k") == Memory("k", "v")
    assert engine.recall("k") == Memory("k", "v", last_accessed_at=5, access_count=1)
    assert engine.recall("k").access_count == 2
    engine.tick(33)
    assert engine.peek("k").access_count == 2
    assert engine.tick() == [Expired("k", 39)]


def test_unknown_keys_have_no_answer(new_engine):
    """recall, peek and revive give None, forget False, for a key that is not there."""
    engine = new_engine()
    assert (engine.recall("x"), engine.peek("x"), engine.revive("x")) == (None, None, None)
    assert engine.forget("x") is False


def test_storing_again_starts_afresh(new_engine):
    """A second store under a key replaces everything, and its own TTL counts."""
    engine = new_engine(default_half_life=100)
    engine.store("k", "v", tags=["t"])
    engine.recall("k")
    engine.tick(4)
    assert engine.store("k", "w", half_life=1, threshold=0.5) == Memory("k", "w", 1, 4, 4, 0, (), 0.5)
    assert engine.tick(1) == [Expired("k", 5)]
    assert engine.tick(1000) == []


def test_tick_reports_by_tick_then_key(new_engine):
    """What expired comes in the order of ticks, and of keys by code point within a tick."""
    engine = new_engine(default_threshold=0.5)
    for key, half_life in [("é", 3), ("b", 3), ("a", 9), ("\U0001f600", 3), ("\uffff", 3), ("z", 1)]:
        engine.store(key, 0, half_life=half_life)
    expected = [("z", 1), ("b", 3), ("é", 3), ("\uffff", 3), ("\U0001f600", 3), ("a", 9)]
    assert engine.tick(20) == expected
    assert engine.now == 20


def test_tick_of_any_length_is_instant(new_engine):
    """10^12 ticks pass at once; the clock stops at 2^53 - 1 and says so."""
    engine = new_engine()
    engine.store("k", "v")
    assert engine.tick(0) == []
    assert engine.tick(10**12) == [Expired("k", 34)]
    engine.tick(LIMIT - 10**12 - 1)
    with pytest.raises(ValueError, match=f"n must not take the clock past {LIMIT}, got 2 at tick {LIMIT - 1}"):
        engine.tick(2)
    engine.tick(1)
    assert engine.now == LIMIT
    assert engine.store("late", 1, half_life=10**9, threshold=5e-324).ttl() == 1074 * 10**9


def test_forget_erases(new_engine):
    """A forgotten memory is in no answer and expires no more."""
    engine = new_engine()
    engine.store("k", "secret")
    assert engine.forget("k") is True
    assert engine.peek("k") is None
    assert "secret" not in str(engine.to_dict())
    assert engine.tick(100) == []
    assert engine.entropy_score()["forgotten"] == 1


def test_nothing_remains_of_what_expired(new_engine):
    """Without a grace, expiry leaves no trace but a number."""
    engine = new_engine()
    engine.store("k", "secret")
    engine.tick(34)
    assert engine.to_dict()["memories"] == engine.to_dict()["grace"] == {}
    assert engine.revive("k") is None
    assert engine.entropy_score()["expired"] == 1


def test_grace_and_revival(new_engine):
    """An expired memory can be brought back for grace_ticks; meanwhile only to_dict shows it."""
    engine = new_engine(default_half_life=1, default_threshold=0.5, grace_ticks=3)
    for key in "ab":
        engine.store(key, key)
        engine.recall(key)
    assert engine.tick(1) == [("a", 1), ("b", 1)]
    assert engine.tick(2) == []
    assert engine.peek("a") is engine.recall("a") is None
    assert engine.memories() == engine.fading(1.0) == []
    assert engine.entropy_score()["mass"] == 0
    assert sorted(engine.to_dict()["grace"]) == ["a", "b"]
    assert engine.to_dict()["grace"]["a"]["expired_at"] == 1
    assert engine.revive("a") == Memory("a", "a", 1, 0, 3, 1, (), 0.5)
    assert engine.revive("a") is None
    assert engine.tick(1) == [("a", 4)]
    assert engine.revive("b") is None
    assert sorted(engine.to_dict()["grace"]) == ["a"]


def test_grace_ends_within_a_long_tick(new_engine):
    """A tick past expiry and grace reports the expiry and keeps nothing."""
    engine = new_engine(grace_ticks=5)
    engine.store("k", "v")
    assert engine.tick(39) == [("k", 34)]
    assert engine.to_dict()["grace"] == {}


def test_forget_and_store_reach_into_the_grace(new_engine):
    """Forget erases what rests, and store replaces it; it was counted as expired already."""
    engine = new_engine(default_half_life=1, default_threshold=0.5, grace_ticks=9)
    engine.store("a", 1)
    engine.store("b", 1)
    engine.tick(1)
    assert engine.forget("a") is True
    assert engine.forget("a") is False
    engine.store("b", 2)
    assert engine.to_dict()["grace"] == {}
    assert engine.revive("b") is None
    assert engine.peek("b").content == 2
    score = engine.entropy_score()
    assert (score["expired"], score["forgotten"]) == (2, 0)


def test_memories_are_sorted_and_chosen_by_tag(new_engine):
    """memories() is sorted by key; a tag chooses those that have it."""
    engine = new_engine()
    engine.store("b", 1, tags=["x"])
    engine.store("a", 2, tags=["y", "x"])
    engine.store("c", 3)
    assert keys(engine.memories()) == ["a", "b", "c"]
    assert keys(engine.memories(tag="x")) == ["a", "b"]
    assert engine.memories("z") == []


def test_fading_is_strict(new_engine):
    """A memory fades when its confidence is below the threshold, not at it."""
    engine = new_engine(default_half_life=10)
    engine.store("a", 1)
    engine.tick(10)
    engine.store("b", 1)
    assert engine.fading() == []
    engine.tick(1)
    assert keys(engine.fading()) == ["a"]
    assert keys(engine.fading(1.0)) == ["a", "b"]
    assert engine.memories()[0].is_fading(engine.now)
    assert engine.memories()[0].is_fading(engine.now, 0.1) is False


def test_entropy_score_measures_decay(new_engine):
    """The score is 0 for fresh knowledge and rises with every tick."""
    engine = new_engine(default_half_life=10)
    assert engine.entropy_score()["score"] == 0.0
    engine.store("a", 1)
    engine.store("b", 1, half_life=20)
    assert engine.entropy_score()["score"] == 0.0
    engine.tick(20)
    assert engine.entropy_score() == {
        "mass": 2,
        "pressure": 1.25,
        "score": 0.625,
        "living": 2,
        "fading": 1,
        "expired": 0,
        "forgotten": 0,
    }


def test_entropy_score_stays_below_one(new_engine):
    """Even when every confidence is lost in the rounding, the score is in [0, 1)."""
    engine = new_engine(default_half_life=1, default_threshold=1e-300)
    engine.store("k", "v")
    engine.tick(900)
    assert engine.entropy_score()["pressure"] == 1.0
    assert engine.entropy_score()["score"] == 1.0 - 2.0**-53


def test_content_is_copied_in_and_out(new_engine):
    """Changing what was stored, or what was handed out, changes nothing in the engine."""
    engine = new_engine(grace_ticks=1)
    content = {"list": [1]}
    stored = engine.store("k", content)
    content["list"].append(2)
    stored.content["list"].append(3)
    for answer in (engine.peek, engine.recall, lambda _: engine.memories()[0]):
        answer("k").content["list"].append(4)
        assert engine.peek("k").content == {"list": [1]}
    engine.to_dict()["memories"]["k"]["content"]["list"].append(5)
    assert engine.peek("k").content == {"list": [1]}


def test_any_string_is_a_key(new_engine):
    """Spaces, control characters, any script, any length: each is its own key."""
    engine = new_engine()
    names = ["user name", "café", "cafe\u0301", "日本", "A?", "a@b.c", "x" * 5000, "\t", "\\", "..", "a", "a\n", "a\0b"]
    names += [" ", "\0", "\U0001f600", "'; DROP TABLE memory; --", "%", "A", "null"]
    for name in names:
        engine.store(name, name)
    assert keys(engine.memories()) == sorted(names)
    for name in names:
        assert engine.recall(name).content == name
        assert engine.forget(name)
    assert engine.memories() == []


@pytest.mark.parametrize(
    ("key", "kind", "text"),
    [
        ("", ValueError, "key must not be empty"),
        ("a\ud800", ValueError, 'key must not contain a lone surrogate, got "a\\ud800"'),
        (7, TypeError, "key must be a string, got int"),
        (None, TypeError, "key must be a string, got NoneType"),
        (b"a", TypeError, "key must be a string, got bytes"),
    ],
)
def test_other_keys_are_refused(new_engine, key, kind, text):
    """Every operation refuses what is no key, in the same words."""
    engine = new_engine()
    for call in (
        lambda: engine.store(key, 1),
        *(
            lambda name=name: getattr(engine, name)(key)
            for name in (
                "recall",
                "peek",
                "forget",
                "revive",
            )
        ),
    ):
        with pytest.raises(kind) as caught:
            call()
        assert str(caught.value) == text
    assert engine.memories() == []


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({"half_life": 0}, ValueError, "half_life must be between 1 and 1000000000, got 0"),
        ({"half_life": 10**9 + 1}, ValueError, "half_life must be between 1 and 1000000000, got 1000000001"),
        ({"half_life": 2.5}, TypeError, "half_life must be an integer, got float"),
        ({"half_life": 2.0}, TypeError, "half_life must be an integer, got float"),
        ({"half_life": True}, TypeError, "half_life must be an integer, got bool"),
        ({"half_life": "10"}, TypeError, "half_life must be an integer, got str"),
        ({"half_life": 0.5}, TypeError, "half_life must be an integer, got float"),
        ({"half_life": float("nan")}, TypeError, "half_life must be an integer, got float"),
        ({"half_life": float("inf")}, TypeError, "half_life must be an integer, got float"),
        ({"threshold": 0.0}, ValueError, "threshold must be greater than 0 and less than 1, got 0"),
        ({"threshold": -0.1}, ValueError, "threshold must be greater than 0 and less than 1, got -0.1"),
        ({"threshold": 1}, ValueError, "threshold must be greater than 0 and less than 1, got 1"),
        ({"threshold": float("nan")}, ValueError, "threshold must be greater than 0 and less than 1, got NaN"),
        ({"threshold": "x"}, TypeError, "threshold must be a number, got str"),
        ({"threshold": True}, TypeError, "threshold must be a number, got bool"),
        ({"tags": "abc"}, TypeError, "tags must be a list of strings, got str"),
        ({"tags": 5}, TypeError, "tags must be a list of strings, got int"),
        ({"tags": [""]}, ValueError, "a tag must not be empty"),
        ({"tags": [1]}, TypeError, "a tag must be a string, got int"),
        ({"content": b"x"}, TypeError, "content must be a JSON value, got bytes"),
    ],
)
def test_bad_arguments_change_nothing(new_engine, arguments, kind, text):
    """A bad argument is refused with its value, and what was stored stays."""
    engine = new_engine()
    engine.store("k", "old")
    with pytest.raises(kind) as caught:
        engine.store("k", **{"content": "new", **arguments})
    assert str(caught.value) == text
    assert engine.peek("k").content == "old"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"default_threshold": 1.0}, "default_threshold must be greater than 0 and less than 1, got 1"),
        ({"default_half_life": 0}, "default_half_life must be between 1 and 1000000000, got 0"),
        ({"grace_ticks": -1}, "grace_ticks must be between 0 and 1000000000, got -1"),
        ({"grace_ticks": 1.5}, "grace_ticks must be an integer, got float"),
    ],
)
def test_bad_settings_are_refused_at_once(new_engine, arguments, text):
    """An engine can't be made with settings that no memory could have."""
    with pytest.raises(ValueError, match="must be") as caught:
        new_engine(**arguments)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("n", "kind", "text"),
    [
        (-5, ValueError, f"n must be between 0 and {LIMIT}, got -5"),
        (2.0, TypeError, "n must be an integer, got float"),
        (True, TypeError, "n must be an integer, got bool"),
        ("3", TypeError, "n must be an integer, got str"),
    ],
)
def test_bad_ticks_are_refused(new_engine, n, kind, text):
    """Time goes forward by whole ticks only."""
    engine = new_engine()
    with pytest.raises(kind) as caught:
        engine.tick(n)
    assert str(caught.value) == text
    assert engine.now == 0


def test_a_memory_is_a_frozen_value(new_engine):
    """A memory can't be changed, does not change, and can be copied and pickled."""
    engine = new_engine()
    memory = engine.store("k", {"a": 1}, tags=["t"])
    with pytest.raises(AttributeError):
        memory.key = "other"
    engine.recall("k")
    assert memory.access_count == 0
    assert pickle.loads(pickle.dumps(memory)) == memory


def test_repr_names_the_settings(new_engine):
    """Repr tells an engine's settings without reading its memories."""
    assert "half_life=10 threshold=0.1 grace_ticks=2" in repr(new_engine(grace_ticks=2))


def test_settings_can_be_read(new_engine):
    """The settings are attributes."""
    engine = new_engine(default_half_life=3, default_threshold=0.5, grace_ticks=2)
    assert (engine.default_half_life, engine.default_threshold, engine.grace_ticks) == (3, 0.5, 2)
    assert isinstance(engine, MemoryEngine)
