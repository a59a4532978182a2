"""What the tick engine costs, in memory and in a file: ``PYTHONPATH=src python benchmarks/engine.py``.

Every figure is a median of single operations or of rounds, on the wall clock. The rates of a file
stand beside what its disk can do: the rate of appending 4 KiB and waiting for it.

``--largest N`` ends the curve earlier than at 1,000,000 memories, ``--directory D`` chooses the disk.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import sys
import tempfile
import time
import tracemalloc
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Callable

from memoryhalflife import MemoryEngine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

CONTENT = "It is sunny today"
EXPIRING = 1000


def microseconds(call: Callable[[Any], object], arguments: Iterable[Any]) -> float:
    """Return the median time of one call."""
    clock, times = time.perf_counter_ns, []
    for argument in arguments:
        start = clock()
        call(argument)
        times.append(clock() - start)
    return median(times) / 1000


def rate(call: Callable[[Any], object], arguments: list[Any], rounds: int = 5) -> float:
    """Return how many calls a second make, the median of some rounds."""
    rates = []
    for _ in range(rounds):
        start = time.perf_counter()
        for argument in arguments:
            call(argument)
        rates.append(len(arguments) / (time.perf_counter() - start))
    return median(rates)


def filled(count: int, life: int = 10**6) -> MemoryEngine:
    """Return an engine with count memories that share their content."""
    engine = MemoryEngine(default_half_life=life)
    with engine.batch():
        for i in range(count):
            engine.store(f"key-{i}", CONTENT)
    return engine


def bytes_each(count: int) -> float:
    """Return the bytes that a memory takes beyond its key and content."""
    keys = [f"key-{i}" for i in range(count)]
    engine = MemoryEngine(default_half_life=10**6)
    gc.collect()
    tracemalloc.start()
    for i, key in enumerate(keys):
        engine.store(key, CONTENT, half_life=1 + i % 1000)
        if i % 10 == 0:
            engine.tick(0)
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return size / count


def in_memory(largest: int) -> Iterator[str]:
    """Yield the rows of the engine in memory."""
    yield "in memory       store us  recall us  tick(1) us   expire us each  (of 1000 due)  bytes each"
    rng = random.Random(1)
    count = 1000
    while count <= largest:
        engine = filled(count)
        keys = [f"key-{rng.randrange(count)}" for _ in range(20_000)]
        store = microseconds(partial(engine.store, content=CONTENT), keys)
        recall = microseconds(engine.recall, keys)
        idle = microseconds(engine.tick, [1] * 2000)
        expire = []
        for _ in range(5):
            for i in range(EXPIRING):
                engine.store(f"due-{i}", CONTENT, half_life=1 + i % 7)
            gc.collect()
            start = time.perf_counter()
            expired = len(engine.tick(100))
            expire.append((time.perf_counter() - start) / expired * 1e6)
        size = bytes_each(min(count, 100_000))
        yield f"{count:>13,} {store:>10.2f} {recall:>10.2f} {idle:>11.2f} {median(expire):>16.2f} {size:>27.0f}"
        del engine
        count *= 10


def fsync_rate(directory: Path | str, count: int) -> float:
    """Return how often a second 4 KiB can be appended to a file and be waited for."""
    with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
        block = os.urandom(4096)

        def append(_: int) -> None:
            file.write(block)
            os.fsync(file.fileno())

        return rate(append, list(range(count)), rounds=3)


def in_file(directory: Path | str, count: int, batch: int) -> Iterator[str]:
    """Yield the rows of the engine in a file."""
    yield "in a file (operations a second)   store   recall"
    before = fsync_rate(directory, count)
    for synchronous in ("FULL", "NORMAL"):
        path = Path(directory) / f"{synchronous}.db"
        with MemoryEngine.open(path, synchronous=synchronous, default_half_life=10**6) as engine:
            number = count if synchronous == "FULL" else 10 * count
            keys = [f"key-{i}" for i in range(number)]
            store = rate(lambda key: engine.store(key, CONTENT), keys, rounds=3)
            recall = rate(engine.recall, keys, rounds=3)
            yield f"  {synchronous:<28} {store:>8,.0f} {recall:>8,.0f}"
            if synchronous == "NORMAL":
                keys = [f"key-{i}" for i in range(batch)]
                with engine.batch():
                    store = rate(lambda key: engine.store(key, CONTENT), keys, rounds=3)
                    engine.tick()
                    recall = rate(engine.recall, keys, rounds=3)
                yield f"  {'in a batch':<28} {store:>8,.0f} {recall:>8,.0f}"
    after = fsync_rate(directory, count)
    yield f"  {'append 4 KiB and fsync':<28} {(before + after) / 2:>8,.0f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--directory", help="where the files are made (the default temporary directory)")
    parser.add_argument("--operations", type=int, default=300, help="at FULL; more elsewhere")
    parser.add_argument("--batch", type=int, default=50_000)
    options = parser.parse_args()
    print(f"Python {sys.version.split()[0]}")
    for row in in_memory(options.largest):
        print(row, flush=True)
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        for row in in_file(directory, options.operations, options.batch):
            print(row, flush=True)


if __name__ == "__main__":
    main()
