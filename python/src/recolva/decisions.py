"""From a score to a decision: pure, before any effect. Pruning is strict, equality retains."""

from __future__ import annotations

from dataclasses import dataclass
from struct import pack
from typing import Any

__all__ = ["REASONS", "RETAINED", "SCORE_BELOW", "Decision", "Draft", "decide"]

RETAINED = "score_at_or_above_threshold"
SCORE_BELOW = "score_below_threshold"

REASONS = (RETAINED, SCORE_BELOW)
"""Every reason that a decision can give."""


@dataclass(frozen=True, init=False, eq=False)
class Decision:
    """What is to become of one memory. Equal if id, score and prune are equal.

    ``prune`` says that the memory is to be archived or deleted. ``reason`` is one of `REASONS`.
    ``line`` is the number of the record's line in its file, counted from 1, or None without a file.
    """

    # Slots set through their descriptors: a sweep makes a decision per record, and the ordinary
    # way to build a frozen dataclass takes three times as long.
    __slots__ = ("id", "line", "prune", "reason", "score")

    id: str
    score: float
    prune: bool
    reason: str
    line: int | None

    def __init__(
        self,
        id: str,  # noqa: A002 - the documented name
        score: float,
        prune: bool,  # noqa: FBT001 - the documented order
        reason: str = "",
        line: int | None = None,
    ) -> None:
        _set_id(self, id)
        _set_score(self, score)
        _set_prune(self, prune)
        _set_reason(self, reason)
        _set_line(self, line)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return NotImplemented
        return (self.id, self.score, self.prune) == (other.id, other.score, other.prune)

    def __hash__(self) -> int:
        return hash((self.id, self.score, self.prune))

    def __reduce__(self) -> tuple[type[Decision], tuple[Any, ...]]:
        return Decision, (self.id, self.score, self.prune, self.reason, self.line)


_set_id = Decision.__dict__["id"].__set__
_set_score = Decision.__dict__["score"].__set__
_set_prune = Decision.__dict__["prune"].__set__
_set_reason = Decision.__dict__["reason"].__set__
_set_line = Decision.__dict__["line"].__set__


class Draft:
    """A `Decision` in the making, for those who make millions.

    Set every attribute, then its ``__class__`` to Decision, and it is one: frozen, in half the time.
    """

    __slots__ = Decision.__slots__  # or Python would not let it change its class


_SMALLEST_NORMAL = 2.0**-1022


def decide(score: float, threshold: float) -> tuple[bool, str]:
    """Return whether to prune, and the reason: a score below the threshold prunes."""
    if score < threshold or (threshold < _SMALLEST_NORMAL and _bits(score) < _bits(threshold)):
        return True, SCORE_BELOW
    return False, RETAINED


def _bits(value: float) -> int:
    """Return an integer that orders doubles from -0.0 and 0.0 up.

    A processor that a library of the host has set to flush subnormals takes them all for zero.
    """
    return int.from_bytes(pack("<d", value), "little", signed=True)
