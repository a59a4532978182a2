"""decay-sweep and the Python functions over files, beside what the field offers for the same work."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from checkout import CommandError, run, say, venv_python

from bench_suite import stores
from bench_suite.stopwatch import Contestant, Cost

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).parent
VENV = stores.FOLDER / "venv"
WORK = stores.FOLDER / "work"


def sweep(program: Path, store: Path, *more: str) -> list[str | Path]:
    """Return the decay-sweep command of the benchmark."""
    policy = ["--now-ms", stores.NOW_MS, "--half-life-ms", stores.HALF_LIFE_MS, "--threshold", stores.THRESHOLD]
    return [program, "--input", store, *map(str, policy), *more]


def dry_runs(program: Path, store: Path) -> list[Contestant]:
    """Return ours and the field for counting what would go."""
    cutoff = str(stores.CUTOFF_MS)
    contestants = [
        Contestant("decay-sweep, 1 worker", sweep(program, store, "--workers", "1")),
        Contestant("decay-sweep, 2 workers", sweep(program, store, "--workers", "2")),
    ]
    scanner = simdjson_scanner()
    if scanner:
        contestants.append(Contestant("simdjson, C++", [scanner, store, cutoff]))
    tools = [tool for tool in ("duckdb", "polars", "orjson", "json") if importable(tool)]
    python, script = venv_python(VENV), HERE / "field.py"
    contestants += [Contestant(tool, [python, script, tool, store, cutoff]) for tool in tools]
    quietly: list[str | Path] = ["/bin/sh", "-c", 'exec "$@" >/dev/null', "-"]
    contestants += [Contestant(" ".join(words), [*quietly, *words, store]) for words in (["wc", "-l"], ["cat"])]
    return contestants


def mutations(program: Path, store: Path) -> list[Contestant]:
    """Return ours and the field for taking the old records out of a store."""
    copy = WORK / "store.jsonl"
    archive = ("--mode", "archive", "--archive", str(WORK / "archive.jsonl"), "--workers", "2")
    delete = ("--mode", "delete", "--confirm-delete", "--workers", "2")
    audit = ("--audit", str(WORK / "audit.jsonl"))

    def prepare() -> None:
        stores.fresh_copy(store)

    contestants = [
        Contestant("archive", sweep(program, copy, *archive), prepare),
        Contestant("archive with audit", sweep(program, copy, *archive, *audit), prepare),
        Contestant("delete", sweep(program, copy, *delete), prepare),
    ]
    scanner = simdjson_scanner()
    if scanner:
        command: list[str | Path] = [scanner, copy, str(stores.CUTOFF_MS), WORK / "kept.jsonl"]
        contestants.append(Contestant("simdjson delete, C++", command, prepare))
    return contestants


def python_scans(store: Path) -> list[Contestant]:
    """Return the documented Python scan, native and pure, beside the loop that one would write."""
    python, cutoff = venv_python(VENV), str(stores.CUTOFF_MS)
    command: list[str | Path] = [
        python,
        HERE / "ours.py",
        "scan",
        store,
        str(stores.HALF_LIFE_MS),
        str(stores.THRESHOLD),
    ]
    contestants = [
        Contestant("scan_exponential_jsonl", command, environment={"RECOLVA_NATIVE": "1"}),
        Contestant("scan_exponential_jsonl, pure", command, environment={"RECOLVA_NATIVE": "0"}),
    ]
    if importable("orjson"):
        contestants.append(Contestant("orjson", [python, HERE / "field.py", "orjson", store, cutoff]))
    return contestants


def check_agreement(costs: Mapping[str, Cost]) -> None:
    """Fail where two contestants did not count the same: then they did not do the same work."""
    counts = {}
    for name, cost in costs.items():
        if cost.printed.startswith("{"):
            counts[name] = json.loads(cost.printed.splitlines()[0])["pruned"]
        elif cost.printed.isdigit():
            counts[name] = int(cost.printed)
    if len(set(counts.values())) > 1:
        msg = f"the contestants disagree: {counts}"
        raise CommandError(msg)


def importable(name: str) -> bool:
    """Tell whether the benchmark's environment has a package."""
    command: list[str | Path] = [venv_python(VENV), "-c", f"import {name}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def simdjson_scanner() -> Path | None:
    """Return the compiled C++ program, or None where a compiler or simdjson is missing."""
    program, source = stores.FOLDER / "simdjson_scan", HERE / "simdjson_scan.cpp"
    compiler = shutil.which("g++") or shutil.which("clang++")
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    if compiler is None:
        return None
    try:
        run([compiler, "-O3", "-std=c++17", source, "-o", program, "-lsimdjson"])
    except CommandError:
        say("simdjson is left out: its header or library is missing (Debian: libsimdjson-dev)")
        return None
    return program
