"""Random sequences of operations give the same answers as the naive engine.

RECOLVA_ENGINE_OPERATIONS sets how many operations each engine is tried with.
"""

from __future__ import annotations

import os
import random

import pytest

from memoryhalflife import MemoryEngine
from tests.memoryhalflife.naive import Naive
from tests.memoryhalflife.plain import plain

OPERATIONS = int(os.environ.get("RECOLVA_ENGINE_OPERATIONS", "3000"))
SEQUENCE = 500  # operations on one engine

KEYS = ["a", "b", "c", "é", "日本", "\U0001f600", "a b", "A", "\n", "zz", "\uffff", "k1"]
THRESHOLDS = [0.1, 0.5, 0.25, 0.3, 0.9, 0.01, 2.0**-7]
CONTENTS = ["text", 5, -1.5, None, True, [], {}, {"a": [1, {"b": None}]}, "\u2028", [[["deep"]]]]


def random_operation(rng):
    """Return the name of an operation, its arguments and its keywords."""
    key = rng.choice(KEYS)
    kind = rng.random()
    if kind < 0.3:
        keywords = {}
        if rng.random() < 0.5:
            keywords["half_life"] = rng.randrange(1, 15)
        if rng.random() < 0.4:
            keywords["threshold"] = rng.choice(THRESHOLDS)
        if rng.random() < 0.3:
            keywords["tags"] = rng.sample(["x", "y", "z"], rng.randrange(4))
        return "store", (key, rng.choice(CONTENTS)), keywords
    if kind < 0.55:
        return rng.choice(["recall", "recall", "peek"]), (key,), {}
    if kind < 0.62:
        return "forget", (key,), {}
    if kind < 0.7:
        return "revive", (key,), {}
    if kind < 0.92:
        return "tick", (rng.choice([0, 1, 1, 1, 2, 3, 5, 8, 40]),), {}
    if kind < 0.95:
        return "memories", (rng.choice([None, "x", "y"]),), {}
    return rng.choice([("fading", (rng.random(),), {}), ("entropy_score", (), {}), ("to_dict", (), {})])


def play(engine, naive, rng, count):
    for number in range(count):
        name, arguments, keywords = random_operation(rng)
        got = plain(getattr(engine, name)(*arguments, **keywords))
        assert got == getattr(naive, name)(*arguments, **keywords), (number, name, arguments, keywords)


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_random_operations(kind, tmp_path):
    """Every answer of every operation equals the naive engine's, across reopening and dumps."""
    rng = random.Random(kind)
    for sequence in range(-(-OPERATIONS // SEQUENCE)):
        arguments = {
            "default_half_life": rng.randrange(1, 12),
            "default_threshold": rng.choice(THRESHOLDS),
            "grace_ticks": rng.choice([0, 0, 1, 3, 10]),
        }
        naive = Naive(**arguments)
        path = tmp_path / f"{sequence}.db"
        engine = (
            MemoryEngine(**arguments) if kind == "memory" else MemoryEngine.open(path, synchronous="OFF", **arguments)
        )
        for part in range(5):
            if part % 2:  # every other part as one transaction
                with engine.batch():
                    play(engine, naive, rng, SEQUENCE // 5)
            else:
                play(engine, naive, rng, SEQUENCE // 5)
            state = engine.to_dict()
            assert state == naive.to_dict()
            if kind == "memory":
                engine = MemoryEngine.from_dict(state)
            else:
                engine.close()
                engine = MemoryEngine.open(path, synchronous="OFF")
        engine.close()
