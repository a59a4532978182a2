"""Faults that recolva 0.2 had in its in-memory functions, each with the right outcome, in both backends."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import recolva
import recolva.jsonl
from recolva import MemoryRecord, exponential_score, power_law_score, score_array, score_memories
from recolva.errors import InvalidArgument, InvalidArgumentType

DAY = 86_400_000

pytestmark = pytest.mark.usefixtures("backend")


@pytest.mark.parametrize(
    ("last_accessed", "now", "score"),
    [
        (-(2**63), 1_750_000_000_000, 0.0),
        (-1, 2**63 - 1, 0.0),
        (2**63 - 1, -(2**63), 1.0),
    ],
)
def test_ages_do_not_wrap(last_accessed, now, score):
    """The age of times far apart is exact, one by one, as an array, and in a decision."""
    policy = {"now": now, "half_life_millis": DAY}
    assert exponential_score(last_accessed=last_accessed, **policy) == score
    assert list(score_array([last_accessed], model="exponential", **policy)) == [score]
    records = [MemoryRecord("a", last_accessed)]
    assert score_memories(records, model="exponential", threshold=0.5, **policy)[0].score == score


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"last_accessed": 2**64}, InvalidArgument),
        ({"half_life_millis": 2**64 + DAY}, InvalidArgument),
        ({"now": 1.0}, InvalidArgumentType),
        ({"half_life_millis": float(DAY)}, InvalidArgumentType),
        ({"last_accessed": True}, InvalidArgumentType),
    ],
)
def test_arguments_neither_wrap_nor_convert(changes, kind):
    """What is no int64 is refused by single scores and by arrays, with one text but for the element."""
    arguments = {"last_accessed": 0, "now": DAY, "half_life_millis": DAY, **changes}
    with pytest.raises(kind) as single:
        exponential_score(**arguments)
    with pytest.raises(kind) as many:
        score_array([arguments.pop("last_accessed")], model="exponential", **arguments)
    assert str(many.value).replace("[0]", "") == str(single.value)


@pytest.mark.parametrize("threshold", [float("nan"), 1.5, -0.5])
def test_thresholds_out_of_range_are_refused_by_both_models(threshold):
    """A threshold that could prune nothing, or all, is an error for either model, also without memories."""
    for policy in (
        {"model": "exponential", "half_life_millis": DAY},
        {"model": "power-law", "scale_millis": DAY, "exponent": 1.0},
    ):
        with pytest.raises(InvalidArgument, match="threshold must be between 0 and 1, got"):
            score_memories([], now=0, threshold=threshold, **policy)


def test_both_interfaces_decide_alike(tmp_path):
    """Records in memory and the same in a file get the same decision, at a threshold equal to the score too."""
    path = tmp_path / "store.jsonl"
    path.write_text(json.dumps({"id": "a", "last_accessed_ms": 0}) + "\n")
    policy = {"now": 135_521_665_625, "half_life_millis": 84_803_634_910, "threshold": 0.3303198676943685}
    in_memory = score_memories([MemoryRecord("a", 0)], model="exponential", **policy)
    assert in_memory == list(recolva.jsonl.scan_exponential_jsonl(path, **policy))
    assert (in_memory[0].score, in_memory[0].prune) == (policy["threshold"], False)
    assert recolva.Decision is recolva.jsonl.Decision


def test_tidy_numbers_score_as_their_fractions():
    """With tidy numbers each score is the double nearest to the quotient, and equality with that retains."""
    assert power_law_score(last_accessed=0, now=5 * DAY, scale_millis=DAY, exponent=1.0, importance=0.06) == 0.01
    records = [MemoryRecord(str(k), 0, k / 100) for k in range(1, 101)]
    for age in range(1, 100):
        policy = {"model": "power-law", "now": age * DAY, "scale_millis": DAY, "exponent": 1.0}
        expected = [float(Fraction(record.importance) / (1 + age)) for record in records]
        for threshold in expected[::33]:
            decisions = score_memories(records, threshold=threshold, **policy)
            assert [decision.score for decision in decisions] == expected
            assert [decision.prune for decision in decisions] == [score < threshold for score in expected]
