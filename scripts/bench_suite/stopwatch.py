"""One process run and what it cost; medians over interleaved rounds."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from checkout import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


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


def measure(contestant: Contestant) -> Cost:
    """Run a contestant once."""
    if contestant.prepare:
        contestant.prepare()
    words = [str(word) for word in contestant.command]
    started = time.perf_counter()
    # Without a pipe to read, nothing of this process runs beside the one that is measured.
    with subprocess.Popen(
        words, env=contestant.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        printed = process.stdout.read().decode("utf-8", "replace").strip()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        msg = f"{contestant.name} failed with status {process.returncode}: {printed}"
        raise CommandError(msg)
    kibibytes = usage.ru_maxrss / 1024 if sys.platform == "darwin" else usage.ru_maxrss
    return Cost(wall, usage.ru_utime + usage.ru_stime, kibibytes / 1024, printed)


def race(contestants: Sequence[Contestant], rounds: int) -> dict[str, Cost]:
    """Run the contestants in turn, round after round, and return the medians of each.

    One warm-up round comes first. Whatever the machine does meanwhile then hits all of them alike.
    """
    costs: dict[str, list[Cost]] = {contestant.name: [] for contestant in contestants}
    for number in range(rounds + 1):
        for contestant in contestants:
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
