"""Check the arguments of the engine: what is a key, a tag, a half-life, a threshold.

The limits stand here and nowhere else; both engines, the dumps and the REPL share them.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from memoryhalflife.values import checked_text
from recolva._arguments import choice, integer, number, number_text, quoted, real, string
from recolva.errors import InvalidArgument, InvalidArgumentType

__all__ = [
    "DEFAULT_HALF_LIFE",
    "DEFAULT_THRESHOLD",
    "MAX_GRACE_TICKS",
    "MAX_HALF_LIFE",
    "MAX_TICK",
    "Settings",
    "checked_callback",
    "checked_half_life",
    "checked_key",
    "checked_settings",
    "checked_tags",
    "checked_threshold",
    "choice",
    "integer",
    "number",
    "number_text",
    "quoted",
]

DEFAULT_HALF_LIFE = 10
DEFAULT_THRESHOLD = 0.1
MAX_HALF_LIFE = 1_000_000_000
MAX_GRACE_TICKS = 1_000_000_000

#: The clock stops here: the greatest integer that every JSON reader holds exactly.
MAX_TICK = 2**53 - 1


class Settings(NamedTuple):
    """What an engine was made with."""

    default_half_life: int
    default_threshold: float
    grace_ticks: int


def checked_settings(default_half_life: Any, default_threshold: Any, grace_ticks: Any) -> Settings:
    """Return the three arguments of an engine, checked."""
    return Settings(
        checked_half_life(default_half_life, "default_half_life"),
        checked_threshold(default_threshold, "default_threshold"),
        integer("grace_ticks", grace_ticks, 0, MAX_GRACE_TICKS),
    )


def checked_key(value: Any, name: str = "key") -> str:
    """Return a key: any non-empty string that UTF-8 can hold."""
    key = value if type(value) is str else string(name, value)
    if not key:
        raise InvalidArgument(f"{name} must not be empty")
    return checked_text(key, name)


def checked_tags(value: Any) -> tuple[str, ...]:
    """Return tags as a tuple of different strings, in the order given (a set in sorted order)."""
    if type(value) is tuple and not value:
        return ()
    try:
        if isinstance(value, (str, bytes, dict)):
            raise TypeError
        iterator = iter(value)
    except TypeError:
        raise InvalidArgumentType(f"tags must be a list of strings, got {type(value).__name__}") from None
    tags = dict.fromkeys(checked_key(tag, "a tag") for tag in iterator)
    return tuple(sorted(tags)) if isinstance(value, AbstractSet) else tuple(tags)


def checked_half_life(value: Any, name: str = "half_life") -> int:
    """Return a half-life in ticks, an integer from 1 to 10^9."""
    return integer(name, value, 1, MAX_HALF_LIFE)


def checked_threshold(value: Any, name: str = "threshold") -> float:
    """Return a threshold, a double between 0 and 1, both excluded."""
    threshold = value if type(value) is float else real(name, value)
    if 0.0 < threshold < 1.0:
        return threshold
    raise InvalidArgument(f"{name} must be greater than 0 and less than 1, got {number_text(threshold)}")


def checked_callback(value: Any) -> None:
    """Refuse what can't be called."""
    if value is not None and not callable(value):
        raise InvalidArgumentType(f"on_expire must be callable, got {type(value).__name__}")
