"""What is refused although every record is valid: a scan foretells it, a mutation stops at it."""

from __future__ import annotations

import re
import time
import warnings
from typing import Any, NamedTuple, Optional

from recolva._arguments import INT64_MAX, integer, quoted
from recolva.errors import InvalidArgument, InvalidArgumentType

SECONDS_FROM, SECONDS_TO = 978_307_200, 4_102_444_800
"""The years 2001 to 2100 in seconds. Read as milliseconds, such a time lies in early 1970."""


def looks_like_seconds(last_accessed: int, now: int) -> bool:
    """Say whether a time in milliseconds was probably meant in seconds: a date of 2001 to 2100."""
    return now >= SECONDS_FROM * 1000 and SECONDS_FROM <= last_accessed < SECONDS_TO


class Guard(NamedTuple):
    """One reason to refuse, and what to do about it."""

    text: str
    advice: str


class PruneLimit(NamedTuple):
    """How much one sweep may prune: so many records, or so many percent of those scanned."""

    most: int
    percent: bool

    def check(self, pruned: int, scanned: int) -> Optional[Guard]:
        """Return the guard that fires for these counts, if it does."""
        if pruned * 100 <= self.most * scanned if self.percent else pruned <= self.most:
            return None
        limit = f"{self.most}%" if self.percent else f"{self.most}"
        return Guard(
            f"{pruned} of {scanned} records would be pruned, more than the limit of {limit}",
            "look at the decisions first, and raise max_prune if they are meant to go",
        )


def prune_limit(name: str, value: Any) -> PruneLimit:
    """Read an integer like 1000 or a string like "1000" or "20%"."""
    if isinstance(value, str):
        found = re.fullmatch(r"([0-9]+)(%?)", value)
        most, percent = (int(found[1]), found[2] == "%") if found and len(value) < 30 else (-1, False)
        if 0 <= most <= (100 if percent else INT64_MAX):
            return PruneLimit(most, percent)
        raise InvalidArgument(
            f"{name} must be a number of records like 1000 or a percentage like 20%, got {quoted(value)}"
        )
    try:
        return PruneLimit(integer(name, value, 0), False)
    except InvalidArgumentType:
        kind = type(value).__name__
        raise InvalidArgumentType(f'{name} must be an integer or a string like "20%", got {kind}') from None


def sweep_time(name: str, value: Any, stacklevel: int) -> int:
    """Return the time of a sweep; warn the caller so many frames away where it would be today's in seconds."""
    now = integer(name, value)
    if SECONDS_FROM <= now < SECONDS_TO:
        month = "January" if time.gmtime(now // 1000).tm_mon == 1 else "February"
        text = f"{name} {now} is in {month} 1970; a time in milliseconds has 13 digits today"
        warnings.warn(text, RuntimeWarning, stacklevel=stacklevel + 1)
    return now


def wrong_units(name: str, first: tuple[int, int], count: int, scanned: int) -> Guard:
    """Return the guard against times that look like seconds; first is the line and the time of the first."""
    line, value = first
    advice = 'pass time_unit="s" to convert, or time_unit="ms" if the times really are milliseconds'
    if count < scanned:
        advice = (
            f"only {count} of {scanned} records look so: bring the store to one unit first, "
            'or pass time_unit="ms" if these times really are milliseconds'
        )
    return Guard(
        f"line {line}: {name} {value} looks like seconds, not milliseconds ({count} such records)",
        advice,
    )
