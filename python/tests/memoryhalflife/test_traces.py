"""The golden traces: both engines give the recorded result of every operation."""

from __future__ import annotations

import json

import pytest

from tests.memoryhalflife.plain import plain
from tests.memoryhalflife.traces import FOLDER, TRACES, split, text_of

FILES = sorted(FOLDER.glob("*.jsonl"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_traces_replay(new_engine, path):
    """Each operation has its recorded result, or its recorded error."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    assert len(lines) > 5
    engine = new_engine(**lines[0]["engine"])
    for number, line in enumerate(lines[1:], start=2):
        name, arguments, keywords = split(line)
        if "error" in line:
            with pytest.raises(ValueError) as caught:
                getattr(engine, name)(*arguments, **keywords)
            assert str(caught.value) == line["error"], number
        elif name == "confidence":
            assert engine.peek(*arguments).confidence(engine.now) == line["result"], number
        else:
            assert plain(getattr(engine, name)(*arguments, **keywords)) == line["result"], number


def test_traces_are_those_of_the_naive_engine():
    """The files hold what the naive engine answers, so none was edited to fit."""
    assert [path.stem for path in FILES] == sorted(TRACES)
    for path in FILES:
        assert path.read_text(encoding="utf-8") == text_of(TRACES[path.stem])
