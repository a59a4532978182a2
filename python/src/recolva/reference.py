"""Score single memories in pure Python.

`exponential_score` and `power_law_score` are the same objects as ``recolva.exponential_score`` and
``recolva.power_law_score``: for one score the call into the native library costs as much as it
saves, and the result is the same to the last bit. Many scores at once are faster with
`recolva.score_array` or `recolva.score_memories`, which use the native library when it loads.
"""

from __future__ import annotations

from recolva import _kernel
from recolva._arguments import integer, number
from recolva.models import Exponential, PowerLaw, parameters

__all__ = ["exponential_score", "power_law_score"]

(_HALF_LIFE,) = parameters(Exponential)
_SCALE, _EXPONENT = parameters(PowerLaw)


def exponential_score(*, last_accessed: int, now: int, half_life_millis: int) -> float:
    """Return 2^(-age / half_life_millis), in [0, 1].

    Times are Unix times in milliseconds; age is now - last_accessed, or 0 if that is negative.
    half_life_millis is from 1000 to 315576000000 (ten years).

    >>> exponential_score(last_accessed=1_000_000, now=87_400_000, half_life_millis=86_400_000)
    0.5

    Raises InvalidArgument (a ValueError) for a value out of range, and InvalidArgumentType (a
    TypeError too) for one that is not an integer.
    """
    age = integer("now", now) - integer("last_accessed", last_accessed)
    half_life = _HALF_LIFE.check(half_life_millis, "half_life_millis")
    return _kernel.half_life(age, half_life) if age > 0 else 1.0


def power_law_score(
    *,
    last_accessed: int,
    now: int,
    scale_millis: int,
    exponent: float,
    importance: float,
) -> float:
    """Return importance * (1 + age / scale_millis)^(-exponent), in [0, 1].

    Times are Unix times in milliseconds; age is now - last_accessed, or 0 if that is negative.
    scale_millis is from 1000 to 315576000000, exponent from 0.1 to 10, importance from 0 to 1.

    >>> power_law_score(last_accessed=1_000_000, now=87_400_000, scale_millis=86_400_000,
    ...                 exponent=1.0, importance=0.5)
    0.25

    Raises InvalidArgument (a ValueError) for a value out of range, and InvalidArgumentType (a
    TypeError too) for one of the wrong type.
    """
    age = integer("now", now) - integer("last_accessed", last_accessed)
    scale = _SCALE.check(scale_millis, "scale_millis")
    exponent = _EXPONENT.check(exponent, "exponent")
    importance = number("importance", importance, 0.0, 1.0)
    return _kernel.power(importance, max(0, age), scale, exponent)
