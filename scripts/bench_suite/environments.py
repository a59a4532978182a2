"""The environments of the contestants in Python: ours with the field's packages, and that of recolva 0.2.0."""

from __future__ import annotations

import subprocess
from functools import cache
from typing import TYPE_CHECKING

import engine
from checkout import PYTHON_ROOT, CommandError, make_venv, run, say, venv_python
from toolbox import uv

from bench_suite import stores

if TYPE_CHECKING:
    from pathlib import Path

VENV = stores.FOLDER / "venv"
PEER = stores.FOLDER / "venv-0.2.0"
PEER_PACKAGE = "recolva==0.2.0"  # the release that this project began as, as it was published


def set_up() -> None:
    """Install the package, the field's packages and the earlier release; what can't be had is left out."""
    engine.install_package(VENV, native=True)
    _install(VENV, "--group", f"{PYTHON_ROOT / 'pyproject.toml'}:bench")
    _install(PEER, PEER_PACKAGE)


def _install(venv: Path, *what: str) -> None:
    try:
        run([uv(), "pip", "install", "--quiet", "--python", make_venv(venv), *what])
    except CommandError as error:
        say(f"{' '.join(what)} is left out: {error}")


@cache
def importable(venv: Path, name: str) -> bool:
    """Tell whether an environment has a package."""
    command: list[str | Path] = [venv_python(venv), "-c", f"import {name}"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False
