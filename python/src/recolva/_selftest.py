"""200,000 scores reduced to one digest: two builds that print the same compute the same bits.

The recipe: w is the next word of splitmix64, from the state 0, in the order of the lines. In each of
100,000 rounds

    half_life_ms = 1000 + w mod 315575999001
    age_ms       = (w mod 1100) * half_life_ms + w mod half_life_ms
    scale_ms     = 1000 + w mod 315575999001
    age_ms       = w >> (w mod 64)
    exponent     = (56294995342132 + w mod 5573204538870989) / 2^49
    importance   = ((w >> 11) >> (w mod 53)) / 2^53

the first two lines give a score of the exponential model, the other four one of the power-law model.
The digest is the SHA-256 of all scores in this order, each as the eight bytes of its double, the
lowest first. The package ``internal/selftest`` of the Go sources is the same in Go.
"""

from __future__ import annotations

from hashlib import sha256
from struct import pack
from typing import TYPE_CHECKING, Callable

from recolva._backend import native_library
from recolva.models import Exponential, Model, PowerLaw

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["digest"]

_ROUNDS = 100_000
_LEAST_SPAN, _SPANS = 1000, 315_576_000_000 - 1000 + 1
_LEAST_EXPONENT, _EXPONENTS = 56_294_995_342_132, (10 << 49) - 56_294_995_342_132 + 1  # from 0.1 to 10
_WORD = (1 << 64) - 1


def digest() -> str:
    """Return the digest of the scores that the present backend computes, as 64 hexadecimal digits."""
    library = native_library()
    words = _splitmix64(0)
    total = sha256()
    for _ in range(_ROUNDS):
        scores = []
        for draw in (_exponential, _power_law):
            model, age, importance = draw(words.__next__)
            now = min(age, 2**63 - 1)
            if library is None:
                scores.append(model.score(now - age, now, importance))
            else:
                scores.append(library.score(model, now - age, now, importance))
        total.update(pack("<2d", *scores))
    return total.hexdigest()


def _exponential(w: Callable[[], int]) -> tuple[Model, int, float]:
    span = _LEAST_SPAN + w() % _SPANS
    return Exponential(span), w() % 1100 * span + w() % span, 1.0


def _power_law(w: Callable[[], int]) -> tuple[Model, int, float]:
    span = _LEAST_SPAN + w() % _SPANS
    age = w() >> w() % 64
    exponent = (_LEAST_EXPONENT + w() % _EXPONENTS) / 2**49
    return PowerLaw(span, exponent), age, (w() >> 11 >> w() % 53) / 2**53


def _splitmix64(state: int) -> Iterator[int]:
    """Yield the words of splitmix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    while True:
        state = state + 0x9E3779B97F4A7C15 & _WORD
        z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & _WORD
        z = (z ^ z >> 27) * 0x94D049BB133111EB & _WORD
        yield z ^ z >> 31
