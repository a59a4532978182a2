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
    assert names == sorted(names, key=lambda name: (not name.isupper(), name))
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
    """What is asked for stays; what is not is named once as it fades, and forgotten in the end."""
    chatter = ["Nice weather."] * 6
    told = ["My name is Alice.", "My town is Oslo.", "I like tea!"]
    lines = talk([], [*told, *chatter, "What is my name?", *chatter[:4], "What is my town?", "What do I like?"])
    assert lines[:4] == ["Noted.", "Noted.", "Noted.", "Hm."]
    assert lines.count("Hm. [fading: your town is Oslo]") == 1
    assert "your name is Alice (12%)" in lines
    assert "Hm. [gone: my town is]" in lines
    assert lines[-2:] == ["Hm.", "you like tea (47%) [fading: your name is Alice]"]
    assert not any("gone: my name" in line for line in lines)


def test_the_chat_agent_forgets_on_request():
    """What is told again replaces what was known; what is to be forgotten goes at once."""
    lines = talk([], ["My name is Al.", "My name is Bo.", "What's my name?", "Forget my name.", "What is my name?"])
    assert lines == ["Noted.", "Noted.", "your name is Bo (79%)", "Forgotten: 1.", "Hm."]


def test_the_chat_agent_keeps_its_memory_in_a_file(tmp_path):
    """A second conversation goes on where the first ended."""
    path = tmp_path / "agent.db"
    assert talk([path], ["My name is Alice."]) == ["Noted."]
    assert talk([path], ["What is my name?"]) == ["your name is Alice (79%)"]
