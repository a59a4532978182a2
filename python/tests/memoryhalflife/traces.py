"""Golden traces of the tick engine, one JSON line an operation, for any implementation to replay.

The first line of a trace is {"engine": {…}}: the settings. Each other line is an operation, its
arguments and either its result or the text of its error:

    {"op": "store", "key": "a", "content": 1, "half_life": 5, "result": {…the memory…}}
    {"op": "tick", "n": 17, "result": [["a", 17]]}
    {"op": "confidence", "key": "a", "result": 0.5}

Results come from the naive engine, errors are written here. ``python -m tests.memoryhalflife.traces``
writes the files anew.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

from tests.memoryhalflife.naive import Naive
from tests.memoryhalflife.test_model import random_operation

FOLDER = Path(__file__).resolve().parents[3] / "internal" / "conformance" / "testdata" / "ticks"

POSITIONAL = {
    "store": ("key", "content"),
    "recall": ("key",),
    "peek": ("key",),
    "forget": ("key",),
    "revive": ("key",),
    "confidence": ("key",),
    "tick": ("n",),
    "memories": ("tag",),
    "fading": ("threshold",),
    "entropy_score": (),
    "to_dict": (),
}


def op(name, *arguments, error=None, **keywords):
    line = {"op": name, **dict(zip(POSITIONAL[name], arguments)), **keywords}
    return line if error is None else {**line, "error": error}


def document():
    """The session of the documentation."""
    yield {}
    yield op("store", "weather", "It is sunny today")
    yield op("store", "meeting", "Standup at 9am")
    yield op("tick", 15)
    yield op("confidence", "weather")
    yield op("memories")
    yield op("recall", "weather")
    yield op("tick", 20)
    yield op("confidence", "weather")
    yield op("memories")
    yield op("entropy_score")
    yield op("to_dict")


def boundaries():
    """The last tick of a life and the first after it, for thresholds that are powers of two or not."""
    yield {"default_half_life": 5, "default_threshold": 0.5}
    for half_life in (1, 2, 3, 7, 10, 99):
        for threshold in (0.5, 0.25, 0.1, 0.9, 1 / 3, 2.0**-10, 1 - 2.0**-20):
            yield op("store", "k", 0, half_life=half_life, threshold=threshold)
            ttl = next(
                t
                for t in range(1, 10**4)
                if threshold.as_integer_ratio()[1] ** half_life <= threshold.as_integer_ratio()[0] ** half_life << t
            )
            yield op("tick", ttl - 1)
            yield op("confidence", "k")
            yield op("tick", 1)
            yield op("peek", "k")


def grace():
    """Expired memories rest, are revived, replaced and forgotten, or go."""
    yield {"default_half_life": 2, "default_threshold": 0.5, "grace_ticks": 3}
    for key in "abcd":
        yield op("store", key, key, tags=[key, "all"])
    yield op("recall", "a")
    yield op("tick", 2)
    yield op("to_dict")
    yield op("peek", "a")
    yield op("recall", "a")
    yield op("memories")
    yield op("entropy_score")
    yield op("revive", "a")
    yield op("revive", "a")
    yield op("store", "b", "new")
    yield op("revive", "b")
    yield op("forget", "c")
    yield op("forget", "c")
    yield op("tick", 1)
    yield op("to_dict")
    yield op("tick", 2)
    yield op("revive", "d")
    yield op("to_dict")
    yield op("tick", 50)
    yield op("to_dict")


def order():
    """What expires in one call comes by tick, then by key in code point order."""
    yield {"default_threshold": 0.5}
    for i, key in enumerate(["é", "b", "\uffff", "\U0001f600", "a b", "A", "~", "\n", "日本", "zz"]):
        yield op("store", key, i, half_life=3 + i % 2)
    yield op("tick", 3)
    yield op("tick", 100)
    yield op("entropy_score")


def errors():
    """Bad arguments, their texts, and that they change nothing."""
    limit = 2**53 - 1
    yield {}
    yield op("store", "k", "old")
    yield op("store", "", 1, error="key must not be empty")
    yield op("store", 7, 1, error="key must be a string, got int")
    yield op("store", "k", 1, half_life=0, error="half_life must be between 1 and 1000000000, got 0")
    yield op("store", "k", 1, half_life=2.5, error="half_life must be an integer, got float")
    yield op("store", "k", 1, half_life=True, error="half_life must be an integer, got bool")
    yield op("store", "k", 1, threshold=1, error="threshold must be greater than 0 and less than 1, got 1")
    yield op("store", "k", 1, threshold=-0.5, error="threshold must be greater than 0 and less than 1, got -0.5")
    yield op("store", "k", 1, tags="abc", error="tags must be a list of strings, got str")
    yield op("tick", -1, error=f"n must be between 0 and {limit}, got -1")
    yield op("tick", 1.5, error="n must be an integer, got float")
    yield op("fading", 1.5, error="threshold must be between 0 and 1, got 1.5")
    yield op("to_dict")


def chance(seed):
    """Many operations drawn by chance."""

    def draw():
        rng = random.Random(seed)
        yield {"default_half_life": 4, "default_threshold": 0.3, "grace_ticks": seed}
        for _ in range(300):
            name, arguments, keywords = random_operation(rng)
            yield op(name, *arguments, **keywords)
        yield op("to_dict")

    return draw


TRACES = {
    "document": document,
    "boundaries": boundaries,
    "grace": grace,
    "order": order,
    "errors": errors,
    "random_0": chance(0),
    "random_3": chance(3),
}


def split(line):
    """Return the name of an operation, its positional arguments and its keywords."""
    rest = {name: value for name, value in line.items() if name not in ("op", "result", "error")}
    positional = [rest.pop(name) for name in POSITIONAL[line["op"]] if name in rest]
    return line["op"], positional, rest


def lines_of(trace):
    """Yield the lines of a trace, with the results of the naive engine."""
    lines = trace()
    settings = next(lines)
    yield {"engine": settings}
    naive = Naive(**settings)
    for line in lines:
        if "error" in line:
            yield line
            continue
        name, arguments, keywords = split(line)
        if name == "confidence":
            result = naive._confidence(naive.living[line["key"]])
        else:
            result = getattr(naive, name)(*arguments, **keywords)
        yield {**line, "result": result}


def text_of(trace):
    return "".join(json.dumps(line, ensure_ascii=False, sort_keys=False) + "\n" for line in lines_of(trace))


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for trace_name, source in TRACES.items():
        (FOLDER / f"{trace_name}.jsonl").write_bytes(text_of(source).encode())
