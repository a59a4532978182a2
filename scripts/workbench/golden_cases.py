"""The golden scores, for Pythons old and new: python golden_cases.py compares the pure package with all of them.

It needs the package on PYTHONPATH and nothing else, so that an interpreter without any package can run it.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from struct import pack
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MODELS = Path(__file__).resolve().parents[2] / "internal" / "conformance" / "testdata" / "models"
SPANS = range(1000, 315_576_000_001)  # the half-lives and scales that the models allow


def cases() -> Iterator[dict[str, Any]]:
    """Yield the rows of the file, doubles as doubles."""
    with gzip.open(MODELS / "golden_scores.jsonl.gz", "rt", encoding="ascii") as lines:
        for row in map(json.loads, lines):
            for name in ("exponent", "importance", "score_hex"):
                if name in row:
                    row[name] = float.fromhex(row[name])
            yield row


def digest() -> str:
    """Return the digest that every build's self-test has to print."""
    return (MODELS / "selftest.txt").read_text(encoding="ascii").strip()


def c_lines() -> str:
    """Return the rows that the models allow, as native/testdata/smoke.c reads them."""
    now = 2**63 - 1
    lines = []
    for row in cases():
        span = row["half_life"] if row["model"] == "E" else row["scale"]
        if span not in SPANS:
            continue
        doubles = [row["score_hex"]] if row["model"] == "E" else [row["exponent"], row["importance"], row["score_hex"]]
        words = " ".join(pack(">d", value).hex() for value in doubles)
        lines.append(f"{row['model']} {now - row['age']} {now} {span} {words}\n")
    return "".join(lines)


def strays() -> int:
    """Return how many scores of the pure kernel are not the golden ones, to the bit."""
    from recolva import _kernel  # noqa: PLC0415 - only the interpreter under test has it on its path

    count = 0
    for row in cases():
        if row["model"] == "E":
            score = _kernel.half_life(row["age"], row["half_life"])
        else:
            score = _kernel.power(row["importance"], row["age"], row["scale"], row["exponent"])
        count += pack("<d", score) != pack("<d", row["score_hex"])
    return count


if __name__ == "__main__":
    wrong = strays()
    print(f"{wrong} golden scores differ")
    sys.exit(wrong > 0)
