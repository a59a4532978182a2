"""The checks behind scripts/check: every test and linter of both languages, in order, with a table at the end."""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import check_go
import check_long
import check_package
import check_python
import check_supply
import check_wheels
from checkout import CommandError
from step import Skipped, Step
from toolbox import Toolbox, open_toolbox

from native_build.toolchain import ToolchainError

# In this order; the steps before the Python tests make what those use.
STEPS = (
    *check_go.STEPS,
    *check_python.STEPS,
    *check_package.STEPS,
    *check_wheels.STEPS,
    *check_supply.STEPS,
    *check_long.STEPS,
)


class Outcome(NamedTuple):
    """What became of one step."""

    name: str
    verdict: str  # passed, FAILED or skipped
    seconds: float
    note: str


def perform(step: Step, box: Toolbox) -> Outcome:
    """Run one step under its heading and print what it has to say only where it failed."""
    print(f"== {step.name}", flush=True)
    started = time.perf_counter()
    try:
        note = step.action(box)
        verdict = "passed"
    except Skipped as reason:
        note, verdict = str(reason), "skipped"
    except (CommandError, ToolchainError, OSError) as error:
        print(error, flush=True)
        note, verdict = "", "FAILED"
    if note:
        print(f"   {note}", flush=True)
    return Outcome(step.name, verdict, time.perf_counter() - started, note)


def print_table(outcomes: list[Outcome]) -> None:
    """Print the table, and a closing line that programs can count on."""
    width = max(len(outcome.name) for outcome in outcomes)
    print()
    for outcome in outcomes:
        print(f"{outcome.name:<{width}}  {outcome.verdict:<7}  {outcome.seconds:7.1f} s  {outcome.note}".rstrip())
    counts = [sum(outcome.verdict == verdict for outcome in outcomes) for verdict in ("passed", "FAILED", "skipped")]
    print("\n{} passed, {} failed, {} skipped".format(*counts), flush=True)


def main() -> int:
    """Run the steps that the command line asks for; return 1 where one failed."""
    parser = argparse.ArgumentParser(prog="scripts/check", description=__doc__, allow_abbrev=False)
    parser.add_argument("--all", action="store_true", help="the long steps too")
    parser.add_argument("--list", action="store_true", help="name the steps and stop")
    parser.add_argument("names", nargs="*", metavar="STEP", help="run only these steps (a part of the name will do)")
    arguments = parser.parse_args()
    chosen = [step for step in STEPS if arguments.all or not step.long or arguments.names]
    if arguments.names:
        chosen = [step for step in chosen if any(name in step.name for name in arguments.names)]
    if arguments.list:
        print("\n".join(step.name + (" (long)" if step.long else "") for step in chosen))
        return 0
    if not chosen:
        parser.error(f"no step is named {' or '.join(arguments.names)}; try --list")
    box = open_toolbox()
    print("\n".join([*box.origin, *(f"missing: {text}" for text in box.missing)]), flush=True)
    outcomes = [perform(step, box) for step in chosen]
    print_table(outcomes)
    return int(any(outcome.verdict == "FAILED" for outcome in outcomes))
