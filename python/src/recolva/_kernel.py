"""The unit-free mathematics: 2^(-n/d) and the power law, correctly rounded, in integers.

Each function returns the binary64 number nearest to the exact real value, ties to even, subnormal
results kept. That is a statement of mathematics, so every other implementation (the Go package
``pkg/decay``, its C library) returns the same bits, and the result never rises with age.

How: a value y in (1/2, 1] is computed as an integer scaled by 2^96, with a proven error bound. If
no midpoint between two doubles lies within the bound, rounding y rounds the real value. Else,
about once in a million, the exact path decides: more and more digits until the rounding is clear,
or rational arithmetic where the value is rational (only then can it be a tie). Floats occur only
in terms below 2^-29, where half of their 53 bits would do, and never near the subnormal range, so
neither FMA, x87, flush-to-zero nor the platform's libm can change a result.

Reduction by two tables of 2^(-i/128) and 2^(-j/16384) (P.-T. P. Tang, "Table-driven implementation
of the exponential function", ACM TOMS 15, 1989); repeated precision as in A. Ziv, "Fast evaluation
of elementary mathematical functions with correctly rounded last bit", ACM TOMS 17, 1991.
"""

from __future__ import annotations

from functools import lru_cache
from math import frexp, gcd, isqrt, ldexp
from struct import Struct
from typing import Callable

__all__ = ["exact_half_life", "exact_power", "half_life", "power"]

# Fixed point: an integer v stands for v / 2^96.
_BITS = 96
_ONE = 1 << _BITS
_FRACTION = _ONE - 1
_REST = (1 << 82) - 1  # what the two 7-bit table indices leave of a fraction
_LN2 = 0xB17217F7D1CF79ABC9E3B398  # floor(ln 2 * 2^96)
_LOG2_E = 0x171547652B82FE1777D0FFDA0  # floor(2^96 / ln 2)
_UNIT = 2.0**-_BITS
_SCALE = 2.0**_BITS
_STEPS_PER_NAT = 23637.115549924776  # 2^14 / ln 2

# Proven error bounds in units of the last place: 2^-80 for a half-life (bound 2^-78), relative
# 2^-76.4 for the power law (bound 2^-75 of 2^149).
_HALF_LIFE_DOUBT = 1 << 18
_POWER_DOUBT = 1 << 74
_LOW43 = (1 << 43) - 1
_HALF43 = 1 << 42

_SMALLEST_NORMAL = 2.0**-1022
_MANTISSA = 9007199254740992.0  # 2^53
_EXPONENT_BITS = 56  # an exponent in [0.1, 10] is a whole number of 2^-56
_EXPONENT_SCALE = 2.0**_EXPONENT_BITS

_DOUBLE = Struct("<d")
_WORD = Struct("<Q")

# Filled at first use by _build_tables: _COARSE[i] = 2^(-i/128), _FINE[j] = 2^(-j/16384), and
# _GUESS[k] = floor(128 log2(1 + k/256)).
_COARSE: tuple[int, ...] = ()
_FINE: tuple[int, ...] = ()
_GUESS: tuple[int, ...] = ()


