"""The kernel returns the double nearest to the exact value, whatever path decides."""

from __future__ import annotations

import math
import platform
import random
import struct
import sys
from decimal import Decimal, localcontext

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recolva import _kernel

GOLDEN_COUNTS = {"E": 7144, "P": 13992}

elapsed_times = st.integers(0, 2**64 - 1)
half_lives = st.one_of(st.integers(1, 2**64 - 1), st.integers(1000, 315_576_000_000))
ages = st.one_of(elapsed_times, st.integers(0, 10**12))
scales = st.integers(1000, 315_576_000_000)
exponents = st.floats(0.1, 10.0)
importances = st.floats(0.0, 1.0)


def bits(value):
    return struct.pack("<d", value)


def strays(golden, functions):
    return [row for row in golden if bits(functions[row[0]](*row[1])) != bits(row[2])]


def test_no_golden_vector_is_missing(golden):
    """The file holds the vectors that it is known to hold."""
    assert {m: sum(row[0] == m for row in golden) for m in "EP"} == GOLDEN_COUNTS


def test_every_golden_vector_to_the_bit(golden):
    """Every score has the bits of the golden vector."""
    assert strays(golden, {"E": _kernel.half_life, "P": _kernel.power}) == []


def test_every_golden_vector_by_the_exact_path(golden):
    """The exact path alone gives the same bits."""
    assert strays(golden, {"E": _kernel.exact_half_life, "P": _kernel.exact_power}) == []


@given(elapsed_times, half_lives)
@example(2**64 - 1, 2**64 - 1)
@example(1075 * 1000 - 1, 1000)
@example(10**40, 10**38 + 1)
def test_half_life_is_what_the_exact_path_says(elapsed, half_life):
    """Where the fast path decides, it decides as the exact path does."""
    fast, exact = _kernel.half_life(elapsed, half_life), _kernel.exact_half_life(elapsed, half_life)
    assert bits(fast) == bits(exact)


@given(importances, ages, scales, exponents)
@example(5e-324, 1, 1000, 0.1)
@example(1.0, 2**64 - 1, 1000, 10.0)
def test_power_is_what_the_exact_path_says(importance, age, scale, exponent):
    """Where the fast path decides, it decides as the exact path does."""
    arguments = (importance, age, scale, exponent)
    assert bits(_kernel.power(*arguments)) == bits(_kernel.exact_power(*arguments))


def test_ties_go_to_even():
    """An exponent of 1 at a third of the scale makes importance * 3/4, often a midpoint."""
    rng = random.Random(1)
    ties = 0
    for _ in range(200):
        mantissa = rng.getrandbits(53) | 1 << 52
        score = _kernel.power(mantissa * 2.0**-53, 1000, 3000, 1.0)
        triple, rest = divmod(mantissa * 3, 4)
        # below 2^52 the result has one binary place more, so there is a midpoint only above
        if rest == 2 and triple >= 1 << 52:
            ties += 1
            assert score == (triple + (triple & 1)) * 2.0**-53
    assert ties > 10


def test_fixed_point_errors_stay_within_their_bounds():
    """The rounding test is sound: the parts of the fast path err by less than 2^-80."""
    rng = random.Random(2)
    with localcontext() as context:
        context.prec = 60
        ln2, unit = Decimal(2).ln(), Decimal(2) ** -96
        worst = Decimal(0)
        for _ in range(300):
            fraction = rng.getrandbits(96)
            exact = (-ln2 * fraction * unit).exp()
            worst = max(worst, abs(_kernel._exp2_minus(fraction) * unit - exact))
            n = rng.getrandbits(rng.randint(1, 65)) or 1
            worst = max(worst, abs(_kernel._log2(n) * unit - Decimal(n).ln() / ln2))
        assert 0 < worst < Decimal(2) ** -80


def test_constants_are_what_they_are_called():
    """The two literals are the floors that their comments say."""
    with localcontext() as context:
        context.prec = 60
        ln2 = Decimal(2).ln()
        assert int(ln2 * 2**96) == _kernel._LN2
        assert int(2**96 / ln2) == _kernel._LOG2_E
        assert float(2**14 / ln2) == _kernel._STEPS_PER_NAT


