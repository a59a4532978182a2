"""How far the knowledge of an engine has decayed."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryhalflife._runtime import Clock
    from memoryhalflife.memory import Memory

__all__ = ["entropy_score"]

_LARGEST_BELOW_ONE = 1.0 - 2.0**-53


def entropy_score(clock: Clock, entries: Iterable[tuple[Memory, int | None]]) -> dict[str, int | float]:
    """Return mass, pressure and score, and how many live, fade, have expired and were forgotten."""
    seen: dict[tuple[int, float], float] = {}
    confidences = []
    for memory, expired_at in entries:
        if expired_at is not None:
            continue
        pair = (memory.last_accessed_at, memory.half_life)  # many memories share theirs
        confidence = seen.get(pair)
        if confidence is None:
            confidence = seen[pair] = memory.confidence(clock.now)
        confidences.append(confidence)
    mass = len(confidences)
    pressure = fsum(1.0 - confidence for confidence in confidences)  # rounded once, so in any order
    return {
        "mass": mass,
        "pressure": pressure,
        "score": min(pressure / mass, _LARGEST_BELOW_ONE) if mass else 0.0,
        "living": mass,
        "fading": sum(confidence < 0.5 for confidence in confidences),
        "expired": clock.expired,
        "forgotten": clock.forgotten,
    }
