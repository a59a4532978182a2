"""What recolva's users would write in Python for the same work: ours.py TASK [ARGUMENT...] prints figures as JSON."""

from __future__ import annotations

import json
import random
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

DAY_MS = 86_400_000
NOW_MS = 1_767_225_600_000


def best_of(rounds: int, work: Callable[[], object]) -> float:
    """Return the processor's seconds in the least disturbed round."""
    times = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def scan(path: str, half_life: str, threshold: str) -> int:
    """Scan a store with the documented function; print how many records would go."""
    from recolva.jsonl import scan_exponential_jsonl  # noqa: PLC0415  each task imports what it measures

    decisions = scan_exponential_jsonl(path, now=NOW_MS, half_life_millis=int(half_life), threshold=float(threshold))
    return sum(decision.prune for decision in decisions)


def archive(path: str, half_life: str, threshold: str, target: str) -> int:
    """Archive with the documented function; print how many records went."""
    from recolva.jsonl import archive_exponential_jsonl  # noqa: PLC0415  each task imports what it measures

    return archive_exponential_jsonl(
        path, target, now=NOW_MS, half_life_millis=int(half_life), threshold=float(threshold)
    ).pruned


def score() -> dict[str, float]:
    """Return the microseconds of one score of the pure-Python kernel, for each model."""
    from recolva.models import Exponential, PowerLaw  # noqa: PLC0415  each task imports what it measures

    rng = random.Random(1)
    cases = [(NOW_MS - int(rng.random() * 400 * DAY_MS), rng.random()) for _ in range(20_000)]
    models: dict[str, Exponential | PowerLaw] = {
        "exponential": Exponential(50 * DAY_MS),
        "power-law": PowerLaw(30 * DAY_MS, 1.5),
    }
    figures = {}
    for name, model in models.items():
        work = partial(score_all, model.score, cases)
        figures[name] = best_of(7, work) / len(cases) * 1e6
    return figures


def score_all(score_one: Callable[[int, int, float], float], cases: list[tuple[int, float]]) -> None:
    """Score every case."""
    for last, weight in cases:
        score_one(last, NOW_MS, weight)


def array(count: str) -> dict[str, float]:
    """Return the nanoseconds of one element of score_array, and of NumPy's own functions, for each model."""
    import numpy as np  # noqa: PLC0415  each task imports what it measures

    from recolva import score_array  # noqa: PLC0415  each task imports what it measures

    rng = np.random.default_rng(1)
    last = NOW_MS - (rng.random(int(count)) * 400 * DAY_MS).astype(np.int64)
    weight = rng.random(int(count))
    half_life, scale = 50 * DAY_MS, 30 * DAY_MS
    tasks: dict[str, Callable[[], object]] = {
        "exponential": lambda: score_array(last, model="exponential", now=NOW_MS, half_life_millis=half_life),
        "power-law": lambda: score_array(
            last, model="power-law", now=NOW_MS, scale_millis=scale, exponent=1.5, importance=weight
        ),
        "numpy exponential": lambda: np.exp2((NOW_MS - last) / -half_life),
        "numpy power-law": lambda: weight * np.exp(-1.5 * np.log1p((NOW_MS - last) / scale)),
    }
    return {name: best_of(3, task) / len(last) * 1e9 for name, task in tasks.items()}


if __name__ == "__main__":
    tasks: dict[str, Callable[..., object]] = {"scan": scan, "archive": archive, "score": score, "array": array}
    print(json.dumps(tasks[sys.argv[1]](*sys.argv[2:])))
