"""The Pythons: every interpreter that this machine has computes the golden scores and the digest."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import golden_cases
from checkout import PYTHON_ROOT, ROOT, STAGED, CommandError, run
from matrix import FAILED, NOT_RUN, SAME, Row, last_line

if TYPE_CHECKING:
    from collections.abc import Iterator

MINORS = range(9, 16)
# Those that the package is for; who lacks one is told so.
WANTED = (*(f"CPython 3.{minor}" for minor in MINORS), "CPython 3.14t", "PyPy 3.11")

ASK = """
import platform, sys
free = "" if getattr(sys, "_is_gil_enabled", lambda: True)() else "t"
print(platform.python_implementation(), *sys.version_info[:2], free or "-", platform.python_version())
"""


class Interpreter(NamedTuple):
    """A Python of this machine."""

    name: str  # CPython 3.14t
    version: str
    program: str


def candidates() -> Iterator[str]:
    """Yield programs that may be Pythons: on the PATH, of pyenv, and of uv."""
    names = [f"python3.{minor}{free}" for minor in MINORS for free in ("", "t")]
    names += ["python3", "pypy3", *(f"pypy3.{minor}" for minor in MINORS), "graalpy"]
    yield from filter(None, map(shutil.which, names))
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    uv = Path(os.environ.get("XDG_DATA_HOME", Path.home() / ".local" / "share")) / "uv" / "python"
    for folder in (pyenv / "versions", uv):
        yield from map(str, sorted(folder.glob("*/bin/python3")))


def found() -> list[Interpreter]:
    """Return one interpreter of each name, those of this package's versions only."""
    interpreters: dict[str, Interpreter] = {}
    for program in candidates():
        result = subprocess.run([program, "-c", ASK], capture_output=True, text=True, check=False)
        words = result.stdout.split()
        if result.returncode == 0 and len(words) == 5 and (int(words[1]), int(words[2])) >= (3, 9):
            name = f"{words[0]} {words[1]}.{words[2]}{words[3].strip('-')}"
            interpreters.setdefault(name, Interpreter(name, words[4], program))
    return sorted(
        interpreters.values(), key=lambda it: [int("".join(filter(str.isdigit, w)) or 0) for w in it.name.split(".")]
    )


def check_one(interpreter: Interpreter) -> Row:
    """Compare the pure package with all golden scores, and the digest of pure and native scores."""
    part = "Python"
    environment = {**os.environ, "PYTHONPATH": str(PYTHON_ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    native = any(STAGED.glob("*recolva.*"))
    try:
        run([interpreter.program, ROOT / "scripts" / "workbench" / "golden_cases.py"], environment=environment)
        for wish in ("0", "1") if native else ("0",):
            command = [interpreter.program, "-m", "recolva", "selftest"]
            printed = run(command, environment={**environment, "RECOLVA_NATIVE": wish}).split()
            if golden_cases.digest() not in printed:
                return Row(part, interpreter.name, FAILED, f"RECOLVA_NATIVE={wish}: {printed[-1]}")
    except CommandError as error:
        return Row(part, interpreter.name, FAILED, last_line(error))
    return Row(part, interpreter.name, SAME, f"{interpreter.version}, {'pure and native' if native else 'pure'}")


def check() -> list[Row]:
    """Run every interpreter, and name those that are not here."""
    interpreters = found()
    rows = [check_one(interpreter) for interpreter in interpreters]
    names = {interpreter.name for interpreter in interpreters}
    pypy = any(name.startswith("PyPy") for name in names)
    missing = [name for name in WANTED if name not in names and not (pypy and name.startswith("PyPy"))]
    return rows + [Row("Python", name, NOT_RUN, "not on this machine") for name in missing]
