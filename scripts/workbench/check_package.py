"""The steps of scripts/check that make what is released and try it as a stranger would."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import engine
from check_go import go
from check_python import run_uv
from checkout import PYTHON_ROOT, ROOT, CommandError, bin_folder, make_venv, run, venv_python
from step import Skipped, Step, need_compilers, need_go

import local_proxy
from native_build import layout

if TYPE_CHECKING:
    from toolbox import Toolbox

ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"

TRY_PACKAGE = """
import recolva, recolva.jsonl, memoryhalflife
from importlib.metadata import version
assert recolva.exponential_score(last_accessed=1_000_000, now=87_400_000, half_life_millis=86_400_000) == 0.5
print(version("recolva"), recolva.backend().name)
"""


def wheel_and_sdist(box: Toolbox) -> str:
    """Build the sdist, and from it the wheel, as `uv build` does; install each into a fresh environment and use it."""
    with tempfile.TemporaryDirectory(prefix="recolva-") as scratch:
        folder = Path(scratch)
        native = "1" if box.complete else "0"
        run_uv(box, "build", "--quiet", "--out-dir", folder / "sdist", RECOLVA_BUILD_NATIVE=native)
        run_uv(box, "build", "--quiet", "--wheel", "--out-dir", folder / "pure", RECOLVA_BUILD_NATIVE="0")
        wheels = sorted(folder.glob("*/*.whl"))
        return "; ".join(try_wheel(wheel, folder / f"try-{wheel.parent.name}") for wheel in wheels)


def try_wheel(wheel: Path, venv: Path) -> str:
    """Install a wheel with pip and use all three of its entrances."""
    python = make_venv(venv)
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", wheel])
    environment = {**os.environ, "RECOLVA_NATIVE": "0" if wheel.name.endswith("-any.whl") else "1"}
    said = run([venv_python(venv), "-c", TRY_PACKAGE], environment=environment, folder=venv).strip()
    run([bin_folder(venv) / "memory-half-life", "--help"], folder=venv)
    if not wheel.name.endswith("-any.whl"):
        program = bin_folder(venv) / ("decay-sweep.exe" if "-win" in wheel.name else "decay-sweep")
        version = run([program, "--version"], folder=venv)
        if layout.version(ROOT) not in version:
            msg = f"the wheel's decay-sweep --version says {version.strip()}"
            raise CommandError(msg)
    return f"{wheel.name.split('-none-')[1][:-4]}: {said}"


def documented_commands(box: Toolbox) -> str:
    """Run the documented build commands as they are written; try the wheel that they make."""
    need_compilers(box)
    go(box, "build", "-o", "decay-sweep", "./cmd/decay-sweep")
    run([ROOT / "decay-sweep", "--version"])
    go(box, "test", "./cmd/decay-sweep", "./internal/ffi", "./internal/sweep", "./pkg/decay")
    go(box, "build", "-buildmode=c-shared", "-o", "dist/librecolva.so", "./native")
    staging = ["--source", "dist/librecolva.so", "--target-directory", "python/src/recolva/_native"]
    run([sys.executable, "scripts/stage_native.py", *staging])
    try:
        with tempfile.TemporaryDirectory(prefix="recolva-") as scratch:
            run_uv(box, "build", "--quiet", "--wheel")
            newest = max((PYTHON_ROOT / "dist").glob("*.whl"), key=lambda wheel: wheel.stat().st_mtime)
            return try_wheel(newest, Path(scratch) / "try")
    finally:
        engine.forget()
        engine.build(box)


def module_proxy(box: Toolbox) -> str:
    """Install decay-sweep with `go install` through a file-based module proxy made from this tree."""
    need_go(box)
    version = f"v{layout.version(ROOT)}"
    with tempfile.TemporaryDirectory(prefix="recolva-") as scratch:
        folder = Path(scratch)
        local_proxy.write_proxy(ROOT, folder / "proxy", version)
        settings = local_proxy.go_settings(folder / "proxy", go(box, "env", "GOPROXY").strip())
        settings.update(GOBIN=str(folder / "bin"), GOMODCACHE=str(folder / "mod"))
        try:
            go(box, "install", f"{local_proxy.MODULE}/cmd/decay-sweep@{version}", **settings)
            said = run([next((folder / "bin").iterdir()), "--version"], environment=box.environment).splitlines()[0]
        finally:
            go(box, "clean", "-modcache", **settings)
            shutil.rmtree(folder / "mod", ignore_errors=True)
    if version[1:] not in said:
        msg = f"the installed decay-sweep --version says {said}"
        raise CommandError(msg)
    return said


def bare_machine(box: Toolbox) -> str:
    """Run scripts/demo in a copy of the tree where PATH leads to git, Python and a shell alone."""
    del box
    if os.name != "posix":
        msg = "PATH can't be emptied this way here"
        raise Skipped(msg)
    with tempfile.TemporaryDirectory(prefix="recolva-") as scratch:
        folder = Path(scratch)
        for file in local_proxy.module_files(ROOT):
            (folder / "tree" / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, folder / "tree" / file)
        (folder / "bin").mkdir()
        (folder / "home").mkdir()
        for name, target in (
            ("git", shutil.which("git")),
            ("sh", shutil.which("sh")),
            ("python3", os.path.realpath(sys.executable)),
        ):
            (folder / "bin" / name).symlink_to(target or name)
        environment = {"PATH": str(folder / "bin"), "HOME": str(folder / "home"), "LANG": "C.UTF-8"}
        printed = run([folder / "tree" / "scripts" / "demo"], environment=environment, folder=folder)
    return printed.strip().splitlines()[-1]


def actionlint(box: Toolbox) -> str:
    """Check the workflows."""
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    go(box, "run", ACTIONLINT, *map(str, workflows))
    return f"{len(workflows)} workflows"


STEPS = (
    Step("documented commands", documented_commands),
    Step("wheels and sdist", wheel_and_sdist),
    Step("go install through a proxy", module_proxy),
    Step("actionlint", actionlint),
    Step("demo on a bare machine", bare_machine, long=True),
)
