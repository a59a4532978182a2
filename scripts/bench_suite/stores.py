"""The stores that are swept: made once, kept in .tools/bench."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from checkout import TOOLS, say

import make_example_store

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = TOOLS / "bench"

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


def fresh_copy(path: Path) -> Path:
    """Put a fresh copy of a store where mutating contestants find it; earlier outputs go."""
    folder = FOLDER / "work"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return shutil.copyfile(path, folder / "store.jsonl")
