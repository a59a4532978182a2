"""One step of scripts/check, and the few ways in which a step speaks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolbox import Toolbox


class Skipped(Exception):
    """The step can't run on this machine; the text says what it lacks."""


class Step(NamedTuple):
    """A name, and an action that returns a note for the table or raises CommandError or Skipped."""

    name: str
    action: Callable[[Toolbox], str]
    long: bool = False  # run by --all only


def need_go(box: Toolbox) -> None:
    """Skip the step where there is no Go."""
    if box.go is None:
        raise Skipped("; ".join(box.missing))


def need_compilers(box: Toolbox) -> None:
    """Skip the step where Go or a C compiler is missing."""
    if not box.complete:
        raise Skipped("; ".join(box.missing))


def closing_line(printed: str) -> str:
    """Return the last line of pytest's output without its frame: "12 passed in 0.34s"."""
    lines = printed.strip().splitlines()
    return re.sub(r"^=+ | =+$", "", lines[-1]) if lines else ""