@given(elapsed_times, elapsed_times, half_lives)
def test_half_life_never_rises_with_time(first, second, half_life):
    """A later score is not higher, and all are in [0, 1]."""
    early, late = sorted((first, second))
    assert 1 >= _kernel.half_life(early, half_life) >= _kernel.half_life(late, half_life) >= 0


@given(elapsed_times, half_lives)
def test_half_life_never_rises_in_one_tick(elapsed, half_life):
    """Neighbouring times are in order too, where equal scores are likely."""
    assert _kernel.half_life(elapsed, half_life) >= _kernel.half_life(elapsed + 1, half_life)


@given(importances, ages, ages, scales, exponents)
def test_power_never_rises_with_age(importance, first, second, scale, exponent):
    """A later score is not higher, and none exceeds the importance."""
    early, late = sorted((first, second))
    scores = [_kernel.power(importance, age, scale, exponent) for age in (early, late)]
    assert importance >= scores[0] >= scores[1] >= 0


@given(importances, importances, ages, scales, exponents)
def test_power_never_falls_with_importance(first, second, age, scale, exponent):
    """A more important memory has no lower score."""
    low, high = sorted((first, second))
    assert _kernel.power(low, age, scale, exponent) <= _kernel.power(high, age, scale, exponent)


@pytest.mark.parametrize("halvings", [0, 1, 2, 1021, 1022, 1023, 1074])
def test_whole_half_lives_are_powers_of_two(halvings):
    """N half-lives give exactly 2^-n, subnormal ones included."""
    assert bits(_kernel.half_life(halvings * 7, 7)) == bits(math.ldexp(1.0, -halvings))


def test_the_least_midpoint_goes_to_zero():
    """2^-1075 is a tie between 0 and the least double; a little less age gives that double."""
    assert bits(_kernel.half_life(1075 * 1000, 1000)) == bits(0.0)
    assert bits(_kernel.half_life(1075 * 1000 - 1, 1000)) == bits(5e-324)


@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize("age", [0, 5])
def test_no_importance_gives_a_positive_zero(zero, age):
    """-0.0 counts as 0, and the score is +0.0."""
    for function in (_kernel.power, _kernel.exact_power):
        assert bits(function(zero, age, 1000, 1.0)) == bits(0.0)


def test_tables_are_built_at_first_use(fresh_interpreter):
    """Importing the kernel computes nothing."""
    code = "from recolva import _kernel as k; print(len(k._COARSE), k.half_life(1, 2), len(k._COARSE))"
    assert fresh_interpreter(code) == "0 0.7071067811865476 128"


FLUSHING = """
import ctypes, gzip, json, struct, sys
from recolva import _kernel

libm = ctypes.CDLL("libm.so.6")
environment = (ctypes.c_uint32 * 8)()  # fenv_t: the last word is MXCSR
libm.fegetenv(environment)
environment[7] |= 0x8040  # flush to zero, denormals are zero
libm.fesetenv(environment)
flushes = sys.float_info.min / 2 == 0

def least(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]

def bits(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]

scores = (
    _kernel.half_life(1074, 1), _kernel.half_life(10231, 10), _kernel.exact_half_life(10231, 10),
    _kernel.power(least(12345), 1000, 1000, 1.0), _kernel.exact_power(least(12345), 1000, 1000, 1.0),
)
print(flushes, *map(bits, scores))
"""


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="sets a register of x86-64 through glibc"
)
def test_flush_to_zero_changes_nothing(fresh_interpreter):
    """A library that makes the CPU flush subnormal numbers does not change a score."""
    power = 2101003516504773  # of 2^50.9 = 2101003516504772.513…, the bits of 2^-1023.1
    half = 6172  # of 6172.5, a tie, to even
    assert fresh_interpreter(FLUSHING) == f"True 1 {power} {power} {half} {half}"
