"""Files of engines: made, looked at, refused."""

from __future__ import annotations

import pytest

from memoryhalflife import MemoryEngine
from recolva.errors import Refused


def filled(path, count=200, **arguments):
    """Make a file with count memories and close it."""
    with MemoryEngine.open(path, synchronous="OFF", **arguments) as engine, engine.batch():
        for i in range(count):
            engine.store(f"key-{i}", {"text": f"content {i} " * 5})
        engine.tick(3)
    return path


def contents(folder):
    """Return the files of a folder and what is in them."""
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


def assert_refused(path, text):
    """Opening is refused with a text that names file and reason, and leaves everything as it was."""
    before = contents(path.parent)
    with pytest.raises(Refused) as caught:
        MemoryEngine.open(path)
    assert str(path) in str(caught.value)
    assert text in str(caught.value)
    assert contents(path.parent) == before
