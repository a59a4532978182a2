"""The guide and the example do what they say."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from memoryhalflife import MemoryEngine

PYTHON = Path(__file__).resolve().parents[2]
GUIDE = PYTHON / "docs" / "ticks.md"
EXAMPLE = PYTHON / "examples" / "chat_agent.py"


def test_examples_of_the_guide():
    """Every >>> example of the guide gives what stands below it."""
    result = doctest.testfile(str(GUIDE), module_relative=False, encoding="utf-8")
    assert result.failed == 0
    assert result.attempted > 40


def test_the_table_of_operations_is_complete():
    """The guide's table names every public method and attribute of an engine, its settings apart, and no other."""
    table = GUIDE.read_text(encoding="utf-8").split("## The operations")[1].split("##")[0]
    named = set()
    for row in re.findall(r"^\| (`.*`) \|", table, re.MULTILINE):
        named.update(re.findall(r"`(\w+)", row))
    public = {name for name in dir(MemoryEngine) if not name.startswith("_")}
    assert named == public - {"default_half_life", "default_threshold", "grace_ticks"}


@pytest.mark.parametrize("name", ["memoryhalflife", "recolva.adapters", "recolva.adapters.ticks"])
def test_examples_of_docstrings(name):
    """Every example in a docstring is true, and __all__ is sorted and complete."""
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0
    names = getattr(module, "__all__", [])
    assert names == sorted(names)
    assert all(hasattr(module, exported) for exported in names)


def talk(arguments, lines):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), *map(str, arguments)],
        input="".join(line + "\n" for line in lines),
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_the_chat_agent_forgets_what_nobody_asks_for():
    """What is asked for stays, what is not is asked back once it fades, and forgotten in the end."""
    chatter = ["nice weather"] * 8
    lines = talk(
        [], ["My name is Alice.", "my town is Oslo", *chatter, "what is my name?", *chatter[1:], "What is my town?"]
    )
    assert lines[:3] == ["I will remember your name.", "I will remember your town.", "Tell me more."]
    assert "Your name is Alice." in lines
    assert "By the way, is your town still Oslo?" in lines
    assert lines[-2:] == ["(I forget your town.)", "I don't know, or I have forgotten."]
    assert "(I forget your name.)" not in lines


def test_the_chat_agent_keeps_its_memory_in_a_file(tmp_path):
    """A second conversation goes on where the first ended."""
    path = tmp_path / "agent.db"
    assert talk([path], ["my name is Alice"]) == ["I will remember your name."]
    assert talk([path], ["what is my name?"]) == ["Your name is Alice."]
