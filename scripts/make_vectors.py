#!/usr/bin/env python3
"""Check the golden scores, or make new ones, by arithmetic that no implementation uses.

    scripts/make_vectors.py check               every line of golden_scores.jsonl.gz, some 20 s
    scripts/make_vectors.py random COUNT SEED   COUNT new lines for each model on stdout

The oracle is the decimal module with 120 digits. A result is believed if it
rounds to the same double when it is moved by 1e-100 of itself either way;
otherwise it is so near the middle between two doubles that it must be that
middle, and is computed again as a fraction. Standard library only.
"""

from __future__ import annotations

import decimal
import gzip
import json
import math
import random
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN = Path(__file__).parent.parent / "internal/conformance/testdata/models/golden_scores.jsonl.gz"
COUNT = 21136
DECIMALS = decimal.Context(prec=120, Emin=-(10**9), Emax=10**9)
NUDGE = Decimal("1e-100")
LN2 = DECIMALS.ln(Decimal(2))
ZERO_AFTER = 1075  # 2^-1075 is half the least double


def rounded(log: Decimal, factor: Decimal = Decimal(1)) -> float | None:
    """Round factor * exp(log), or return None if it is too near a middle to tell."""
    with decimal.localcontext(DECIMALS):
        value = factor * log.exp()
        low, high = nearest(value * (1 - NUDGE)), nearest(value * (1 + NUDGE))
    return low if low == high else None


def nearest(value: Decimal | Fraction) -> float:
    """Round to the nearest double, ties to even: what int / int does, subnormals included."""
    numerator, denominator = value.as_integer_ratio()
    return numerator / denominator


def exponential(age: int, half_life: int) -> float:
    """Return 2^(-age/half_life), rounded."""
    if age >= ZERO_AFTER * half_life:
        return 0.0
    if age % half_life == 0:
        return nearest(Fraction(1, 2 ** (age // half_life)))
    with decimal.localcontext(DECIMALS):
        score = rounded(-LN2 * age / half_life)
    if score is None:
        raise ArithmeticError(f"cannot round 2^(-{age}/{half_life})")
    return score


def power_law(importance: float, age: int, scale: int, exponent: float) -> float:
    """Return importance * (1 + age/scale)^(-exponent), rounded."""
    if importance == 0 or age == 0:
        return importance
    with decimal.localcontext(DECIMALS):
        log = -Decimal(exponent) * (Decimal(scale + age) / scale).ln()
        score = rounded(log, Decimal(importance))
    if score is None:
        score = nearest(Fraction(importance) * rational_power(Fraction(scale, scale + age), Fraction(exponent)))
    return score


def rational_power(base: Fraction, exponent: Fraction) -> Fraction:
    """Return base^exponent for an exponent n/2^k and a base that is a 2^k-th power."""
    while exponent.denominator > 1:
        root = Fraction(math.isqrt(base.numerator), math.isqrt(base.denominator))
        if root * root != base:
            raise ArithmeticError(f"{base} to the power {exponent} is irrational, yet was not rounded")
        base, exponent = root, exponent * 2
    return base ** int(exponent)


def check() -> int:
    """Compare every golden score with the oracle; return the number of faults."""
    faults = 0
    lines = gzip.decompress(GOLDEN.read_bytes()).splitlines()
    for number, line in enumerate(lines, 1):
        case = json.loads(line)
        if case["model"] == "E":
            score = exponential(case["age"], case["half_life"])
        else:
            score = power_law(
                float.fromhex(case["importance"]), case["age"], case["scale"], float.fromhex(case["exponent"])
            )
        if score.hex() != float.fromhex(case["score_hex"]).hex():
            print(f"line {number}: {case}: the oracle says {score.hex()}")
            faults += 1
    print(f"{len(lines)} golden scores, {faults} faults")
    return faults + (len(lines) != COUNT)


def cases(count: int, seed: int) -> Iterator[dict[str, object]]:
    """Make random cases, many of them with ages of unusual size."""
    rng = random.Random(seed)
    for _ in range(count):
        half_life = rng.randint(1000, 10 ** rng.randint(4, 11))
        age = rng.choice([int(half_life * rng.uniform(0, 1080)), rng.getrandbits(rng.randint(1, 64))])
        yield {"model": "E", "age": age, "half_life": half_life, "score_hex": exponential(age, half_life).hex()}
        importance = rng.choice([rng.random(), rng.random() * 2.0 ** -rng.randint(0, 1060), rng.randint(0, 100) / 100])
        exponent = rng.choice([rng.uniform(0.1, 10), rng.randint(1, 40) / 4])
        age = rng.choice([age, half_life * rng.randint(1, 63) // rng.choice([1, 3, 7, 15])])
        yield {
            "model": "P",
            "age": age,
            "scale": half_life,
            "exponent": exponent.hex(),
            "importance": importance.hex(),
            "score_hex": power_law(importance, age, half_life, exponent).hex(),
        }


def main(arguments: list[str]) -> int:
    """Run the command line."""
    if arguments == ["check"]:
        return 1 if check() else 0
    if len(arguments) == 3 and arguments[0] == "random":
        for case in cases(int(arguments[1]), int(arguments[2])):
            print(json.dumps(case, separators=(",", ":")))
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
