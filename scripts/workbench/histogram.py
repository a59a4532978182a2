"""A histogram of scores for the terminal, with the threshold marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

BINS = 20
WIDTH = 50
EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(length: float, *, blocks: bool) -> str:
    """Return a bar of ``length`` columns: to an eighth of a column with block characters, else of whole marks."""
    if not blocks:
        return "#" * max(1 if length > 0 else 0, round(length))
    eighths = max(1 if length > 0 else 0, round(length * 8))
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()


def histogram(scores: Iterable[float], threshold: float, *, blocks: bool = True) -> list[str]:
    """Return one line for each twentieth of [0, 1], and one where the threshold falls.

    The scores below the threshold stand above its line. Where it falls inside a bin, that bin is split in two.
    """
    edges = sorted({0.0, 1.0, threshold, *(number / BINS for number in range(1, BINS))})
    counts = dict.fromkeys(edges[:-1], 0)
    for score in scores:
        # The last edge not above the score; a score of exactly 1 belongs to the last bin.
        counts[max(edge for edge in edges[:-1] if edge <= score)] += 1
    most = max([1, *counts.values()])
    rows = []
    for edge, count in counts.items():
        if edge == threshold:
            rows.append(
                f"  {threshold:<5g}{'─' * WIDTH if blocks else '-' * WIDTH} threshold: what is above this line is archived"
            )
        drawn = bar(count / most * WIDTH, blocks=blocks)
        rows.append(f"  {edge:.2f} {drawn} {count:,}".rstrip())
    return rows
