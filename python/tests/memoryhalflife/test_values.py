"""Content is any JSON value, and nothing else."""

from __future__ import annotations

import enum
import json
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryhalflife import values

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=20)


class Colour(str, enum.Enum):
    """A str that shows itself differently."""

    RED = "red"


def exact(value):
    """Return text that tells 1 from 1.0 and True, and 0.0 from -0.0."""
    return json.dumps(value)


@given(JSON)
def test_copy_and_text_give_the_same_value(value):
    """A copy equals its source to the type and the order of names, and so does what is read back."""
    assert exact(values.copied(value)) == exact(value)
    assert exact(values.loads(values.dumps(value))) == exact(value)


def test_a_copy_shares_nothing():
    """Lists and dicts of a copy are new ones at every level."""
    source = {"a": [1, {"b": []}]}
    copy = values.copied(source)
    source["a"][1]["b"].append("x")
    assert copy == {"a": [1, {"b": []}]}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"x", "content must be a JSON value, got bytes"),
        ((1, 2), "content must be a JSON value, got tuple"),
        ({1}, "content must be a JSON value, got set"),
        ([object()], "content must be a JSON value, got object"),
        (float("nan"), "content must be a JSON value, got NaN"),
        ({"a": float("-inf")}, "content must be a JSON value, got -Infinity"),
        ({1: 2}, "content must have strings as names, got int"),
        pytest.param(1 << 20000, "content must have integers of at most 14280 bits", id="long integer"),
    ],
)
def test_other_values_are_refused(value, text):
    """What JSON has no word for is a TypeError (and a ValueError) that names it."""
    with pytest.raises(TypeError, match="content") as caught:
        values.copied(value)
    assert isinstance(caught.value, ValueError)
    assert str(caught.value) == text


@pytest.mark.parametrize("value", ["\ud800", ["a\udfff"], {"\ud800": 1}])
def test_lone_surrogates_are_refused(value):
    """Text that UTF-8 can't hold is refused, wherever it stands."""
    with pytest.raises(ValueError, match="content must not contain a lone surrogate, got"):
        values.copied(value)


def test_depth_is_limited():
    """500 levels pass, 501 do not, and neither does a list inside itself."""

    def nested(depth):
        value = []
        for _ in range(depth - 1):
            value = [value]
        return value

    assert values.copied(nested(500)) == nested(500)
    assert values.loads(values.dumps(nested(500))) == nested(500)
    loop = []
    loop.append(loop)
    for value in (nested(501), loop):
        with pytest.raises(TypeError, match="content must not be nested deeper than 500"):
            values.copied(value)


def test_subclasses_become_plain_values():
    """A str that is an Enum, an int that is one, an OrderedDict: kept as what JSON makes of them."""
    number = enum.IntEnum("N", {"ONE": 1}).ONE
    copy = values.copied([Colour.RED, number, OrderedDict(a=True)])
    assert copy == ["red", 1, {"a": True}]
    assert [type(value) for value in copy] == [str, int, dict]
