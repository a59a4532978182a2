"""Arguments of every kind get a plain answer or an error that names them, from both engines."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import pytest

from memoryhalflife import Memory, MemoryEngine
from recolva.errors import InvalidArgument, InvalidArgumentType


class Index:
    """An integer by __index__ alone: it compares with nothing."""

    def __index__(self):
        return 5


class OddText(str):
    """Denies being empty."""

    __slots__ = ()

    def __bool__(self):
        return True

    def __len__(self):
        return 3


class EqualToAll:
    """A list of one tag that equals everything, even the empty tuple."""

    __hash__ = None

    def __eq__(self, other):
        return True

    def __iter__(self):
        return iter(["tag"])


class Uniterable:
    __iter__ = None


def test_a_key_is_its_text(new_engine):
    """An empty key is refused, whatever its class says of it; a kept one is a plain str."""
    engine = new_engine()
    with pytest.raises(InvalidArgument, match="key must not be empty"):
        engine.store(OddText(""), 1)
    assert type(engine.store(OddText("a"), 1).key) is str


@pytest.mark.parametrize(
    "value",
    [10**400, -(10**5000), Fraction(10**400), float("inf"), 1, 0, -0.0, float("nan")],
    ids=lambda value: type(value).__name__,
)
def test_thresholds_out_of_range_are_refused(value):
    """However large, a threshold outside (0, 1) has the one text."""
    for call in (
        lambda: MemoryEngine(default_threshold=value),
        lambda: MemoryEngine().store("k", 1, threshold=value),
        lambda: Memory("k", 1, threshold=value),
    ):
        with pytest.raises(InvalidArgument, match="threshold must be greater than 0 and less than 1, got"):
            call()


def test_tags_are_what_they_yield(new_engine):
    """No comparison decides what tags are; what can't be iterated is named."""
    engine = new_engine()
    assert engine.store("k", 1, tags=EqualToAll()).tags == ("tag",)
    for tags in (Uniterable(), 5, "abc", b"abc", {"a": 1}, None):
        with pytest.raises(InvalidArgumentType, match=f"tags must be a list of strings, got {type(tags).__name__}"):
            engine.store("k", 1, tags=tags)


def test_times_are_plain_integers():
    """What has an index is an integer in a memory too, and later times are compared with it."""
    memory = Memory("k", 1, created_at=Index(), last_accessed_at=Index())
    assert (memory.created_at, memory.last_accessed_at) == (5, 5)
    with pytest.raises(InvalidArgument, match="last_accessed_at must be between 5 and 9007199254740991, got 4"):
        Memory("k", 1, created_at=Index(), last_accessed_at=4)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0.5", "threshold must be a number, got str"),
        (None, "threshold must be a number, got NoneType"),
        (float("nan"), "threshold must be between 0 and 1, got NaN"),
        (1.5, "threshold must be between 0 and 1, got 1.5"),
    ],
)
def test_a_memory_and_an_engine_fade_alike(value, text):
    """Memory.is_fading takes the thresholds that MemoryEngine.fading takes."""
    for call in (Memory("k", 1).is_fading, lambda _, value: MemoryEngine().fading(value)):
        with pytest.raises(InvalidArgument) as caught:
            call(1, value)
        assert str(caught.value) == text


def test_what_cannot_be_called_is_no_callback(tmp_path):
    """A wrong on_expire is an error at once, not after the first tick, and makes no file."""
    path = tmp_path / "agent.db"
    state = MemoryEngine().to_dict()
    for make in (
        MemoryEngine,
        lambda **arguments: MemoryEngine.open(path, **arguments),
        lambda **arguments: MemoryEngine.from_dict(state, path=path, **arguments),
    ):
        with pytest.raises(InvalidArgumentType, match="on_expire must be callable, got int"):
            make(on_expire=5)
    assert not path.exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"path": None}, "path must name a file, got NoneType"),
        ({"path": 5}, "path must name a file, got int"),
        ({"path": ""}, "path must name a file, got ''"),
        ({"path": ":memory:"}, "path must name a file, got ':memory:'"),
        ({"path": "a\0b"}, r"path must name a file, got 'a\\x00b'"),
        ({"synchronous": "EXTRA"}, 'synchronous must be FULL or NORMAL or OFF, got "EXTRA"'),
        ({"synchronous": 1}, "synchronous must be a string, got int"),
        ({"synchronous": 10**5000}, "synchronous must be a string, got int"),
        ({"timeout": "1"}, "timeout must be a number, got str"),
        ({"timeout": -1}, "timeout must be between 0 and 86400, got -1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_how_to_open_a_file_is_checked(tmp_path, arguments, text):
    """An error names the argument of open, and no file is made."""
    path = tmp_path / "agent.db"
    with pytest.raises(InvalidArgument, match=text):
        MemoryEngine.open(**{"path": path, **arguments})
    assert not path.exists()


def test_engines_are_not_copied(new_engine):
    """A copy would use the same store without knowing of the other: it is refused, with a way out."""
    engine = new_engine()
    for call in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="an engine can't be copied or pickled: use to_dict"):
            call(engine)


def test_memories_are_copied(new_engine):
    """A memory is a value: copies and pickles of it are equal to it."""
    memory = new_engine().store("k", {"a": [1]}, tags=["t"])
    for copied in (copy.copy(memory), copy.deepcopy(memory), pickle.loads(pickle.dumps(memory))):
        assert copied == memory
