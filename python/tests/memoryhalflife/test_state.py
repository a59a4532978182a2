"""Dumps: complete, checked, and those of version 0.1 load."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from memoryhalflife import Memory, MemoryEngine

FIRST_VERSION = Path(__file__).with_name("state_0_1.json")


def dumped(new_engine):
    """Return the dump of an engine with something of everything in it."""
    engine = new_engine(default_half_life=99, default_threshold=0.25, grace_ticks=7)
    engine.store("b", {"x": [1, -0.0, "\u2028"]}, tags=["t", "s"])
    engine.store("a", None, half_life=1)
    engine.store("c", 1)
    engine.forget("c")
    engine.tick(3)
    engine.recall("b")
    return engine.to_dict()


def test_a_dump_has_the_documented_form(new_engine):
    """The dump is this, names sorted, ready for JSON."""
    state = dumped(new_engine)
    assert json.dumps(state) == json.dumps(
        {
            "defaults": {"half_life": 99, "threshold": 0.25},
            "expired": 1,
            "forgotten": 1,
            "grace": {
                "a": {
                    "access_count": 0,
                    "content": None,
                    "created_at": 0,
                    "expired_at": 2,
                    "half_life": 1,
                    "last_accessed_at": 0,
                    "tags": [],
                    "threshold": 0.25,
                }
            },
            "grace_ticks": 7,
            "memories": {
                "b": {
                    "access_count": 1,
                    "content": {"x": [1, -0.0, "\u2028"]},
                    "created_at": 0,
                    "half_life": 99,
                    "last_accessed_at": 3,
                    "tags": ["t", "s"],
                    "threshold": 0.25,
                }
            },
            "now": 3,
            "schema": 1,
        }
    )


def test_a_dump_loses_nothing(new_engine):
    """What is loaded dumps the same, goes on the same, and has the same defaults."""
    state = dumped(new_engine)
    engine = MemoryEngine.from_dict(json.loads(json.dumps(state)))
    assert engine.to_dict() == state
    assert engine.store("new", 1).ttl() == 198
    assert engine.revive("a").key == "a"
    assert engine.tick(500) == [("a", 5), ("b", 201), ("new", 201)]


def test_a_loaded_engine_shares_nothing_with_the_dump(new_engine):
    """Editing a dump does not edit an engine, neither the source nor the loaded one."""
    state = dumped(new_engine)
    engine = MemoryEngine.from_dict(state)
    state["memories"]["b"]["content"]["x"].append(1)
    assert engine.peek("b").content == {"x": [1, -0.0, "\u2028"]}


def test_dumps_of_version_0_1_load():
    """The sample of memory-half-life 0.1 gives its memories, at its tick."""
    engine = MemoryEngine.from_dict(json.loads(FIRST_VERSION.read_text()))
    assert engine.now == 6
    assert engine.memories() == [
        Memory("user-name", "Alice", 8, 0, 2, 1, ("profile", "pinned"), 0.1),
        Memory("weather", "It is sunny today", 3, 0, 0, 0, (), 0.1),
    ]
    assert engine.tick(100) == [("weather", 10), ("user-name", 29)]
    assert (engine.default_half_life, engine.default_threshold, engine.grace_ticks) == (10, 0.1, 0)


def test_oddities_of_version_0_1():
    """Its tombstones and expired entries stay behind; a float or true as half-life counts exactly."""
    state = json.loads(FIRST_VERSION.read_text())
    memory = state["state"].pop("mem/weather")
    for key, half_life in [("float", 2.5), ("whole", 4.0), ("true", True)]:
        state["state"][f"mem/{key}"] = copy.deepcopy(memory)
        state["state"][f"mem/{key}"]["value"].update(key=key, half_life=half_life, last_accessed_at=5)
    state["state"]["mem/dead"] = copy.deepcopy(memory)
    state["state"]["mem/dead"]["value"].update(key="dead", half_life=1)
    state["state"]["mem/forgotten"] = {"created_at": 0, "ttl_ticks": 0, "value": {}}
    engine = MemoryEngine.from_dict(state)
    assert [memory.key for memory in engine.memories()] == ["float", "true", "user-name", "whole"]
    score = engine.entropy_score()
    assert (score["expired"], score["forgotten"]) == (1, 1)
    memory = engine.peek("float")
    assert memory.half_life == 2.5
    assert memory.ttl() == 9  # ceil(2.5 * log2(10)) = ceil(8.3…)
    assert memory.confidence(10) == 0.25
    assert engine.peek("true") == Memory("true", "It is sunny today", 1, 0, 5)
    assert type(engine.peek("whole").half_life) is int
    again = MemoryEngine.from_dict(json.loads(json.dumps(engine.to_dict())))
    assert again.to_dict() == engine.to_dict()


def test_a_fractional_half_life_survives_in_a_file(tmp_path):
    """A float half-life of 0.1 keeps its exact value in SQLite."""
    state = json.loads(FIRST_VERSION.read_text())
    state["state"]["mem/weather"]["value"]["half_life"] = 3.3
    with MemoryEngine.from_dict(state, path=tmp_path / "a.db") as engine:
        assert engine.recall("weather").half_life == 3.3
        assert engine.tick(200)[0] == ("weather", 6 + 11)


def changed(state, path, value):
    """Return the dump with one value replaced, or removed if value is ..."""
    state = copy.deepcopy(state)
    *parents, last = path
    target = state
    for name in parents:
        target = target[name]
    if value is ...:
        del target[last]
    else:
        target[last] = value
    return state


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        (["schema"], ..., "schema is missing"),
        (["schema"], 2, "schema must be 1, got 2"),
        (["schema"], True, "schema must be an integer, got bool"),
        (["schema"], "1", "schema must be an integer, got str"),
        (["schema"], 10**30, "schema must be between -9223372036854775808 and 9223372036854775807, got 1" + 30 * "0"),
        (["now"], ..., "now is missing"),
        (["now"], -1, "now must be between 0 and 9007199254740991, got -1"),
        (["now"], 1.0, "now must be an integer, got float"),
        (["memories"], [], "memories must be a dict, got list"),
        (["grace_ticks"], None, "grace_ticks must be an integer, got NoneType"),
        (["defaults", "threshold"], 1, "default_threshold must be greater than 0 and less than 1, got 1"),
        (["memories", "b"], 1, 'memory "b": must be a dict, got int'),
        (["memories", ""], {}, 'memory "": access_count is missing'),
        (["memories", "b", "content"], ..., 'memory "b": content is missing'),
        (["memories", "b", "content"], (1,), 'memory "b": content must be a JSON value, got tuple'),
        (["memories", "b", "tags"], "abc", 'memory "b": tags must be a list of strings, got str'),
        (["memories", "b", "half_life"], 0.5, 'memory "b": half_life must be an integer, got float'),
        (["memories", "b", "half_life"], float("nan"), 'memory "b": half_life must be an integer, got float'),
        (["memories", "b", "last_accessed_at"], 4, 'memory "b": last_accessed_at must be between 0 and 3, got 4'),
        (
            ["memories", "b", "created_at"],
            4,
            'memory "b": last_accessed_at must be between 4 and 9007199254740991, got 3',
        ),
        (["memories", "b", "half_life"], 1, None),
        (["now"], 201, 'memory "b" expired at tick 201, and now is 201'),
        (["grace", "a", "expired_at"], 3, 'memory "a" expired at tick 2, got expired_at 3'),
        (["grace", "a", "expired_at"], ..., "expired_at is missing"),
        (["grace_ticks"], 1, 'memory "a" was gone at tick 3, and now is 3'),
    ],
)
def test_faulty_dumps_are_refused(new_engine, path, value, text):
    """An error names the memory and the value at fault."""
    state = changed(dumped(new_engine), path, value)
    if text is None:
        MemoryEngine.from_dict(state)
        return
    with pytest.raises(ValueError) as caught:
        MemoryEngine.from_dict(state)
    assert str(caught.value) == text


def test_a_key_is_living_or_in_its_grace(new_engine):
    """A dump with a key in both places is refused."""
    state = dumped(new_engine)
    state["memories"]["a"] = state["memories"]["b"]
    with pytest.raises(ValueError, match='key "a" is both in memories and in grace'):
        MemoryEngine.from_dict(state)


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ([], "state must be a dict, got list"),
        ({}, "schema is missing"),
        ({"state": {}}, "tick is missing"),
        ({"tick": 1, "state": {"a": 1}}, "state must hold dicts, got int"),
        ({"tick": 1, "state": {"a": {"value": {"key": "a"}}}}, 'memory "a": access_count is missing'),
    ],
)
def test_what_is_no_dump_is_refused(state, text):
    """Anything else says what is missing."""
    with pytest.raises(ValueError) as caught:
        MemoryEngine.from_dict(state)
    assert str(caught.value) == text
