"""One process run and what it cost; medians over interleaved rounds."""

from __future__ import annotations

import json
import os
import statistics
import sys
from typing import TYPE_CHECKING, NamedTuple

from checkout import ROOT, TOOLS, CommandError, run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from toolbox import Toolbox

LAUNCHER = TOOLS / "bench" / "launch"


class Cost(NamedTuple):
    """What one run cost: seconds of wall clock and of processor, and peak memory in MiB."""

    wall: float
    cpu: float
    memory: float
    printed: str


class Contestant(NamedTuple):
    """One command that does the work of a row; ``prepare`` runs before each round, outside the measurement."""

    name: str
    command: Sequence[str | Path]
    prepare: Callable[[], None] | None = None
    environment: Mapping[str, str] | None = None
    slow: bool = False
    """It takes many seconds: it is spared the round that warms up."""


def build_launcher(box: Toolbox) -> None:
    """Build the program that starts and measures every command."""
    assert box.go is not None
    run([box.go.go, "build", "-o", LAUNCHER, "./scripts/bench_suite/launch"], environment=box.environment, folder=ROOT)


def measure(contestant: Contestant) -> Cost:
    """Run a contestant once."""
    if contestant.prepare:
        contestant.prepare()
    report = json.loads(run([LAUNCHER, *contestant.command], environment=contestant.environment))
    printed = report["printed"].strip()
    if report["status"]:
        msg = f"{contestant.name} failed with status {report['status']}: {printed[-2000:]}"
        raise CommandError(msg)
    return Cost(report["wall"], report["cpu"], report["memory"], printed)


def touch_memory(most: int = 8 << 30) -> None:
    """Use half of the free memory once, at most so many bytes.

    A virtual machine gets its memory from the host at the first touch. Contestants that need
    much of it would pay for that, in every round, and those that need little would not.
    """
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return
    run([sys.executable, "-c", f"b'x' * {min(most, free // 2)}"])


def race(contestants: Sequence[Contestant], rounds: int) -> dict[str, Cost]:
    """Run the contestants in turn, round after round, and return the medians of each.

    One warm-up round comes first. Whatever the machine does meanwhile then hits all of them alike.
    """
    costs: dict[str, list[Cost]] = {contestant.name: [] for contestant in contestants}
    for number in range(rounds + 1):
        for contestant in contestants:
            if number or not contestant.slow:
                cost = measure(contestant)
                if number:
                    costs[contestant.name].append(cost)
    return {name: median(runs) for name, runs in costs.items()}


def median(runs: Sequence[Cost]) -> Cost:
    """Return the median of each figure, and what the last run printed."""
    return Cost(
        statistics.median(run.wall for run in runs),
        statistics.median(run.cpu for run in runs),
        statistics.median(run.memory for run in runs),
        runs[-1].printed,
    )
