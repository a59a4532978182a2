"""The stores that are swept: made once, kept in .tools/bench; and the folder that every run makes and removes."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

from checkout import TOOLS, say

import make_example_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDER = TOOLS / "bench"
WORK = FOLDER / "work"

NOW_MS = make_example_store.NOW_MS
HALF_LIFE_MS = 50 * make_example_store.DAY_MS  # with the threshold, about half of the records go
THRESHOLD = 0.5

# A score below one half means an age above one half-life: others may compare times instead.
CUTOFF_MS = NOW_MS - HALF_LIFE_MS


def store(shape: str, count: int) -> Path:
    """Return a store of the shape, making it where it is not there."""
    path = FOLDER / f"{shape}-{count}.jsonl"
    if not path.exists():
        say(f"making {path.name}")
        FOLDER.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        make_example_store.write_store(partial, shape, count)
        partial.replace(path)
    return path


@contextmanager
def work_folder() -> Iterator[Path]:
    """Make the folder for what a run writes, and remove it with all that is in it."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    try:
        yield WORK
    finally:
        shutil.rmtree(WORK, ignore_errors=True)


def clear_work() -> None:
    """Remove what earlier contestants wrote, and leave the disk nothing to do."""
    for path in WORK.iterdir():
        path.unlink()
    os.sync()


def fresh_copy(path: Path) -> Path:
    """Put a fresh copy of a store where mutating contestants find it; what they wrote before goes."""
    clear_work()
    copy = shutil.copyfile(path, WORK / "store.jsonl")
    os.sync()
    return copy


def beginning(path: Path, count: int) -> Path:
    """Write the first records of a store to the work folder."""
    part = WORK / f"{count}-of-{path.name}"
    with path.open("rb") as source, part.open("wb") as target:
        target.writelines(islice(source, count))
    return part


def repeated(path: Path, times: int) -> Path:
    """Write a store several times over to the work folder."""
    whole = WORK / f"{times}-times.jsonl"
    with whole.open("wb") as target:
        for _ in range(times):
            with path.open("rb") as source:
                shutil.copyfileobj(source, target, 1 << 20)
    return whole


def long_line(content_bytes: int) -> Path:
    """Write a store of one record as long as that to the work folder."""
    path = WORK / "long-line.jsonl"
    head, tail = f'{{"id":"long","last_accessed_ms":{NOW_MS},"text":"'.encode(), b'"}'
    path.write_bytes(head + b"x" * (content_bytes - len(head) - len(tail)) + tail + b"\n")
    return path
