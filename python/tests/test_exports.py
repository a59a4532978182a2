"""What the package exports, and what importing it costs."""

from __future__ import annotations

import ast
import doctest
import importlib
from pathlib import Path

import pytest

import recolva

MODULES = ("arrays", "decisions", "errors", "models", "reference", "store")


def test_exports_are_sorted_and_there():
    """__all__ is sorted, and every name in it can be had."""
    assert recolva.__all__ == sorted(recolva.__all__)
    assert set(recolva.__all__) <= set(dir(recolva))
    for name in recolva.__all__:
        assert getattr(recolva, name) is not None
    with pytest.raises(AttributeError, match="^module 'recolva' has no attribute 'typo'$"):
        recolva.typo


def test_type_checkers_see_the_same_exports():
    """The imports that only type checkers read agree with the names fetched at run time."""
    tree = ast.parse(Path(recolva.__file__).read_text(encoding="utf-8"))
    (guard,) = (node for node in tree.body if isinstance(node, ast.If))
    homes = {
        alias.name: node.module
        for node in guard.body
        if isinstance(node, ast.ImportFrom) and node.module != "typing"
        for alias in node.names
    }
    assert homes == recolva._HOME_OF
    assert sorted(homes) == recolva.__all__


@pytest.mark.parametrize("name", MODULES)
def test_modules_export_what_they_define(name):
    """__all__ of a public module is sorted by itself and complete."""
    module = importlib.import_module(f"recolva.{name}")
    assert module is getattr(recolva, name)
    defined = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_") and getattr(value, "__module__", None) == module.__name__
    }
    # aliases and constants say nothing of where they were defined
    assert defined <= set(module.__all__)
    assert all(hasattr(module, key) for key in module.__all__)


@pytest.mark.parametrize("name", ["recolva", *(f"recolva.{name}" for name in MODULES)])
def test_examples_of_docstrings(name):
    """Every example in a docstring is true."""
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_names_of_earlier_versions():
    """What users of version 0.2 import is still there."""
    from recolva.store import Decision, MemoryRecord, MemoryStore, prune_memories, score_memories

    assert Decision is recolva.Decision
    assert MemoryRecord is recolva.MemoryRecord
    assert MemoryStore is recolva.MemoryStore
    assert prune_memories is recolva.prune_memories
    assert score_memories is recolva.score_memories


def test_import_is_light(fresh_interpreter):
    """Importing the package loads none of its modules, and above all not the library."""
    code = "import recolva, sys; print(*sorted(m for m in sys.modules if m.startswith('recolva')))"
    assert fresh_interpreter(code) == "recolva recolva._forks"


def test_scoring_one_memory_loads_no_library(fresh_interpreter):
    """Single scores need neither ctypes nor NumPy."""
    code = (
        "import sys, recolva; recolva.exponential_score(last_accessed=0, now=1, half_life_millis=1000);"
        "print(sorted({'ctypes', 'numpy', 'recolva._backend'} & set(sys.modules)))"
    )
    assert fresh_interpreter(code) == "[]"


def test_version_never_fails(fresh_interpreter):
    """The version is a string, even where the package is not installed."""
    code = "import recolva; print(type(recolva.__version__).__name__, recolva.__version__ != '')"
    assert fresh_interpreter(code) == "str True"
    broken = (
        "import importlib.metadata as m\n"
        "def version(name): raise OSError(name)\n"
        "m.version = version\n"
        "import recolva; print(recolva.__version__)"
    )
    assert fresh_interpreter(broken) == "0+unknown"
