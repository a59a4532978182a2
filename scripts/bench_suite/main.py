"""Measure recolva beside the field on this machine: medians of interleaved rounds, one table.

The first run makes the stores (a million records of each shape) and installs the field's packages, all in
.tools/bench. simdjson is compared where a C++ compiler finds it (Debian: libsimdjson-dev).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from typing import TYPE_CHECKING

import engine
from checkout import PYTHON_ROOT, CommandError, make_venv, run, say
from toolbox import open_toolbox, uv, uv_settings

from bench_suite import scores, stores, sweeps
from bench_suite.stopwatch import Cost, race

if TYPE_CHECKING:
    from pathlib import Path

    from toolbox import Toolbox

Table = dict[str, dict[str, Cost]]
PARTS = ("sweeps", "mutations", "python", "scores")


def set_up(box: Toolbox) -> Path:
    """Build the engine, install the package and the field; return decay-sweep."""
    if not box.complete:
        raise CommandError("; ".join(box.missing))
    _, program = engine.build(box)
    stores.FOLDER.mkdir(parents=True, exist_ok=True)
    engine.install_package(sweeps.VENV, native=True)
    group = f"{PYTHON_ROOT / 'pyproject.toml'}:bench"
    try:
        command: list[str | Path] = [
            uv(),
            "pip",
            "install",
            "--quiet",
            "--python",
            make_venv(sweeps.VENV),
            "--group",
            group,
        ]
        run(command, environment={**os.environ, **uv_settings()})
    except CommandError as error:
        say(f"the field's packages are left out: {error}")
    return program


def file_rows(program: Path, parts: list[str], count: int, rounds: int) -> Table:
    """Run the races over files."""
    table: Table = {}
    if "sweeps" in parts:
        for shape in ("realistic", "minimal"):
            say(f"dry-run, {shape}")
            table[f"dry-run, {count:,} {shape} records"] = race(
                sweeps.dry_runs(program, stores.store(shape, count)), rounds
            )
    if "mutations" in parts:
        say("archive and delete")
        table[f"archive and delete, {count:,} realistic records"] = race(
            sweeps.mutations(program, stores.store("realistic", count)), rounds
        )
    if "python" in parts:
        say("Python over files")
        table[f"Python scan, {count:,} realistic records"] = race(
            sweeps.python_scans(stores.store("realistic", count)), rounds
        )
    for costs in table.values():
        sweeps.check_agreement(costs)
    return table


def figure_rows(box: Toolbox, rounds: int, *, quick: bool) -> dict[str, scores.Figures]:
    """Take the measurements of scores, arrays and the tick engine."""
    say("scores, arrays, ticks")
    elements, memories = ("1000000", "50000") if quick else ("10000000", "1000000")
    measurements = {
        "one score in Go, ns": scores.go_scores(box),
        "one score in pure Python, µs": scores.python_task("score", RECOLVA_NATIVE="0"),
        f"MemoryEngine, {int(memories):,} living, µs": scores.python_task("ticks", memories),
    }
    if sweeps.importable("numpy"):
        measurements[f"score_array, {int(elements):,} elements, ns each"] = scores.python_task("array", elements)
    return scores.medians(measurements, rounds)


def print_costs(table: Table) -> None:
    """Print what the contestants cost, the first of each row being ours."""
    for title, costs in table.items():
        width = max(map(len, costs))
        print(f"\n{title}\n  {'':<{width}}  {'wall s':>8} {'CPU s':>8} {'MiB':>7}")
        for name, cost in costs.items():
            print(f"  {name:<{width}}  {cost.wall:8.3f} {cost.cpu:8.3f} {cost.memory:7.0f}")


def print_figures(table: dict[str, scores.Figures]) -> None:
    """Print the figures that programs measured of themselves."""
    print()
    for title, figures in table.items():
        print(f"{title}: " + ", ".join(f"{name} {value:.2f}" for name, value in figures.items()))


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="50,000 records instead of a million")
    parser.add_argument("--rounds", type=int, default=5, help="rounds whose median counts (default 5)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these: {' '.join(PARTS)}")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - set(PARTS)
    if unknown or arguments.rounds < 1:
        parser.error(f"there is no part {min(unknown)}" if unknown else "--rounds must be at least 1")
    parts = arguments.parts or list(PARTS)
    box = open_toolbox()
    program = set_up(box)
    costs = file_rows(program, parts, 50_000 if arguments.quick else 1_000_000, arguments.rounds)
    figures = figure_rows(box, arguments.rounds, quick=arguments.quick) if "scores" in parts else {}
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    if arguments.json:
        plain = {title: {name: cost._asdict() for name, cost in row.items()} for title, row in costs.items()}
        json.dump({"machine": machine, "rounds": arguments.rounds, "costs": plain, "figures": figures}, sys.stdout)
        print()
        return 0
    print(f"{machine}; medians of {arguments.rounds} interleaved rounds after one to warm up")
    print("memory figures below that of this process itself are not seen")
    print_costs(costs)
    print_figures(figures)
    return 0
