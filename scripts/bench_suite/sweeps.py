"""decay-sweep and the Python functions over files, beside what the field offers for the same work."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from checkout import CommandError, run, say, venv_python

from bench_suite import stores
from bench_suite.environments import PEER, VENV, importable
from bench_suite.stopwatch import Contestant, Cost

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).parent
FIELD, OURS = HERE / "field.py", HERE / "ours.py"
AUDIT = stores.WORK / "audit.jsonl"
ARCHIVE = stores.WORK / "archive.jsonl"
CUTOFF = str(stores.CUTOFF_MS)

# Names that more than one module knows.
ONE, TWO, AUDITED = "decay-sweep, 1 worker", "decay-sweep, 2 workers", "decay-sweep, 2 workers, audit"
PEER_PROGRAM, PEER_SCAN = "recolva 0.2.0, its decay-sweep", "recolva 0.2.0, Python"


def sweep(program: str | Path, store: Path, *more: str) -> list[str | Path]:
    """Return the decay-sweep command of the benchmark."""
    policy = ["--now-ms", stores.NOW_MS, "--half-life-ms", stores.HALF_LIFE_MS, "--threshold", stores.THRESHOLD]
    return [program, "--input", store, "--model", "exponential", *map(str, policy), *more]


def peer(task: str, store: Path, *more: str | Path) -> list[str | Path]:
    """Return the command that has recolva 0.2.0 do a task in Python."""
    policy = (stores.NOW_MS, stores.HALF_LIFE_MS, stores.THRESHOLD)
    return [venv_python(PEER), FIELD, f"recolva-{task}", store, *map(str, policy), *more]


def peer_program(store: Path, *more: str) -> list[Contestant]:
    """Return the earlier release's own decay-sweep, where RECOLVA_020_SWEEP says where it is."""
    program = os.environ.get("RECOLVA_020_SWEEP")
    return [Contestant(PEER_PROGRAM, sweep(program, store, *more), slow=True)] if program else []


def dry_runs(program: Path, store: Path) -> list[Contestant]:
    """Return ours and the field for counting what would go."""
    two = sweep(program, store, "--workers", "2")
    contestants = [
        Contestant(ONE, sweep(program, store, "--workers", "1")),
        Contestant(TWO, two),
        Contestant(AUDITED, [*two, "--audit", AUDIT], stores.clear_work),
    ]
    scanner = simdjson_scanner()
    if scanner:
        contestants.append(Contestant("simdjson, C++", [scanner, store, CUTOFF]))
    python = venv_python(VENV)
    tools = [tool for tool in ("duckdb", "polars", "orjson", "json") if importable(VENV, tool)]
    contestants += [Contestant(tool, [python, FIELD, tool, store, CUTOFF], slow=tool == "json") for tool in tools]
    if shutil.which("jq"):
        count = f"reduce inputs as $record (0; if $record.last_accessed_ms < {CUTOFF} then . + 1 else . end)"
        contestants.append(Contestant("jq", ["jq", "-n", count, store], slow=True))
    contestants += peer_program(store, "--mode", "dry-run", "--workers", "2")
    quietly: list[str | Path] = ["/bin/sh", "-c", 'exec "$@" >/dev/null', "-"]
    contestants += [Contestant(" ".join(words), [*quietly, *words, store]) for words in (["wc", "-l"], ["cat"])]
    return contestants


def mutations(program: Path, store: Path) -> list[Contestant]:
    """Return ours and the field for taking the old records out of a store."""
    copy = stores.WORK / "store.jsonl"
    archive = ("--mode", "archive", "--archive", str(ARCHIVE), "--workers", "2")
    delete = ("--mode", "delete", "--confirm-delete", "--workers", "2")

    def prepare() -> None:
        stores.fresh_copy(store)

    contestants = [
        Contestant("archive", sweep(program, copy, *archive), prepare),
        Contestant("archive, audit", sweep(program, copy, *archive, "--audit", str(AUDIT)), prepare),
        Contestant("delete", sweep(program, copy, *delete), prepare),
    ]
    ours: list[str | Path] = [venv_python(VENV), OURS, "archive", copy]
    ours += [str(stores.HALF_LIFE_MS), str(stores.THRESHOLD), ARCHIVE]
    contestants.append(Contestant("archive, Python", ours, prepare))
    scanner = simdjson_scanner()
    if scanner:
        command: list[str | Path] = [scanner, copy, CUTOFF, stores.WORK / "kept.jsonl"]
        contestants.append(Contestant("simdjson delete, C++", command, prepare))
    if importable(PEER, "recolva"):
        contestants += [
            Contestant("recolva 0.2.0, Python archive", peer("archive", copy, ARCHIVE), prepare, slow=True),
            Contestant("recolva 0.2.0, Python delete", peer("delete", copy), prepare, slow=True),
        ]
    contestants += [contestant._replace(prepare=prepare) for contestant in peer_program(copy, *archive)]
    return contestants


def python_scans(store: Path) -> list[Contestant]:
    """Return the documented Python scan, native and pure, beside the loop that one would write."""
    python = venv_python(VENV)
    command: list[str | Path] = [python, OURS, "scan", store, str(stores.HALF_LIFE_MS), str(stores.THRESHOLD)]
    native, pure = ({**os.environ, "RECOLVA_NATIVE": wish} for wish in "10")
    contestants = [
        Contestant("scan", command, environment=native),
        Contestant("scan, pure Python", command, environment=pure, slow=True),
    ]
    if importable(PEER, "recolva"):
        contestants.append(Contestant(PEER_SCAN, peer("scan", store), slow=True))
    tools = [tool for tool in ("orjson", "json") if importable(VENV, tool)]
    contestants += [Contestant(f"{tool} loop", [python, FIELD, tool, store, CUTOFF]) for tool in tools]
    return contestants


def start_ups(program: Path) -> list[Contestant]:
    """Return the shortest runs there are."""
    python = venv_python(VENV)
    return [
        Contestant("decay-sweep --version", [program, "--version"]),
        Contestant("python -c pass", [python, "-c", "pass"]),
        Contestant("import recolva", [python, "-c", "import recolva"]),
    ]


def growing(program: Path, minimal: list[Path], realistic: list[Path], long_line: Path) -> list[Contestant]:
    """Return sweeps of ever larger stores, and of one very long line."""

    def archived(path: Path) -> Contestant:
        copy = stores.WORK / "growing.jsonl"
        command = sweep(program, copy, "--mode", "archive", "--archive", str(ARCHIVE), "--workers", "2")

        def prepare() -> None:
            ARCHIVE.unlink(missing_ok=True)
            shutil.copyfile(path, copy)
            os.sync()

        return Contestant(f"archive, realistic, {path.stat().st_size:,} bytes", command, prepare)

    def swept(name: str, path: Path) -> Contestant:
        return Contestant(f"{name}, {path.stat().st_size:,} bytes", sweep(program, path, "--workers", "2"))

    return [
        *(swept("dry-run, minimal", path) for path in minimal),
        *map(archived, realistic),
        swept("dry-run, one long line", long_line),
    ]


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
