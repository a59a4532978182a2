"""The demonstration behind scripts/demo: set up, sweep the example store from the shell and from Python, show it."""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import engine
from checkout import ROOT, TOOLS, venv_python
from histogram import histogram
from toolbox import open_toolbox

import make_example_store
from native_build.toolchain import ToolchainError

if TYPE_CHECKING:
    from pathlib import Path

VENV = TOOLS / "demo"
SCRATCH = TOOLS / "demo-store"
SCALE_DAYS = 30
EXPONENT = 1.0
THRESHOLD = 0.1


class Setup(NamedTuple):
    """What the setting-up led to."""

    programs: Path  # the folder with the installed decay-sweep
    origin: list[str]  # where the compilers came from
    missing: str  # why there is no native engine; empty where there is one


def set_up() -> Setup:
    """Build the engine, install the package, and make two copies of the example store."""
    box = open_toolbox()
    missing = "; ".join(box.missing)
    if box.complete:
        try:
            engine.build(box)
        except ToolchainError as error:
            missing = str(error)
    if missing:
        engine.unstage()
    programs = engine.install_package(VENV, native=not missing)
    SCRATCH.mkdir(exist_ok=True)
    for path in SCRATCH.iterdir():
        path.unlink()
    make_example_store.write_store(SCRATCH / "memories.jsonl")
    (SCRATCH / "memories-python.jsonl").write_bytes((SCRATCH / "memories.jsonl").read_bytes())
    return Setup(programs, box.origin, missing)


def use_shell(programs: Path, mode: str, *files: str) -> None:
    """Show a decay-sweep command, run it in the scratch folder, and show what it printed and how long it took."""
    command = ["decay-sweep", "--mode", mode, "--input", "memories.jsonl", *files, "--model", "power-law"]
    command += ["--now-ms", str(make_example_store.NOW_MS), "--scale", f"{SCALE_DAYS}d"]
    command += ["--exponent", str(EXPONENT), "--threshold", str(THRESHOLD)]
    print(f"$ {shlex.join(command)}", flush=True)
    started = time.perf_counter()
    result = subprocess.run([programs / command[0], *command[1:]], cwd=SCRATCH, check=False)
    if result.returncode:
        sys.exit(f"recolva: the command above failed with status {result.returncode}")
    print(f"  in {time.perf_counter() - started:.3f} s\n", flush=True)


def use_python(function: str) -> dict[str, Any]:
    """Call one function of recolva.jsonl in the environment that has the package; return what it reports."""
    policy = {
        "now": make_example_store.NOW_MS,
        "scale_millis": SCALE_DAYS * make_example_store.DAY_MS,
        "exponent": EXPONENT,
        "threshold": THRESHOLD,
    }
    files = ["memories-python.jsonl"] + (["archive-python.jsonl"] if function.startswith("archive") else [])
    arguments = ", ".join([*map(repr, files), *(f"{name}={value}" for name, value in policy.items())])
    print(f">>> {function}({arguments})", flush=True)
    command: list[str | Path] = [venv_python(VENV), ROOT / "scripts" / "workbench" / "demo_sweep.py", function]
    result = subprocess.run(
        command, input=json.dumps([files, policy]), cwd=SCRATCH, stdout=subprocess.PIPE, text=True, check=False
    )
    if result.returncode:
        sys.exit(f"recolva: the Python part failed with status {result.returncode}")
    report: dict[str, Any] = json.loads(result.stdout)
    pruned = sum(prune for _, _, prune in report["decisions"])
    print(f"  {len(report['decisions']):,} decisions: {pruned:,} below the threshold, in {report['seconds']:.3f} s")
    print(f"  backend: {report['backend']}\n", flush=True)
    return report


def show_examples(decisions: list[tuple[str, float, bool]]) -> None:
    """Show five kept and five archived records, spread evenly over the scores."""
    for title, pruned in (("kept", False), ("archived", True)):
        ranked = sorted((entry for entry in decisions if entry[2] is pruned), key=lambda entry: -entry[1])
        print(f"five of the {len(ranked):,} {title}")
        for number in range(5 if ranked else 0):
            identity, score, _ = ranked[number * (len(ranked) - 1) // 4]
            print(f"  {identity}  {score!r}")
        print()


def compare_files() -> None:
    """Compare what the shell and what Python left behind."""
    for name in ("memories", "archive"):
        one, other = (SCRATCH / f"{name}{suffix}.jsonl" for suffix in ("", "-python"))
        if one.read_bytes() != other.read_bytes():
            sys.exit(f"recolva: {one.name} and {other.name} differ; this is a fault, please report it")
        print(f"{one.name} and {other.name} hold the same {one.stat().st_size:,} bytes")


def main() -> int:
    """Run the demonstration."""
    argparse.ArgumentParser(prog="scripts/demo", description=__doc__).parse_args()
    started = time.perf_counter()
    setup = set_up()
    print(f"set up in {time.perf_counter() - started:.1f} s, all inside this checkout")
    for text in setup.origin:
        print(f"  {text}")
    print(f"  {make_example_store.COUNT:,} synthetic memories in {SCRATCH.relative_to(ROOT)}/memories.jsonl\n")
    if setup.missing:
        print(f"No native engine, so Python does all the work. What is missing: {setup.missing}\n")
    else:
        use_shell(setup.programs, "dry-run")
    decisions = use_python("scan_power_law_jsonl")["decisions"]
    blocks = (sys.stdout.encoding or "").lower().startswith("utf")
    print("\n".join(histogram([score for _, score, _ in decisions], THRESHOLD, blocks=blocks)), "\n")
    show_examples(decisions)
    if not setup.missing:
        use_shell(setup.programs, "archive", "--archive", "archive.jsonl", "--audit", "audit.jsonl")
    use_python("archive_power_law_jsonl")
    if not setup.missing:
        compare_files()
    print(f"\nall of it took {time.perf_counter() - started:.1f} s")
    return 0
