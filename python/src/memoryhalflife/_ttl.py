"""How long a memory lives: an exact whole number of ticks.

The least integer t with 2^(-t/half_life) <= threshold, as real numbers. A double threshold in
(0, 1) is m / 2^k with m odd, so t is the least integer >= half_life * (k - log2(m)). For m = 1
that is a product of integers. Else log2(m) is irrational (m^q = 2^p has no solution for an odd
m > 1), the bound is never an integer, and enough digits of log2(m) decide. No float takes part.
"""

from __future__ import annotations

from functools import lru_cache

__all__ = ["half_life_ratio", "time_to_live"]

_FIRST_BITS = 128  # enough for nearly every pair, in one round


def half_life_ratio(half_life: float) -> tuple[int, int]:
    """Return a half-life as an exact fraction (n, d): only dumps of version 0.1 have d > 1."""
    return half_life.as_integer_ratio()


@lru_cache(maxsize=4096)
def time_to_live(half_life: float, threshold: float) -> int:
    """Return the ticks after its last access at which a memory expires: at least 1."""
    numerator, denominator = half_life_ratio(half_life)
    odd, power_of_two = threshold.as_integer_ratio()
    exponent = power_of_two.bit_length() - 1
    if odd == 1:
        return -(-numerator * exponent // denominator)
    bits = _FIRST_BITS
    while True:
        # half_life * (exponent - log2(odd)) lies strictly between low and high
        unit = denominator << bits
        scaled = (exponent << bits) - _log2(odd, bits)
        low = numerator * (scaled - 1) // unit
        high = -(-numerator * scaled // unit)
        if high == low + 1:
            return high
        bits *= 2


@lru_cache(maxsize=256)
def _log2(odd: int, bits: int) -> int:
    """Return floor(2^bits * log2(odd)) for an odd integer > 1.

    Squaring y doubles log2(y): its whole part is the next binary digit. Both a lower and an upper
    bound of y are carried along; when they disagree about a digit, the work starts again wider.
    """
    whole = odd.bit_length() - 1
    width = 2 * bits + 64  # more than the 53 bits of odd
    while True:
        low = high = odd << (width - whole)  # y = odd / 2^whole in [1, 2), scaled by 2^width
        digits = whole
        for _ in range(bits):
            low = low * low >> width
            high = -(-high * high >> width)
            digit = low >> (width + 1)
            if digit != high >> (width + 1):
                break
            digits = 2 * digits + digit
            low >>= digit
            high = -(-high >> digit)
        else:
            return digits
        width *= 2