def half_life(elapsed: int, half_life: int) -> float:
    """Return 2^(-elapsed / half_life) for integers elapsed >= 0 and half_life >= 1."""
    halvings, rest = divmod(elapsed, half_life)
    if halvings >= 1075:
        return 0.0  # 2^-1075 lies midway between 0 and the least double: to even
    y = _exp2_minus((rest << _BITS) // half_life)
    if halvings < 900:
        if -_HALF_LIFE_DOUBT < (y & _LOW43) - _HALF43 < _HALF_LIFE_DOUBT:
            return exact_half_life(elapsed, half_life)
        return ldexp(y, -_BITS - halvings)
    score = _round(y, -_BITS - halvings, _HALF_LIFE_DOUBT)
    return exact_half_life(elapsed, half_life) if score is None else score


def power(importance: float, age: int, scale: int, exponent: float) -> float:
    """Return importance * (1 + age/scale)^(-exponent).

    importance in [0, 1], integers age >= 0 and scale >= 1, exponent in [0.1, 10]; -0.0 counts as 0.
    """
    mantissa, shift = _decode(importance)
    if age == 0 or mantissa == 0:
        return importance if mantissa else 0.0
    growth = _log2(age + scale) - _log2_of_scale(scale)
    x = (int(exponent * _EXPONENT_SCALE) * growth) >> _EXPONENT_BITS
    product = _exp2_minus(x & _FRACTION) * mantissa
    shift -= _BITS + (x >> _BITS)
    if shift > -1100:
        drop = product.bit_length() - 53
        middle = 1 << (drop - 1)
        low = product & ((1 << drop) - 1)
        if not -_POWER_DOUBT < low - middle < _POWER_DOUBT:
            return ldexp(product, shift)
        return exact_power(importance, age, scale, exponent)
    score = _round(product, shift, _POWER_DOUBT)
    return exact_power(importance, age, scale, exponent) if score is None else score


def _exp2_minus(fraction: int) -> int:
    """Return 2^(-fraction) for a fixed-point fraction in [0, 1); error below 2^-80."""
    if not _COARSE:
        _build_tables()
    t = (fraction & _REST) * _LN2 >> _BITS
    small = t * _UNIT
    # 1 - e^(-t) = t - t^2 (1/2 - t/6 + t^2/24 - t^3/120 + …), and t < 2^-14.5
    tail = 0.5 - small * (1 / 6 - small * (1 / 24 - small * (1 / 120)))
    second = int(small * small * tail * _SCALE)
    y = _COARSE[fraction >> 89] * _FINE[(fraction >> 82) & 127] >> _BITS
    return y - (y * (t - second) >> _BITS)


def _log2(n: int) -> int:
    """Return log2(n) in fixed point for an integer n >= 1; error below 2^-80."""
    if not _COARSE:
        _build_tables()
    top = n.bit_length() - 1
    m = n << (_BITS - top) if top <= _BITS else n >> (top - _BITS)
    i = _GUESS[(m >> 88) & 255]
    m = m * _COARSE[i] >> _BITS
    z = (m - _ONE) * _UNIT
    # z - z^2/2 < ln(1 + z), by z^3/3, which exceeds every rounding error here once j > 0
    j = int((z - z * z * 0.5) * _STEPS_PER_NAT)
    d = (m * _FINE[j] >> _BITS) - _ONE
    small = d * _UNIT
    # ln(1 + d) = d - d^2 (1/2 - d/3 + d^2/4 - d^3/5 + …), and d < 2^-14.5
    tail = 0.5 - small * (1 / 3 - small * (1 / 4 - small * (1 / 5)))
    d -= int(small * small * tail * _SCALE)
    return (top << _BITS) + (i << 89) + (j << 82) + (d * _LOG2_E >> _BITS)


_log2_of_scale = lru_cache(maxsize=64)(_log2)


def _build_tables() -> None:
    """Compute the tables from integer square roots; safe to run twice at once."""
    global _COARSE, _FINE, _GUESS  # noqa: PLW0603 - built once, at first use, never at import
    guard = 160
    roots = [1 << (guard - 1)]  # roots[k] = 2^(-1/2^k)
    for _ in range(14):
        roots.append(isqrt(roots[-1] << guard))

    def powers(root: int, count: int) -> tuple[int, ...]:
        value, table = 1 << guard, []
        for _ in range(count):
            table.append((value + (1 << (guard - _BITS - 1))) >> (guard - _BITS))
            value = value * root >> guard
        return tuple(table)

    coarse = powers(roots[7], 128)
    _FINE = powers(roots[14], 256)
    # floor(128 log2 v) is the greatest i with 2^(-i/128) v >= 1
    guess, i = [], 0
    for k in range(256):
        while i < 127 and coarse[i + 1] * (256 + k) >= _ONE << 8:
            i += 1
        guess.append(i)
    _GUESS = tuple(guess)
    _COARSE = coarse  # last: its presence says that all three are there


def _decode(value: float) -> tuple[int, int]:
    """Split a double >= 0 into (m, e) with value = m * 2^e and m in [2^52, 2^53), or m = 0."""
    if value >= _SMALLEST_NORMAL:
        fraction, exponent = frexp(value)
        return int(fraction * _MANTISSA), exponent - 53
    # from the bits, because frexp of a subnormal number is 0 where the CPU flushes those
    m = _WORD.unpack(_DOUBLE.pack(value))[0] & ((1 << 63) - 1)
    lift = 53 - m.bit_length()
    return m << lift, -1074 - lift


def _encode(mantissa: int, exponent: int) -> float:
    """Return mantissa * 2^exponent, a value that is a double, by assembling its bits."""
    if mantissa == 0:
        return 0.0
    lift = max(mantissa.bit_length() - 53 + exponent, -1074) - exponent
    mantissa = mantissa >> lift if lift >= 0 else mantissa << -lift
    # a normal mantissa carries its leading bit into the exponent field
    bits = mantissa + ((exponent + lift + 1074) << 52)
    value: float = _DOUBLE.unpack(_WORD.pack(bits))[0]
    return value


def _round(value: int, exponent: int, doubt: int) -> float | None:
    """Round value * 2^exponent to a double, or None if a midpoint lies within doubt of value."""
    drop = max(value.bit_length() - 53, -1074 - exponent)
    low = value & ((1 << drop) - 1)
    distance = low - (1 << (drop - 1))
    if -doubt < distance < doubt:
        return None
    return _encode((value >> drop) + (distance > 0), exponent + drop)


# The exact path. It shares no table and no series with the fast path.


def exact_half_life(elapsed: int, half_life: int) -> float:
    """Return the same as half_life, decided by exact arithmetic; slow (tens of microseconds)."""
    halvings, rest = divmod(elapsed, half_life)
    if halvings >= 1075:
        return 0.0
    if rest == 0:
        return _ratio(1, 1 << halvings)

    # 2^(rest/half_life) with a fraction that is no integer is irrational, so this ends
    def scaled(bits: int) -> int:
        return _exp_minus((rest * _ln2(bits)) // half_life, bits)

    return _ziv(scaled, 1, halvings)


def exact_power(importance: float, age: int, scale: int, exponent: float) -> float:
    """Return the same as power, decided by exact arithmetic; slow (tens of microseconds)."""
    mantissa, shift = _decode(importance)
    if age == 0 or mantissa == 0:
        return importance if mantissa else 0.0
    numerator, denominator = exponent.as_integer_ratio()
    rational = _rational_power(scale, scale + age, numerator, denominator)
    if rational is not None:
        a, b = rational
        return _ratio(mantissa * a, b << -shift)

    def scaled_log2(bits: int) -> int:
        return numerator * _log2_ratio(scale + age, scale, bits) // denominator

    whole = scaled_log2(256) >> 256
    if whole >= 1076:
        return 0.0

    def scaled(bits: int) -> int:
        x = scaled_log2(bits) - (whole << bits)
        return _exp_minus(x * _ln2(bits) >> bits, bits)

    return _ziv(scaled, mantissa, whole - shift)


def _rational_power(a: int, b: int, numerator: int, denominator: int) -> tuple[int, int] | None:
    """Return (a/b)^(numerator/denominator) as a fraction if it is one; denominator = 2^k, a < b.

    In lowest terms a/b has a rational 2^k-th root iff a and b both are 2^k-th powers.
    """
    common = gcd(a, b)
    a, b = a // common, b // common
    while denominator > 1:
        root_a, root_b = isqrt(a), isqrt(b)
        if root_a * root_a != a or root_b * root_b != b:
            return None
        a, b, denominator = root_a, root_b, denominator >> 1
    return a**numerator, b**numerator


def _ziv(scaled: Callable[[int], int], factor: int, halvings: int) -> float:
    """Round factor * y * 2^-halvings for an irrational y, given scaled(p) ~ y * 2^p.

    The error of scaled(p) must stay below 2^40; p is doubled until both ends round alike.
    """
    bits = 256
    while True:
        y = scaled(bits)
        unit = 1 << (bits + halvings)
        below = _ratio(factor * (y - (1 << 40)), unit)
        above = _ratio(factor * (y + (1 << 40)), unit)
        if _DOUBLE.pack(below) == _DOUBLE.pack(above):
            return below
        bits *= 2


def _ratio(numerator: int, denominator: int) -> float:
    """Return the double nearest to numerator/denominator, ties to even; 0 <= ratio <= 1."""
    # a quotient of at least 55 bits, cut at the last place of the double
    place = max(numerator.bit_length() - denominator.bit_length() - 53, -1074)
    quotient, rest = divmod(numerator << -place, denominator)
    if quotient.bit_length() > 53:  # the estimate of the leading bit is one too low
        place += 1
        rest += (quotient & 1) * denominator
        quotient, denominator = quotient >> 1, denominator * 2
    if 2 * rest > denominator or (2 * rest == denominator and quotient & 1):
        quotient += 1
    return _encode(quotient, place)


@lru_cache(maxsize=8)
def _ln2(bits: int) -> int:
    return 2 * _atanh(1, 3, bits)  # ln 2 = 2 atanh(1/3)


def _log2_ratio(n: int, d: int, bits: int) -> int:
    """Return log2(n/d) scaled by 2^bits for n > d > 0."""
    doublings = n.bit_length() - d.bit_length()
    d <<= doublings  # now 1/2 < n/d < 2
    return (doublings << bits) + 2 * (_atanh(n - d, n + d, bits) << bits) // _ln2(bits)


def _atanh(n: int, d: int, bits: int) -> int:
    """Return atanh(n/d) scaled by 2^bits, for |n/d| <= 1/3."""
    sign = -1 if n < 0 else 1
    term = (abs(n) << bits) // d
    square = term * term >> bits
    total, k = 0, 1
    while term:
        total += term // k
        term = term * square >> bits
        k += 2
    return sign * total


def _exp_minus(t: int, bits: int) -> int:
    """Return e^(-t) scaled by 2^bits, for t in [0, 1)."""
    term = total = 1 << bits
    k = 0
    while term:
        k += 1
        term = (term * t >> bits) // k
        total += -term if k & 1 else term
    return total
