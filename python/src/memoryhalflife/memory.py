"""One memory, as the engine hands it out: a frozen value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memoryhalflife._checks import (
    DEFAULT_HALF_LIFE,
    DEFAULT_THRESHOLD,
    MAX_HALF_LIFE,
    MAX_TICK,
    checked_half_life,
    checked_key,
    checked_tags,
    checked_threshold,
    integer,
    number,
)
from memoryhalflife._ttl import half_life_ratio, time_to_live
from memoryhalflife.values import JSON, copied
from recolva._kernel import half_life as _decay

__all__ = ["Memory"]

_set = object.__setattr__


@dataclass(frozen=True, init=False)
class Memory:
    """A memory at the moment it was handed out; later changes in the engine do not show in it.

    Times are ticks of the engine that made it. ``access_count`` counts recalls. ``half_life`` is an
    integer, except in a memory that came from a dump of memory-half-life 0.1 with a fractional one.
    ``content`` is a copy: changing it changes nothing in the engine.
    """

    __slots__ = (
        "access_count",
        "content",
        "created_at",
        "half_life",
        "key",
        "last_accessed_at",
        "tags",
        "threshold",
    )

    key: str
    content: JSON
    half_life: float
    created_at: int
    last_accessed_at: int
    access_count: int
    tags: tuple[str, ...]
    threshold: float

    def __init__(
        self,
        key: str,
        content: JSON,
        half_life: float = DEFAULT_HALF_LIFE,
        created_at: int = 0,
        last_accessed_at: int = 0,
        access_count: int = 0,
        tags: tuple[str, ...] = (),
        threshold: float = DEFAULT_THRESHOLD,
    ) -> None:
        """Build a memory from checked arguments; engines do this for you."""
        _set(self, "key", checked_key(key))
        _set(self, "content", copied(content))
        _set(self, "half_life", _any_half_life(half_life))
        _set(self, "created_at", integer("created_at", created_at, 0, MAX_TICK))
        _set(self, "last_accessed_at", integer("last_accessed_at", last_accessed_at, self.created_at, MAX_TICK))
        _set(self, "access_count", integer("access_count", access_count, 0, MAX_TICK))
        _set(self, "tags", checked_tags(tags))
        _set(self, "threshold", checked_threshold(threshold))

    def confidence(self, now: int) -> float:
        """Return 2^(-(now - last_accessed_at) / half_life), correctly rounded; 1.0 for earlier ticks."""
        elapsed = max(0, integer("now", now) - self.last_accessed_at)
        half_life = self.half_life
        if type(half_life) is int:
            return _decay(elapsed, half_life)
        numerator, denominator = half_life_ratio(half_life)
        return _decay(elapsed * denominator, numerator)

    def ttl(self) -> int:
        """Return how many ticks after its last access it expires.

        The least integer t with 2^(-t / half_life) <= threshold, exactly.
        """
        return time_to_live(self.half_life, self.threshold)

    def is_fading(self, now: int, threshold: float = 0.5) -> bool:
        """Say whether its confidence is below threshold, from 0 to 1; at the threshold it is not."""
        return self.confidence(now) < number("threshold", threshold, 0.0, 1.0)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy by the constructor: a frozen class with slots has no other way."""
        return type(self), _values(self)


def _any_half_life(value: float) -> float:
    """Return a half-life as dumps of version 0.1 may have it: an integer, or a float from 1 on."""
    if isinstance(value, float) and 1 <= value <= MAX_HALF_LIFE:
        return int(value) if value.is_integer() else value
    return checked_half_life(value)


def _values(memory: Memory) -> tuple[Any, ...]:
    return (
        memory.key,
        memory.content,
        memory.half_life,
        memory.created_at,
        memory.last_accessed_at,
        memory.access_count,
        memory.tags,
        memory.threshold,
    )


class _Unfrozen:
    """A memory before it is frozen: setting its fields costs a third of setting those of a frozen one."""

    __slots__ = Memory.__slots__


_new = object.__new__


def trusted(
    key: str,
    content: JSON,
    half_life: float,
    created_at: int,
    last_accessed_at: int,
    access_count: int,
    tags: tuple[str, ...],
    threshold: float,
) -> Memory:
    """Build a memory from values that were checked before."""
    memory: Any = _new(_Unfrozen)
    memory.key = key
    memory.content = content
    memory.half_life = half_life
    memory.created_at = created_at
    memory.last_accessed_at = last_accessed_at
    memory.access_count = access_count
    memory.tags = tags
    memory.threshold = threshold
    memory.__class__ = Memory
    frozen: Memory = memory
    return frozen


def with_content(memory: Memory, content: JSON) -> Memory:
    """Return the same memory with another content."""
    return trusted(
        memory.key,
        content,
        memory.half_life,
        memory.created_at,
        memory.last_accessed_at,
        memory.access_count,
        memory.tags,
        memory.threshold,
    )


def accessed(memory: Memory, now: int, recalls: int) -> Memory:
    """Return the memory as it is after being accessed at tick now; recalls is 1 or 0."""
    return trusted(
        memory.key,
        memory.content,
        memory.half_life,
        memory.created_at,
        now,
        memory.access_count + recalls,
        memory.tags,
        memory.threshold,
    )
