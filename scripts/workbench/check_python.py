"""The Python steps of scripts/check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checkout import PYTHON_ROOT, ROOT, STAGED, CommandError, bin_folder, run, venv_python
from step import Skipped, Step, closing_line, need_compilers
from toolbox import uv, uv_settings

from native_build import layout

if TYPE_CHECKING:
    from pathlib import Path

    from toolbox import Toolbox

VENV = PYTHON_ROOT / ".venv"  # uv's own, which `uv run` uses

# What ruff looks at, seen from python/, and by whose rules: no other file may stand in above the checkout.
RUFF = ("--config", "pyproject.toml", ".", "../scripts")


def run_uv(box: Toolbox, *arguments: str | Path, **settings: str) -> str:
    """Run uv in python/."""
    return run([uv(), *arguments], environment={**box.environment, **uv_settings(), **settings}, folder=PYTHON_ROOT)


def module(box: Toolbox, name: str, *arguments: str, **settings: str) -> str:
    """Run a module of the environment that has the test and lint groups, in python/."""
    run_uv(box, "sync", "--quiet", "--group", "lint")
    command: list[str | Path] = [venv_python(VENV), "-m", name, *arguments]
    return run(command, environment={**box.environment, **settings}, folder=PYTHON_ROOT)


def tests_native(box: Toolbox) -> str:
    """Run the tests with the library, insisting on it."""
    need_compilers(box)
    if not any((STAGED / name).is_file() for name in layout.LIBRARY_NAMES.values()):
        msg = "no library is staged; run the step go build first"
        raise CommandError(msg)
    # As the documentation says it.
    pytest = ("run", "--with", "pytest", "--with", "hatchling", "pytest")
    return closing_line(run_uv(box, *pytest, "-q", "--ignore=tests/test_docs.py", RECOLVA_NATIVE="1"))


def tests_pure(box: Toolbox) -> str:
    """Run the tests without the library; those that build wheels ran before."""
    choice = ("--ignore=tests/test_docs.py", "-m", "not slow")
    return closing_line(module(box, "pytest", "-q", *choice, RECOLVA_NATIVE="0"))


def docs(box: Toolbox) -> str:
    """Run every example of README and the guides."""
    return closing_line(module(box, "pytest", "-q", "tests/test_docs.py"))


def mypy(box: Toolbox) -> str:
    """Check the types, strictly."""
    return module(box, "mypy").strip().splitlines()[-1]


def ruff_check(box: Toolbox) -> str:
    """Check the style."""
    module(box, "ruff", "check", "--quiet", *RUFF)
    return ""


def ruff_format(box: Toolbox) -> str:
    """Check the layout."""
    module(box, "ruff", "format", "--check", *RUFF)
    return ""


def shellcheck(box: Toolbox) -> str:
    """Check the shell front files."""
    run_uv(box, "sync", "--quiet", "--group", "lint")
    program = next(iter(bin_folder(VENV).glob("shellcheck*")), None)
    if program is None:
        msg = "shellcheck is not to be had for this machine"
        raise Skipped(msg)
    scripts = ROOT / "scripts"
    fronts = [path for path in scripts.iterdir() if path.is_file() and path.read_bytes().startswith(b"#!/bin/sh")]
    fronts += [scripts / "find_python.sh", ROOT / ".ci" / "run"]
    run([program, "--external-sources", *sorted(fronts)], environment=box.environment)
    return f"{len(fronts)} files"


STEPS = (
    Step("mypy", mypy),
    Step("ruff check", ruff_check),
    Step("ruff format", ruff_format),
    Step("shellcheck", shellcheck),
    Step("pytest, native", tests_native),
    Step("pytest, pure", tests_pure),
    Step("documentation examples", docs),
)
