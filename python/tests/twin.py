"""The `decay-sweep` program beside the Python code, on the same files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.crashes import ARGUMENTS, World

if TYPE_CHECKING:
    import random

    from tests.crashes import Scenario

ROOT = Path(__file__).parents[2]
VERSION = (ROOT / "internal/version/VERSION").read_text().strip()
POLICY = ("--now-ms", str(ARGUMENTS["now"]), "--half-life-ms", str(ARGUMENTS["half_life_millis"]))


def build(folder: Path) -> str:
    """Build the program, or skip the test where there is no Go."""
    if sys.platform != "linux" or shutil.which("go") is None:
        pytest.skip("the program is built with Go, on Linux")
    path = folder / "decay-sweep"
    subprocess.run(
        [str(shutil.which("go")), "build", "-o", path, "./cmd/decay-sweep"], cwd=ROOT, check=True, timeout=600
    )
    return str(path)


def command(program: str, scenario: Scenario, world: World) -> list[str]:
    """Return the command that sweeps a world as its scenario says."""
    mode = "replace" if scenario.replace else "append"
    words = [program, "--input", world.store, "--mode", scenario.mode, *POLICY, "--threshold", "0.5"]
    words += ["--lock-timeout", "0s"]
    if scenario.mode == "archive":
        words += ["--archive", world.archive, "--archive-mode", mode]
    if scenario.mode == "delete":
        words += ["--confirm-delete"]
    if scenario.audit:
        words += ["--audit", world.audit, "--audit-mode", mode]
    return words


def python_command(scenario: Scenario, world: World) -> list[str]:
    """Return the same as a command of Python."""
    mode = "replace" if scenario.replace else "append"
    names = [world.store, world.archive] if scenario.mode == "archive" else [world.store]
    options = {**ARGUMENTS, "audit_mode": mode, "audit": world.audit if scenario.audit else None}
    if scenario.mode == "archive":
        options["archive_mode"] = mode
    verb = {"archive": "archive", "delete": "delete", "dry-run": "scan"}[scenario.mode]
    code = f"import recolva; from recolva import jsonl; recolva.__version__ = {VERSION!r}; jsonl.{verb}_exponential_jsonl(*{names!r}, **{options!r})"
    return [sys.executable, "-c", code]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "python" / "src"), "PYTHONDONTWRITEBYTECODE": "1"}


def run(words: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command."""
    return subprocess.run(  # type: ignore[call-overload, no-any-return] # noqa: PLW1510
        words, capture_output=True, text=True, timeout=60, env=environment(), **options
    )


def recover_by_program(program: str, path: str) -> subprocess.CompletedProcess[str]:
    """Let the program settle what was left at a file."""
    return run([program, "recover", "--input", path, "--lock-timeout", "0s"])


def kill_at_random(words: list[str], choose: random.Random, *, longest: float) -> None:
    """Start a command and kill it after a random time."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment()) as process:
        time.sleep(choose.random() * longest)
        process.kill()


CALLS = ("write", "fsync", "renameat", "linkat", "unlinkat", "openat", "flock", "fcntl", "fchmod", "close", "pread64")


def kill_at_call(words: list[str], choose: random.Random) -> bool:
    """Let the system kill a command at its n-th call of a kind; False if it ended before."""
    call, number = choose.choice(CALLS), choose.choice((1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 11, 15, 20))
    inject = f"inject={call}:signal=SIGKILL:when={number}"
    done = run(["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", inject, *words])
    return done.returncode != 0
