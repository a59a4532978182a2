"""A path for a file, and engines: a test that asks for `new_engine` runs twice, in memory and in a file."""

from __future__ import annotations

import itertools

import pytest

from memoryhalflife import MemoryEngine


@pytest.fixture
def path(tmp_path):
    """Return the path of a file that does not exist yet, alone in its directory."""
    return tmp_path / "agent.db"


@pytest.fixture(params=["memory", "file"])
def new_engine(request, tmp_path_factory):
    """Return a function that makes an empty engine from the arguments of the constructor."""
    engines, numbers, folder = [], itertools.count(), tmp_path_factory.mktemp("engines")

    def make(**arguments):
        if request.param == "memory":
            engine = MemoryEngine(**arguments)
        else:
            path = folder / f"{next(numbers)}.db"
            engine = MemoryEngine.open(path, synchronous="OFF", **arguments)
        engines.append(engine)
        return engine

    yield make
    for engine in engines:
        engine.close()
