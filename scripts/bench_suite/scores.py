"""Single scores, arrays of them, and the tick engine: each program measures itself and prints figures."""

from __future__ import annotations

import json
import os
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from checkout import PYTHON_ROOT, ROOT, TOOLS, run, venv_python

from bench_suite.environments import VENV, importable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolbox import Toolbox

Figures = dict[str, float]

GO, PURE, ARRAY, TICKS = (
    "one score in Go, ns",
    "one score in pure Python, µs",
    "score_array, ns each",
    "MemoryEngine, µs",
)
CURVE, FILE, BATCH = (
    "MemoryEngine, µs for each that expires",
    "MemoryEngine in a file, operations/s",
    "MemoryEngine in a batch, operations/s",
)


def measure(box: Toolbox, rounds: int, *, quick: bool) -> dict[str, Figures]:
    """Take all measurements, round after round, and return the median of each figure."""
    measurements = {GO: go_scores(box), PURE: python_task("score", RECOLVA_NATIVE="0")}
    if importable(VENV, "numpy"):
        measurements[ARRAY] = python_task("array", "1000000" if quick else "10000000")
    figures = medians(measurements, rounds)
    return {**figures, **ticks(quick=quick)}  # medians of its own


def go_scores(box: Toolbox) -> Callable[[], Figures]:
    """Return a measurement of one score in Go, in nanoseconds."""
    program = TOOLS / "bench" / "goscore"
    assert box.go is not None
    run([box.go.go, "build", "-o", program, "./scripts/bench_suite/goscore"], environment=box.environment, folder=ROOT)
    return lambda: {name: float(figure) for name, figure in (line.split() for line in run([program]).splitlines())}


def python_task(*task: str, **settings: str) -> Callable[[], Figures]:
    """Return a measurement that ours.py makes of itself."""
    command: list[str | Path] = [venv_python(VENV), Path(__file__).with_name("ours.py"), *task]

    def measure() -> Figures:
        figures: Figures = json.loads(run(command, environment={**os.environ, **settings}))
        return figures

    return measure


def ticks(*, quick: bool) -> dict[str, Figures]:
    """Return what python/benchmarks/engine.py says: the largest engine, the curve of expiry, and those in files."""
    largest, operations, batch = ("10000", "200", "2000") if quick else ("1000000", "1000", "50000")
    with tempfile.TemporaryDirectory() as folder:
        command: list[str | Path] = [venv_python(VENV), PYTHON_ROOT / "benchmarks" / "engine.py", "--json"]
        command += ["--largest", largest, "--operations", operations, "--batch", batch, "--directory", folder]
        result = json.loads(run(command))
    rows, files = result["memory"], result["file"]
    curve = {}
    for row in rows:
        curve[f"1000 of {row['living']:,}"] = row.pop("1000 expire, each")
        curve[f"all {row['living']:,}"] = row.pop("all expire, each")
    in_file = {f"{kind} {name}": figure for kind in ("FULL", "NORMAL") for name, figure in files[kind].items()}
    return {TICKS: rows[-1], CURVE: curve, FILE: in_file, BATCH: files["batch"]}


def medians(measurements: Mapping[str, Callable[[], Figures]], rounds: int) -> dict[str, Figures]:
    """Take the measurements in turn, round after round, and return the median of each figure."""
    taken: dict[str, list[Figures]] = {name: [] for name in measurements}
    for _ in range(rounds):
        for name, measure_one in measurements.items():
            taken[name].append(measure_one())
    return {
        name: {figure: statistics.median(round_[figure] for round_ in rounds_) for figure in rounds_[0]}
        for name, rounds_ in taken.items()
    }
