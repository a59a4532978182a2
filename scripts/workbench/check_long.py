"""The steps of scripts/check --all that take minutes: other languages and processors, and crashes by the million."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from checkout import ROOT, run
from step import Skipped, Step, need_go

if TYPE_CHECKING:
    from toolbox import Toolbox


def crosscheck(box: Toolbox) -> str:
    """Compare the bits of every language, processor and Python, and show the table."""
    printed = run([ROOT / "scripts" / "crosscheck"], environment=box.environment)
    print(printed.strip(), flush=True)
    return printed.strip().splitlines()[-1]


def crashtest(box: Toolbox) -> str:
    """Stop sweeps everywhere, on a simulated disk and for real, and show what was counted."""
    need_go(box)
    if shutil.which("bash") is None:
        raise Skipped("bash is missing")
    printed = run([ROOT / "scripts" / "crashtest"], environment=box.environment)
    print(printed.strip(), flush=True)
    return next((line.strip() for line in printed.splitlines() if "crash states," in line), "")


STEPS = (
    Step("other languages, processors and Pythons", crosscheck, long=True),
    Step("crashes by the million", crashtest, long=True),
)
