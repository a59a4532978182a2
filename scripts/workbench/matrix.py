"""The table of what was compared with what: one row for each language, processor or interpreter."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

SAME, FAILED, NOT_RUN = "same bits", "FAILED", "not run"


class Row(NamedTuple):
    """What became of one comparison."""

    part: str  # language, processor, C library or Python
    name: str
    verdict: str
    note: str = ""


def print_rows(rows: Iterable[Row]) -> int:
    """Print the table, and a closing line that programs can count on; return 1 where a row failed."""
    table = list(rows)
    widths = [max(len(row[i]) for row in table) for i in range(3)]
    print()
    for row in table:
        print("  ".join([*(f"{text:<{width}}" for text, width in zip(row, widths)), row.note]).rstrip())
    counts = [sum(row.verdict == verdict for row in table) for verdict in (SAME, FAILED, NOT_RUN)]
    print("\n{} passed, {} failed, {} skipped".format(*counts), flush=True)
    return int(counts[1] > 0)


def last_line(error: Exception) -> str:
    """Return what fits into a table of an error's text."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:120] if lines else type(error).__name__
