"""Models are checked when they are built; single scores are those of the documented functions."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recolva
from recolva import _kernel, reference
from recolva._arguments import number
from recolva.decisions import REASONS, Decision, decide
from recolva.errors import InvalidArgument, InvalidArgumentType
from recolva.models import MODELS, Exponential, PowerLaw, build_model, parameters

DAY = 86_400_000
int64 = st.integers(-(2**63), 2**63 - 1)
durations = st.integers(1000, 315_576_000_000)


def test_quickstart():
    """The two scores of the documentation."""
    score = recolva.exponential_score(
        last_accessed=1_000_000,
        now=87_400_000,
        half_life_millis=86_400_000,
    )
    assert score == 0.5
    score = recolva.power_law_score(
        last_accessed=1_000_000,
        now=87_400_000,
        scale_millis=DAY,
        exponent=1.0,
        importance=0.5,
    )
    assert score == 0.25


def cases(conformance, name):
    """Return the cases of a shared file, NaN and the infinities as floats."""
    special = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

    def hook(pairs):
        return {key: special.get(value, value) if isinstance(value, str) else value for key, value in pairs}

    lines = (conformance / "models" / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line, object_pairs_hook=hook) for line in lines]


def verdict(function, *arguments):
    """Return the text of the error that a function raises, or None."""
    try:
        function(*arguments)
    except InvalidArgument as error:
        return str(error)
    return None


def test_shared_limits(conformance):
    """Every parameter that the Go package accepts or rejects, with the same text."""
    limits = cases(conformance, "limits.jsonl")
    assert len(limits) >= 41
    for case in limits:
        kind = MODELS[case["model"]]
        rejects = case.get("rejects")
        text = f"{rejects['param']} {rejects['text']}" if rejects else None
        assert verdict(lambda kind=kind, case=case: kind(**case["params"])) == text, case


def test_shared_fractions(conformance):
    """Every threshold and importance that the Go package accepts or rejects, with the same text."""
    fractions = cases(conformance, "fractions.jsonl")
    assert len(fractions) >= 28
    for case in fractions:
        text = f"{case['name']} {case['rejects']}" if "rejects" in case else None
        assert verdict(number, case["name"], case["value"], 0.0, 1.0) == text, case


def test_shared_ages(conformance):
    """Every age is that of the Go package, over all of int64."""
    ages = cases(conformance, "ages.jsonl")
    assert len(ages) >= 24
    for case in ages:
        arguments = (case["last_accessed"], case["now"])
        assert Exponential(1000).score(*arguments) == _kernel.half_life(case["age"], 1000), case
        expected = _kernel.power(0.7, case["age"], 10**11, 0.1)
        assert PowerLaw(10**11, 0.1).score(*arguments, 0.7) == expected, case


def test_one_table_of_models():
    """MODELS lists the models by name, in the order of their numbers in the C library."""
    assert {"exponential": Exponential, "power-law": PowerLaw} == MODELS
    assert list(MODELS) == ["exponential", "power-law"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"half_life_millis": 999}, "half_life_millis must be between 1000 and 315576000000, got 999"),
        (
            {"half_life_millis": 315_576_000_001},
            "half_life_millis must be between 1000 and 315576000000, got 315576000001",
        ),
        (
            {"half_life_millis": 2**64 + DAY},
            "half_life_millis must be between 1000 and 315576000000, got 18446744073795951616",
        ),
        ({"half_life_millis": 1000.0}, "half_life_millis must be an integer, got float"),
        ({"half_life_millis": True}, "half_life_millis must be an integer, got bool"),
        ({}, "half_life_millis is required by the exponential model"),
        (
            {"half_life_millis": DAY, "scale_millis": DAY},
            "scale_millis is not a parameter of the exponential model",
        ),
        ({"exponent": 1.0}, "exponent is not a parameter of the exponential model"),
    ],
)
def test_exponential_refuses(arguments, text):
    """Parameters of the exponential model that are missing, foreign or out of range."""
    with pytest.raises(InvalidArgument) as caught:
        build_model("exponential", **arguments)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"scale_millis": 5}, "scale_millis must be between 1000 and 315576000000, got 5"),
        ({"exponent": 0.09}, "exponent must be between 0.1 and 10, got 0.09"),
        ({"exponent": 10.000000000000002}, "exponent must be between 0.1 and 10, got 10.000000000000002"),
        ({"exponent": float("nan")}, "exponent must be between 0.1 and 10, got NaN"),
        ({"exponent": None}, "exponent is required by the power-law model"),
        ({"half_life_millis": DAY}, "half_life_millis is not a parameter of the power-law model"),
    ],
)
def test_power_law_refuses(arguments, text):
    """Parameters of the power-law model that are missing, foreign or out of range."""
    with pytest.raises(InvalidArgument) as caught:
        build_model("power-law", **{"scale_millis": DAY, "exponent": 1.0, **arguments})
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("model", "text"),
    [
        ("typo", 'model must be exponential or power-law, got "typo"'),
        ("Exponential", 'model must be exponential or power-law, got "Exponential"'),
        (None, "model must be a string, got NoneType"),
    ],
)
def test_unknown_models_are_refused(model, text):
    """The text lists the models."""
    with pytest.raises(InvalidArgument) as caught:
        build_model(model)
    assert str(caught.value) == text


def test_models_check_themselves():
    """Built directly, a model names its own fields and keeps plain numbers."""
    with pytest.raises(InvalidArgument, match="^half_life_ms must be between 1000 and "):
        Exponential(half_life_ms=5)
    model = PowerLaw(scale_ms=1000, exponent=1)
    assert (model.exponent, type(model.exponent)) == (1.0, float)


@pytest.mark.parametrize("model", [Exponential(DAY), PowerLaw(DAY, 1.5)])
def test_models_are_values(model):
    """Models are frozen, compare by value, and survive pickling."""
    name = parameters(type(model))[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(model, name, DAY)
    assert pickle.loads(pickle.dumps(model)) == model
    assert dataclasses.replace(model, **{name: 1000}) != model


def test_every_parameter_is_described():
    """Each parameter has a text, a unit and bounds, from which other surfaces are made."""
    for model in MODELS.values():
        for parameter in parameters(model):
            assert parameter.doc
            assert parameter.unit in ("ms", "")
            assert parameter.low < parameter.high
            assert parameter.integer == parameter.name.endswith("_ms")


@given(int64, int64, durations)
def test_exponential_scores_exact_ages(last_accessed, now, half_life):
    """The age is exact over all of int64, and 0 for a time in the future."""
    age = max(0, now - last_accessed)
    expected = _kernel.half_life(age, half_life)
    score = recolva.exponential_score(
        last_accessed=last_accessed,
        now=now,
        half_life_millis=half_life,
    )
    assert score == expected == Exponential(half_life).score(last_accessed, now, 0.1)


@given(int64, int64, durations, st.floats(0.1, 10), st.floats(0, 1))
def test_power_law_scores_exact_ages(last_accessed, now, scale, exponent, importance):
    """The age is exact over all of int64, and 0 for a time in the future."""
    expected = _kernel.power(importance, max(0, now - last_accessed), scale, exponent)
    score = recolva.power_law_score(
        last_accessed=last_accessed,
        now=now,
        scale_millis=scale,
        exponent=exponent,
        importance=importance,
    )
    assert score == expected == PowerLaw(scale, exponent).score(last_accessed, now, importance)


def test_times_that_overflow_int64_when_subtracted():
    """Ages beyond int64 are exact: a memory of the year -292 million is old, not new."""
    arguments = {"half_life_millis": DAY}
    assert recolva.exponential_score(last_accessed=-(2**63), now=0, **arguments) == 0.0
    assert recolva.exponential_score(last_accessed=-1, now=2**63 - 1, **arguments) == 0.0
    assert recolva.exponential_score(last_accessed=2**63 - 1, now=-(2**63), **arguments) == 1.0


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"last_accessed": 2**63}, InvalidArgument, "last_accessed must be between -9223372036854775808 and"),
        ({"now": 1.0}, InvalidArgumentType, "now must be an integer, got float"),
        ({"now": True}, InvalidArgumentType, "now must be an integer, got bool"),
        ({"scale_millis": 1}, InvalidArgument, "scale_millis must be between 1000 and 315576000000, got 1"),
        ({"exponent": 11}, InvalidArgument, "exponent must be between 0.1 and 10, got 11"),
        ({"importance": 1.2}, InvalidArgument, "importance must be between 0 and 1, got 1.2"),
        ({"importance": "high"}, InvalidArgumentType, "importance must be a number, got str"),
    ],
)
def test_scores_refuse(changes, error, text):
    """A single score names the argument at fault."""
    arguments = {"last_accessed": 0, "now": 0, "scale_millis": DAY, "exponent": 1.0, "importance": 1.0}
    with pytest.raises(error) as caught:
        recolva.power_law_score(**{**arguments, **changes})
    assert str(caught.value).startswith(text)


def test_equality_is_stable_at_tidy_numbers():
    """Importance 0.06 at five times the scale is exactly 0.01, which a threshold of 0.01 retains."""
    score = recolva.power_law_score(
        last_accessed=0,
        now=5 * DAY,
        scale_millis=DAY,
        exponent=1.0,
        importance=0.06,
    )
    assert decide(score, 0.01) == (False, "score_at_or_above_threshold")


def test_functions_of_reference_are_the_public_ones():
    """recolva.reference stays importable and is no second implementation."""
    assert reference.exponential_score is recolva.exponential_score
    assert reference.power_law_score is recolva.power_law_score


@pytest.mark.parametrize(
    ("score", "prune", "reason"),
    [(0.4999999999999999, True, REASONS[1]), (0.5, False, REASONS[0])],
)
def test_pruning_is_strict(score, prune, reason):
    """Below the threshold prunes, equality retains."""
    assert decide(score, 0.5) == (prune, reason)


def test_decisions_are_equal_by_id_score_and_prune():
    """Reason and line say more, but do not distinguish."""
    one, two = Decision("a", 0.5, False), Decision("a", 0.5, False, "pinned", 7)
    assert one == two
    assert hash(one) == hash(two)
    assert one != Decision("a", 0.5, True)
    assert one != ("a", 0.5, False, "", None)


def test_decisions_are_frozen_values():
    """A decision is frozen, survives pickling and works with the functions of dataclasses."""
    decision = Decision("a", 0.5, False, "pinned", 7)
    with pytest.raises(dataclasses.FrozenInstanceError):
        decision.prune = True
    fields = {"id": "a", "score": 0.5, "prune": False, "reason": "pinned", "line": 7}
    assert dataclasses.asdict(decision) == fields
    assert dataclasses.asdict(pickle.loads(pickle.dumps(decision))) == fields
    assert dataclasses.replace(decision, line=8).line == 8
