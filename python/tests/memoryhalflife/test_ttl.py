"""The time to live is the exact integer of its definition."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memoryhalflife import Memory, _ttl
from memoryhalflife._ttl import time_to_live
from recolva._kernel import half_life as decay

THRESHOLDS = st.floats(0.0, 1.0, exclude_min=True, exclude_max=True)
HALF_LIVES = st.integers(1, 10**9)


def by_powers(half_life, threshold):
    """Return the least t with 2^t * threshold^half_life >= 1, from the number of bits of a power.

    threshold = m/2^k, so t >= k*half_life - log2(m^half_life). Where the power is too long to write
    down, it is enclosed between two integers times a power of two, rounded outwards.
    """
    m, power = threshold.as_integer_ratio()
    k = power.bit_length() - 1
    if m == 1:
        return k * half_life
    width = 400
    while True:
        low, high, shift = 1, 1, 0
        for bit in f"{half_life:b}":
            low, high, shift = low * low, high * high, 2 * shift
            if bit == "1":
                low, high = low * m, high * m
            drop = max(0, low.bit_length() - width)
            low, high, shift = low >> drop, -(-high >> drop), shift + drop
        if low.bit_length() == high.bit_length():
            return k * half_life - (low.bit_length() - 1 + shift)
        width *= 2


@given(st.integers(1, 300), THRESHOLDS)
def test_small_half_lives_agree_with_whole_powers(half_life, threshold):
    """For half-lives whose power can be written down, TTL is where 2^t * threshold^h reaches 1."""
    ttl = time_to_live(half_life, threshold)
    power = Fraction(threshold) ** half_life
    assert 2**ttl * power >= 1
    assert ttl == 1 or 2 ** (ttl - 1) * power < 1


@given(HALF_LIVES, THRESHOLDS)
@example(10**9, 5e-324)
@example(10**9, 1 - 2.0**-53)
@example(1, 1 - 2.0**-53)
@example(999_999_999, 0.1)
def test_all_half_lives_agree_with_enclosed_powers(half_life, threshold):
    """For every half-life and threshold, TTL is what outward rounded powers enclose."""
    assert time_to_live(half_life, threshold) == by_powers(half_life, threshold)


@given(HALF_LIVES, THRESHOLDS)
def test_few_digits_are_never_taken_for_enough(half_life, threshold):
    """However few digits the first round has, further rounds follow until they decide."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_ttl, "_FIRST_BITS", 2)
        ttl = time_to_live.__wrapped__(half_life, threshold)
    assert ttl == by_powers(half_life, threshold)


@given(HALF_LIVES, st.integers(1, 1074))
def test_powers_of_two_are_whole_half_lives(half_life, k):
    """A threshold of 2^-k is reached after exactly k half-lives."""
    assert time_to_live(half_life, math.ldexp(1.0, -k)) == k * half_life


def convergents(m, limit):
    """Yield p/q closer and closer to log2(m), alternately below and above, with q <= limit."""
    a, b = Fraction(m), Fraction(2)
    p0, q0, p1, q1 = 0, 1, 1, 0
    while True:
        digit = 0  # a = b^digit * rest
        while a >= b:
            a, digit = a / b, digit + 1
        p0, q0, p1, q1 = p1, q1, digit * p1 + p0, digit * q1 + q0
        if q1 > limit:
            return
        yield p1, q1
        a, b = b, a


@pytest.mark.parametrize("m", [3, 5, 7, 11])
def test_half_lives_that_nearly_hit_a_tick(m):
    """Where half_life * log2(m) is as near to an integer as it gets, the side still is right."""
    threshold = m / 2.0**10
    pairs = list(convergents(m, 3000))
    assert len(pairs) >= 4
    for i, (p, q) in enumerate(pairs):
        below = 2**p < m**q  # p/q < log2(m)
        assert below == (i % 2 == 0)
        assert time_to_live(q, threshold) == 10 * q - (p if below else p - 1)


@pytest.mark.parametrize(
    ("half_life", "threshold", "ttl"),
    [(10, 0.1, 34), (5, 0.1, 17), (5, 0.5, 5), (8, 0.1, 27), (3, 0.1, 10), (99, 0.25, 198), (1, 0.5, 1)],
)
def test_documented_values(half_life, threshold, ttl):
    """The values that the documents name are the ones computed."""
    assert Memory("k", "v", half_life, threshold=threshold).ttl() == ttl


@given(st.floats(1.0, 1e6), st.integers(1, 60))
def test_fractional_half_lives_are_exact(half_life, k):
    """A half-life of a 0.1 dump counts with its exact value."""
    assert time_to_live(half_life, 2.0**-k) == math.ceil(Fraction(half_life) * k)


@given(HALF_LIVES, THRESHOLDS)
def test_confidence_agrees_with_expiry(half_life, threshold):
    """At its TTL the confidence is at most the threshold, one tick before it is at least."""
    ttl = time_to_live(half_life, threshold)
    assert decay(ttl, half_life) <= threshold <= decay(ttl - 1, half_life)
