"""Single scores, arrays of them, and the tick engine: each program measures itself and prints figures."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import TYPE_CHECKING

from checkout import ROOT, TOOLS, run, venv_python

from bench_suite.sweeps import VENV

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolbox import Toolbox

Figures = dict[str, float]


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
        figures: Figures = json.loads(run(command, environment=settings or None))
        return figures

    return measure


def medians(measurements: Mapping[str, Callable[[], Figures]], rounds: int) -> dict[str, Figures]:
    """Take the measurements in turn, round after round, and return the median of each figure."""
    taken: dict[str, list[Figures]] = {name: [] for name in measurements}
    for _ in range(rounds):
        for name, measure in measurements.items():
            taken[name].append(measure())
    return {
        name: {figure: statistics.median(round_[figure] for round_ in rounds_) for figure in rounds_[0]}
        for name, rounds_ in taken.items()
    }
