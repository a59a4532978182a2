#!/usr/bin/env python3
"""Write a synthetic memory store: the same bytes for the same arguments, on every machine and Python.

    python scripts/make_example_store.py memories.jsonl
    python scripts/make_example_store.py --shape minimal --count 1000000 minimal.jsonl

realistic lines (about 600 bytes) hold text, tags and nested metadata, with their keys in varied order and
a misleading "last_accessed_ms" one level down; minimal lines (about 90 bytes) hold the three fields alone.
Times lie in the 400 days before NOW_MS.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

T = TypeVar("T")

NOW_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z
DAY_MS = 86_400_000
SEED = 1885  # the year of the first published forgetting curve
COUNT = 10_000
SHAPES = ("realistic", "minimal")

WHO = ("Mira", "the user", "Jonas", "her brother", "the team", "Dr. Okafor", "the landlord", "Señora Ruiz", "小林さん")
FACTS = (
    "takes the 07:12 train on weekdays",
    "wants answers in short paragraphs",
    "is allergic to hazelnuts",
    "moved the release to the second week of the month",
    "keeps the spare key under the blue pot",
    'prefers tabs, "never spaces", in Makefiles',
    "asked to be reminded about the dentist",
    "found the leak in the cache layer",
    "writes notes in Zürich time",
    "has a cat called Ångström 🐈",
    "stores photographs in D:\\pictures\\raw",
    "would rather read than watch the tutorial",
    "pays the invoice on the 28th",
    "dislikes phone calls before ten",
    "is learning the cello again",
    "renamed the branch to spring-cleaning",
    "plans a walk along the coast in May",
    "needs the report as a table\twith totals",
)
TAGS = ("health", "work", "travel", "home", "music", "food", "code", "people", "money", "habit")
SOURCES = ("chat", "mail", "voice", "tool")


class Dice:
    """Random choices made of random.random() alone, whose sequence Python promises never to change."""

    def __init__(self, seed: int) -> None:
        self.fraction = random.Random(seed).random

    def below(self, limit: int) -> int:
        """Return an integer in [0, limit)."""
        return int(self.fraction() * limit)

    def pick(self, choices: Sequence[T]) -> T:
        """Return one of the choices."""
        return choices[self.below(len(choices))]

    def shuffled(self, items: list[T]) -> list[T]:
        """Return the items in a random order."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in items]


def core_fields(dice: Dice, number: int) -> dict[str, Any]:
    """Return the three fields that a sweep reads; a few importances are exactly 0, 0.5 or 1."""
    age = int(dice.fraction() ** 3 * 400 * DAY_MS)
    special = dice.fraction() < 0.03
    return {
        "id": f"memory-{number:07d}",
        "last_accessed_ms": NOW_MS - age,
        "importance": dice.pick((0, 0.5, 1)) if special else round(1 - dice.fraction() ** 2, 4),
    }


def full_record(dice: Dice, number: int) -> dict[str, Any]:
    """Return a record as an agent framework might keep it."""
    core = core_fields(dice, number)
    sentences = [f"{dice.pick(WHO)} {dice.pick(FACTS)}" for _ in range(3 + dice.below(9))]
    created = core["last_accessed_ms"] - dice.below(90 * DAY_MS)
    extra = {
        "content": ". ".join(sentences) + ".",
        "tags": [dice.pick(TAGS) for _ in range(1 + dice.below(3))],
        "created_at_ms": created,
        "access_count": dice.below(60),
        "metadata": {
            "source": dice.pick(SOURCES),
            "session": {"id": f"s-{dice.below(10_000):04d}", "turn": dice.below(300)},
            "last_accessed_ms": "not the field you are looking for",
            "similarity": dice.fraction(),
        },
    }
    return dict(dice.shuffled([*core.items(), *extra.items()]))


def lines(shape: str = "realistic", count: int = COUNT, seed: int = SEED) -> Iterator[bytes]:
    """Yield the lines of a store, each with its newline."""
    dice = Dice(seed)
    for number in range(1, count + 1):
        if shape == "minimal":
            text = json.dumps(core_fields(dice, number))
        else:
            record = full_record(dice, number)
            compact = dice.fraction() < 0.5
            text = json.dumps(
                record, ensure_ascii=dice.fraction() < 0.3, separators=(",", ":") if compact else (", ", ": ")
            )
        yield text.encode() + b"\n"


def write_store(path: Path, shape: str = "realistic", count: int = COUNT, seed: int = SEED) -> None:
    """Write a store to a file."""
    with path.open("wb", buffering=1 << 20) as file:
        file.writelines(lines(shape, count, seed))


def main() -> int:
    """Write what the command line asks for."""
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("output", type=Path, metavar="FILE")
    parser.add_argument("--shape", choices=SHAPES, default=SHAPES[0])
    parser.add_argument("--count", type=int, default=COUNT, help=f"how many memories (default {COUNT})")
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    write_store(arguments.output, arguments.shape, arguments.count, arguments.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
