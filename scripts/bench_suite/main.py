"""Measure recolva beside the field on this machine: medians of interleaved rounds, one table.

The first run makes the stores (a million records of each shape) and installs the field's packages and recolva 0.2.0 as
it was published, all in .tools/bench; all else that a run writes is removed at its end. simdjson is compared where a C++
compiler finds it (Debian: libsimdjson-dev), jq where it is installed, the decay-sweep of 0.2.0 where RECOLVA_020_SWEEP
holds its path. The last part of the table sets the figures against what is required of them.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import engine
from checkout import CommandError, say
from toolbox import open_toolbox

from bench_suite import environments, floor, scores, stores, sweeps
from bench_suite.stopwatch import Contestant, Cost, build_launcher, race, touch_memory

if TYPE_CHECKING:
    from toolbox import Toolbox

Table = dict[str, dict[str, Cost]]
PARTS = ("dry-run", "mutations", "python", "start-up", "growth", "scores")


def set_up(box: Toolbox) -> Path:
    """Build the engine and the launcher, install all packages; return decay-sweep."""
    if not box.complete:
        raise CommandError("; ".join(box.missing))
    _, program = engine.build(box)
    stores.FOLDER.mkdir(parents=True, exist_ok=True)
    build_launcher(box)
    environments.set_up()
    return program


def races(program: Path, part: str, count: int) -> dict[str, list[Contestant]]:
    """Return the contestants of a part by the title of their row."""
    if part == "start-up":
        return {floor.START_UP: sweeps.start_ups(program)}
    realistic, minimal = stores.store("realistic", count), stores.store("minimal", count)
    if part == "dry-run":
        return {floor.REALISTIC: sweeps.dry_runs(program, realistic), floor.MINIMAL: sweeps.dry_runs(program, minimal)}
    if part == "mutations":
        return {floor.MUTATIONS: sweeps.mutations(program, realistic)}
    if part == "python":
        return {floor.SCANS: sweeps.python_scans(realistic)}
    smaller = [count // 100, count // 10]
    swept = [*(stores.beginning(minimal, first) for first in smaller), minimal, stores.repeated(minimal, 10)]
    archived = [*(stores.beginning(realistic, first) for first in smaller), realistic]
    return {floor.GROWTH: sweeps.growing(program, swept, archived, stores.long_line(64 << 20))}


def run_races(program: Path, parts: list[str], count: int, rounds: int) -> Table:
    """Run the races, each part with a clean work folder."""
    table: Table = {}
    for part in PARTS:
        if part == "scores" or part not in parts:
            continue
        with stores.work_folder():
            for title, contestants in races(program, part, count).items():
                say(title)
                table[title] = race(contestants, 4 * rounds if part == "start-up" else rounds)
                if title != floor.GROWTH:
                    sweeps.check_agreement(table[title])
    return table


def print_costs(table: Table) -> None:
    """Print what the contestants cost; the ratios are to the first of each row."""
    for title, costs in table.items():
        width = max(map(len, costs))
        first = next(iter(costs.values()))
        print(f"\n{title:<{width + 2}}  {'wall s':>8} {'ratio':>6} {'CPU s':>8} {'ratio':>6} {'MiB':>7}")
        for name, cost in costs.items():
            wall, cpu = cost.wall / first.wall, cost.cpu / first.cpu
            print(f"  {name:<{width}}  {cost.wall:8.4f} {wall:6.2f} {cost.cpu:8.4f} {cpu:6.2f} {cost.memory:7.1f}")


def print_figures(table: dict[str, scores.Figures]) -> None:
    """Print the figures that programs measured of themselves."""
    print()
    for title, figures in table.items():
        print(f"{title}: " + ", ".join(f"{name} {value:,.2f}" for name, value in figures.items()))


def print_requirements(requirements: list[floor.Requirement], count: int) -> None:
    """Print what is required and what was measured."""
    print("\nrequired" + ("" if count >= 1_000_000 else " of a million records (here, starting weighs more)"))
    width = max((len(each.work) for each in requirements), default=0)
    wanted_width = max((len(each.wanted) for each in requirements), default=0)
    for work, wanted, figure, met in requirements:
        print(f"  {work:<{width}}  {wanted:<{wanted_width}}  {figure:8.2f}  {'met' if met else 'NOT MET'}")


def describe_machine() -> str:
    """Return what the figures depend on besides the programs."""
    processor = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        models = [
            line for line in information.read_text(encoding="utf-8").splitlines() if line.startswith("model name")
        ]
        processor = models[0].partition(": ")[2] if models else processor
    load = f", load {os.getloadavg()[0]:.1f} at the end" if hasattr(os, "getloadavg") else ""
    today = dt.datetime.now(dt.timezone.utc).date()
    return (
        f"{processor}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, {today}{load}"
    )


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
    parts, count = arguments.parts or list(PARTS), 50_000 if arguments.quick else 1_000_000
    box = open_toolbox()
    program = set_up(box)
    touch_memory()
    costs = run_races(program, parts, count, arguments.rounds)
    figures = {}
    if "scores" in parts:
        say("scores, arrays, ticks")
        figures = scores.measure(box, arguments.rounds, quick=arguments.quick)
    requirements = list(floor.judge(costs, figures, count / 1e6))
    machine = describe_machine()
    if arguments.json:
        plain = {title: {name: cost._asdict() for name, cost in row.items()} for title, row in costs.items()}
        result = {"machine": machine, "rounds": arguments.rounds, "records": count, "costs": plain, "figures": figures}
        json.dump({**result, "required": [r._asdict() for r in requirements]}, sys.stdout)
        print()
        return 0
    print(f"{machine}; {count:,} records; medians of {arguments.rounds} interleaved rounds after one to warm up")
    print_costs(costs)
    if figures:
        print_figures(figures)
    print_requirements(requirements, count)
    return 0
