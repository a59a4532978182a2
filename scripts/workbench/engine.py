"""The engine: the library and decay-sweep, built into dist/ and staged for the wheel."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from checkout import DIST, PYTHON_ROOT, ROOT, STAGED, Stamp, bin_folder, digest_files, make_venv, run, say

import stage_native
from native_build import layout, toolchain

if TYPE_CHECKING:
    from pathlib import Path

    from toolbox import Toolbox

STAMP = DIST / ".stamp"


def build(box: Toolbox) -> tuple[Path, Path]:
    """Build and stage both parts unless their sources are unchanged; return the library and the program."""
    if box.go is None:
        msg = "Go is missing"
        raise toolchain.ToolchainError(msg)
    library = DIST / toolchain.library_name(box.go)
    program = DIST / layout.program_name(box.go.system)
    sources = [ROOT / name for name in layout.go_sources(ROOT)]
    stamp = Stamp(STAMP, digest_files(sources, box.go.go, box.compiler))
    staged = [STAGED / library.name, STAGED / "bin" / program.name]
    if not (stamp.fresh() and all(path.exists() for path in (library, program, *staged))):
        say("building the engine")
        DIST.mkdir(exist_ok=True)
        box.go.build_library(ROOT, library, box.compiler)
        box.go.build_program(ROOT, program)
        stage_native.stage(library, STAGED, program)
        stamp.done()
    return library, program


def forget() -> None:
    """Make the next build start anew: something else was put in place of what the last one made."""
    STAMP.unlink(missing_ok=True)


def unstage() -> None:
    """Remove what an earlier build staged, so that it can't pass for this one's."""
    for name in layout.LIBRARY_NAMES.values():
        (STAGED / name).unlink(missing_ok=True)
    shutil.rmtree(STAGED / "bin", ignore_errors=True)


def install_package(venv: Path, *, native: bool) -> Path:
    """Install the checkout's package into a virtual environment unless it is there; return the folder of programs."""
    python = make_venv(venv)
    files = [path for path in (PYTHON_ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    files += (PYTHON_ROOT / "native_build").glob("*.py")
    files += [PYTHON_ROOT / "pyproject.toml", PYTHON_ROOT / "hatch_build.py", ROOT / layout.VERSION_FILE]
    stamp = Stamp(venv / "recolva-stamp", digest_files(files, str(native)))
    if not stamp.fresh():
        say(f"installing the package into {venv.relative_to(ROOT)}")
        environment = {**os.environ, "RECOLVA_BUILD_NATIVE": "1" if native else "0"}
        pip: list[str | Path] = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--force-reinstall",
        ]
        run([*pip, PYTHON_ROOT], environment=environment)
        stamp.done()
    return bin_folder(venv)
