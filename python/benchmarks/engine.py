"""What the tick engine costs, in memory and in a file: ``PYTHONPATH=src python benchmarks/engine.py``.

Figures are medians of single operations or of rounds, on the wall clock. What takes long enough to be
interrupted by other work on the machine is given in CPU time: memories(), expiry, and, beside the
rate in a batch (its commit included), an operation in it. The rates of a file stand beside what its disk can do: appending 4 KiB and waiting for it,
taken in turns with the others, a few operations each, because a disk has good and bad seconds.

``--largest N`` ends the curve earlier than at 1,000,000 memories, ``--directory D`` chooses the disk,
``--json`` prints the rows as JSON.
"""

from __future__ import annotations

import argparse
import gc
import json
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
    from io import FileIO
    from typing import Any

Row = dict[str, float]

CONTENT = "It is sunny today"
EXPIRING = 1000
ROUNDS, SLICE = 5, 10


def microseconds(call: Callable[[Any], object], arguments: Iterable[Any]) -> float:
    """Return the median time of one call."""
    clock, times = time.perf_counter_ns, []
    for argument in arguments:
        start = clock()
        call(argument)
        times.append(clock() - start)
    return median(times) / 1000


def rates(calls: dict[str, Callable[[int], object]], count: int) -> Row:
    """Return how many calls a second each makes, a few in turn."""
    times = dict.fromkeys(calls, 0.0)
    for first in range(0, count, SLICE):
        for name, call in calls.items():
            start = time.perf_counter()
            for number in range(first, first + SLICE):
                call(number)
            times[name] += time.perf_counter() - start
    return {name: -(-count // SLICE) * SLICE / total for name, total in times.items()}


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


def expiring(engine: MemoryEngine, ticks: int) -> float:
    """Return the CPU time that a tick takes for each memory that expires in it, in microseconds."""
    gc.collect()
    start = time.process_time()
    expired = len(engine.tick(ticks))
    return (time.process_time() - start) / expired * 1e6


def some_expiring(engine: MemoryEngine) -> float:
    """Return what each of 1000 memories costs that expire among others that live on."""
    times = []
    for _ in range(ROUNDS):
        with engine.batch():
            for i in range(EXPIRING):
                engine.store(f"due-{i}", CONTENT, half_life=1 + i % 7)
        times.append(expiring(engine, 100))
    return median(times)


def all_expiring(count: int) -> float:
    """Return what each of count memories costs that expire together, at as many ticks as may be."""
    engine = MemoryEngine(default_threshold=0.5)
    with engine.batch():
        for i in random.Random(2).sample(range(count), count):
            engine.store(f"key-{i}", CONTENT, half_life=1 + i)
    return expiring(engine, count)


def in_memory(largest: int) -> Iterator[Row]:
    """Yield the rows of the engine in memory; times are microseconds."""
    rng = random.Random(1)
    count = 1000
    while count <= largest:
        engine = filled(count)
        keys = [f"key-{rng.randrange(count)}" for _ in range(20_000)]
        row = {
            "living": count,
            "store": microseconds(partial(engine.store, content=CONTENT), keys),
            "recall": microseconds(engine.recall, keys),
            "tick(1)": microseconds(engine.tick, [1] * 2000),
            "1000 expire, each": some_expiring(engine),
        }
        start = time.process_time()
        engine.memories()
        row["memories(), each"] = (time.process_time() - start) / count * 1e6
        del engine
        yield {**row, "all expire, each": all_expiring(count), "bytes each": bytes_each(min(count, 100_000))}
        count *= 10


def alone(engine: MemoryEngine, count: int, file: FileIO) -> Row:
    """Return the rates of store, of recall, and of appending to a file beside the engine's."""
    block = os.urandom(4096)

    def append(_: int) -> None:
        file.write(block)
        os.fsync(file.fileno())

    calls: dict[str, Callable[[int], object]] = {
        "store": lambda number: engine.store(f"key-{number}", CONTENT),
        "recall": lambda number: engine.recall(f"key-{number}"),
        "append 4 KiB and fsync": append,
    }
    return rates(calls, count)


def batched(engine: MemoryEngine, call: Callable[[Any], object], keys: list[str]) -> tuple[float, float]:
    """Return the rate of an operation in a batch, its commit included, and its CPU time in microseconds."""
    rates, costs = [], []
    for _ in range(ROUNDS):
        engine.tick()
        start, cpu = time.perf_counter(), time.process_time()
        with engine.batch():
            for key in keys:
                call(key)
        rates.append(len(keys) / (time.perf_counter() - start))
        costs.append((time.process_time() - cpu) / len(keys) * 1e6)
    return median(rates), median(costs)


def in_file(directory: Path, count: int, batch: int) -> Iterator[tuple[str, Row]]:
    """Yield the rows of the engine in a file; rates are operations a second."""
    for synchronous in ("FULL", "NORMAL"):
        engine = MemoryEngine.open(directory / f"{synchronous}.db", synchronous=synchronous, default_half_life=10**6)
        with engine, tempfile.TemporaryFile(dir=directory, buffering=0) as file:
            yield synchronous, alone(engine, count, file)
    with MemoryEngine.open(directory / "batch.db", default_half_life=10**6) as engine:
        keys = [f"key-{i}" for i in range(batch)]
        store, store_cpu = batched(engine, partial(engine.store, content=CONTENT), keys)
        recall, recall_cpu = batched(engine, engine.recall, keys)
        yield "batch", {"store": store, "recall": recall, "store, CPU µs": store_cpu, "recall, CPU µs": recall_cpu}


def shown(row: Row) -> str:
    """Return a row as text."""
    return ", ".join(f"{name} {value:,.{2 if value < 100 else 0}f}" for name, value in row.items())


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--directory", help="where the files are made (the default temporary directory)")
    parser.add_argument("--operations", type=int, default=2000, help="of each kind, one by one")
    parser.add_argument("--batch", type=int, default=50_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    say = (lambda _: None) if options.json else partial(print, flush=True)
    say(f"Python {sys.version.split()[0]}; in memory (microseconds):")
    memory = []
    for row in in_memory(options.largest):
        memory.append(row)
        say(shown(row))
    say("in a file (operations a second):")
    file = {}
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        for name, row in in_file(Path(directory), options.operations, options.batch):
            file[name] = row
            say(f"{name}: {shown(row)}")
    if options.json:
        print(json.dumps({"memory": memory, "file": file}))


if __name__ == "__main__":
    main()
