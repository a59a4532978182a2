"""Imports go one way: stores and adapters down to the kernel, never back."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import recolva

SOURCE = Path(recolva.__file__).parents[1]

# From the ground up: a module may import those that stand before it. Modules that are not listed
# belong to the layer of files and adapters, on top, whose own order is theirs.
LAYERS = (
    "recolva._forks",
    "recolva",
    "recolva.errors",
    "recolva._arguments",
    "recolva._guards",
    "recolva._kernel",
    "recolva.models",
    "recolva.decisions",
    "recolva.reference",
    "recolva._room",
    "recolva._native",
    "recolva._ffi",
    "recolva._backend",
    "recolva.arrays",
    "recolva.store",
)
TOP = len(LAYERS)
TICKS = ("recolva._kernel", "recolva.errors", "recolva._arguments")


def modules(package):
    """Return (module, file) for every module of a package."""
    found = []
    for file in sorted((SOURCE / package).rglob("*.py")):
        parts = file.relative_to(SOURCE).with_suffix("").parts
        found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), file))
    return found


def imports(file):
    """Return the absolute modules that a file imports anywhere, also within functions."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                path = SOURCE.joinpath(*name.split("."))
                is_module = path.is_dir() or path.with_suffix(".py").is_file()
                yield name if is_module else node.module


def layer(module):
    return LAYERS.index(module) if module in LAYERS else TOP


# The package itself passes on the names of all layers, at their first use.
@pytest.mark.parametrize(("module", "file"), [m for m in modules("recolva") if m[0] != "recolva"])
def test_arrows_point_down(module, file):
    """No module imports one of a higher layer."""
    for name in imports(file):
        if name.split(".")[0] == "recolva":
            assert layer(name) < layer(module) or layer(module) == TOP, f"{module} imports {name}"


@pytest.mark.parametrize(("module", "file"), modules("memoryhalflife"))
def test_ticks_know_only_the_kernel(module, file):
    """The tick engine uses the mathematics, the argument checks and the errors, nothing of records and stores."""
    for name in imports(file):
        if name.split(".")[0] == "recolva":
            assert name in TICKS, f"{module} imports {name}"


@pytest.mark.skipif(sys.version_info < (3, 10), reason="sys.stdlib_module_names is new in 3.10")
@pytest.mark.parametrize(("module", "file"), modules("recolva") + modules("memoryhalflife"))
def test_no_dependencies(module, file):
    """Nothing but the standard library is imported, adapters of other stores apart."""
    if module.startswith("recolva.adapters."):
        return
    allowed = {*sys.stdlib_module_names, "recolva", "memoryhalflife"}
    assert {name.split(".")[0] for name in imports(file)} <= allowed
