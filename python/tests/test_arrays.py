"""Many scores at once are the scores of each, with either backend, from any kind of array."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recolva import score_array
from recolva._arguments import integer, number
from recolva.errors import InvalidArgument, InvalidArgumentType
from recolva.models import Exponential, PowerLaw

DAY = 86_400_000
EXPONENTIAL = {"model": "exponential", "now": 87_400_000, "half_life_millis": DAY}
POWER_LAW = {"model": "power-law", "now": 87_400_000, "scale_millis": DAY, "exponent": 1.0}
TIMES = [1_000_000, 87_400_000, -85_400_000, 2**63 - 1, -(2**63)]

pytestmark = pytest.mark.usefixtures("backend")

# One choice of backend serves all examples of a property.
per_backend = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.fixture
def np():
    return pytest.importorskip("numpy")


def error(*arguments, **keywords):
    """Return class and text of the error that score_array raises."""
    with pytest.raises(InvalidArgument) as caught:
        score_array(*arguments, **keywords)
    return type(caught.value), str(caught.value)


def test_exponential_array():
    """Every element gets its score; the importance is ignored, whatever it is."""
    expected = array("d", [0.5, 1.0, 0.25, 1.0, 0.0])
    assert score_array(TIMES, **EXPONENTIAL) == expected
    assert score_array(TIMES, importance=["high", None], **EXPONENTIAL) == expected


def test_power_law_array():
    """Every element is weighted with its importance, or all with one."""
    expected = array("d", [0.25, 0.5, 0.5 / 3, 0.5, 0.5 / (1 + (2**63 + 87_400_000) / DAY)])
    assert score_array(TIMES, importance=[0.5] * 5, **POWER_LAW) == expected
    assert score_array(TIMES, importance=0.5, **POWER_LAW) == expected


@pytest.mark.parametrize(
    "sequence",
    [
        tuple,
        iter,
        lambda times: dict.fromkeys(times).keys(),
        lambda times: array("q", times),
        lambda times: memoryview(array("q", times)),
        lambda times: memoryview(array("q", [9, 9, *times]))[2:],
        lambda times: memoryview(array("q", [x for t in times for x in (t, 9)]))[::2],
    ],
    ids=["tuple", "iterator", "keys", "array", "view", "slice", "stride"],
)
def test_any_sequence_of_times(sequence):
    """Tuples, iterators, arrays and buffers, strided ones too, hold times."""
    assert score_array(sequence(TIMES), **EXPONENTIAL) == score_array(TIMES, **EXPONENTIAL)


@pytest.mark.parametrize("weights", [(1, 0.5), array("d", [1, 0.5]), array("f", [1, 0.5])])
def test_any_sequence_of_importances(weights):
    """Integers and single precision are numbers too."""
    assert score_array([87_400_000] * 2, importance=weights, **POWER_LAW) == array("d", [1, 0.5])
    assert score_array(iter([0]), importance=iter(weights[:1]), **POWER_LAW)[0] < 1


def test_nothing_scores_to_nothing():
    """An empty array gives an empty array."""
    assert score_array([], **EXPONENTIAL) == array("d")
    assert score_array([], importance=[], **POWER_LAW) == array("d")
    assert score_array(array("q"), importance=array("d"), **POWER_LAW) == array("d")


def test_minus_zero_counts_as_zero():
    """An importance of -0.0 gives +0.0."""
    assert str(list(score_array([5], importance=[-0.0], **POWER_LAW))) == "[0.0]"


RANGE = "must be between -9223372036854775808 and 9223372036854775807, got"


@pytest.mark.parametrize(
    ("times", "kind", "text"),
    [
        ([0, 2.0], InvalidArgumentType, "last_accessed[1] must be an integer, got float"),
        ([0, True], InvalidArgumentType, "last_accessed[1] must be an integer, got bool"),
        ([0, 0, None], InvalidArgumentType, "last_accessed[2] must be an integer, got NoneType"),
        ([2**63], InvalidArgument, f"last_accessed[0] {RANGE} 9223372036854775808"),
        ([0, -(2**63) - 1], InvalidArgument, f"last_accessed[1] {RANGE} -9223372036854775809"),
        (array("d", [1.0]), InvalidArgumentType, "last_accessed[0] must be an integer, got float"),
        (5, InvalidArgumentType, "last_accessed must be a sequence of integers, got int"),
        ("12", InvalidArgumentType, "last_accessed must be a sequence of integers, got str"),
        (b"12", InvalidArgumentType, "last_accessed must be a sequence of integers, got bytes"),
        ({1: 2}, InvalidArgumentType, "last_accessed must be a sequence of integers, got dict"),
    ],
)
def test_times_at_fault(times, kind, text):
    """The first time at fault is named; nothing wraps."""
    assert error(times, **EXPONENTIAL) == (kind, text)


@pytest.mark.parametrize(
    ("importance", "kind", "text"),
    [
        (None, InvalidArgument, "importance is required by the power-law model"),
        ([1, 1.5], InvalidArgument, "importance[1] must be between 0 and 1, got 1.5"),
        ([0.5, 1.5], InvalidArgument, "importance[1] must be between 0 and 1, got 1.5"),
        ([-0.5, 0.5], InvalidArgument, "importance[0] must be between 0 and 1, got -0.5"),
        ([0.5, float("nan")], InvalidArgument, "importance[1] must be between 0 and 1, got NaN"),
        (array("d", [float("nan"), 0.5]), InvalidArgument, "importance[0] must be between 0 and 1, got NaN"),
        ([0.5, "x"], InvalidArgumentType, "importance[1] must be a number, got str"),
        ([0.5, True], InvalidArgumentType, "importance[1] must be a number, got bool"),
        (
            [0.5],
            InvalidArgument,
            "importance must have as many elements as last_accessed (2), got 1",
        ),
        (1.5, InvalidArgument, "importance must be between 0 and 1, got 1.5"),
        ("ab", InvalidArgumentType, "importance must be a sequence of numbers, got str"),
    ],
)
def test_importances_at_fault(importance, kind, text):
    """The first importance at fault is named."""
    assert error([0, 0], importance=importance, **POWER_LAW) == (kind, text)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"model": "typo"}, 'model must be exponential or power-law, got "typo"'),
        ({"now": 2**63}, f"now {RANGE} 9223372036854775808"),
        (
            {"half_life_millis": 2**64 + DAY},
            "half_life_millis must be between 1000 and 315576000000, got 18446744073795951616",
        ),
        ({"exponent": 2.0}, "exponent is not a parameter of the exponential model"),
    ],
)
def test_other_arguments_at_fault(changes, text):
    """The policy is checked even if there is nothing to score."""
    assert error([], **{**EXPONENTIAL, **changes}) == (InvalidArgument, text)


int64 = st.integers(-(2**63), 2**63 - 1)


@per_backend
@given(st.lists(int64, max_size=20), int64, st.integers(1000, 315_576_000_000))
def test_exponential_arrays_are_single_scores(times, now, half_life):
    """An array has the bits of its single scores."""
    model = Exponential(half_life)
    scores = score_array(times, model=model.name, now=now, half_life_millis=half_life)
    assert scores.tobytes() == array("d", [model.score(t, now) for t in times]).tobytes()


@per_backend
@given(
    st.lists(st.tuples(int64, st.floats(0, 1)), max_size=20),
    int64,
    st.integers(1000, 315_576_000_000),
    st.floats(0.1, 10),
)
def test_power_law_arrays_are_single_scores(records, now, scale, exponent):
    """An array has the bits of its single scores."""
    model = PowerLaw(scale, exponent)
    scores = score_array(
        [t for t, _ in records],
        model=model.name,
        now=now,
        scale_millis=scale,
        exponent=exponent,
        importance=[w for _, w in records],
    )
    assert scores.tobytes() == array("d", [model.score(t, now, w) for t, w in records]).tobytes()


def test_times_that_grow_meanwhile_are_refused():
    """An importance whose conversion makes the array of times longer reads nothing beyond its own."""
    times = array("q", TIMES)

    class Growing:
        def __float__(self):
            times.extend(range(100_000))
            return 0.5

    assert error(times, importance=[0.5, 0.5, 0.5, 0.5, Growing()], **POWER_LAW) == (
        InvalidArgument,
        "importance must have as many elements as last_accessed (100005), got 5",
    )


def test_numpy_gives_numpy(np):
    """NumPy in, NumPy float64 of the same shape out."""
    times = np.array(TIMES)
    scores = score_array(times, **EXPONENTIAL)
    assert (scores.dtype, scores.tolist()) == (np.float64, [0.5, 1.0, 0.25, 1.0, 0.0])
    table = np.array([[1_000_000, 87_400_000], [1_000_000, 87_400_000]])
    scores = score_array(table, importance=np.array([[0.5, 0.5], [1.0, 1.0]]), **POWER_LAW)
    assert scores.tolist() == [[0.25, 0.5], [0.5, 1.0]]


@pytest.mark.parametrize("dtype", ["i8", ">i8", "i4", "u4", "u8", "O"])
def test_any_integer_dtype(np, dtype):
    """Any width, sign and byte order of integers holds times."""
    times = np.array([1_000_000, 87_400_000], dtype=dtype)
    assert score_array(times, **EXPONENTIAL).tolist() == [0.5, 1.0]


def test_views_of_numpy_arrays(np):
    """Strided, reversed and transposed arrays are read in their own order."""
    times = np.arange(24).reshape(4, 6) * 1_000_000
    for view in (times[::2], times[:, ::-3], times.T, np.asfortranarray(times), times[:0]):
        scores = score_array(view, **EXPONENTIAL)
        flat = score_array(view.ravel().tolist(), **EXPONENTIAL)
        assert scores.shape == view.shape
        assert scores.ravel().tolist() == list(flat)


@pytest.mark.parametrize("importance", [0.5, [0.5, 0.5], "f4", "f8", ">f8", "O"])
def test_importances_beside_numpy(np, importance):
    """A number, a list, and any dtype of floats serve as importances."""
    if isinstance(importance, str):
        importance = np.array([0.5, 0.5], dtype=importance)
    scores = score_array(np.array([1_000_000, 87_400_000]), importance=importance, **POWER_LAW)
    assert scores.tolist() == [0.25, 0.5]


def test_numpy_importances_beside_a_list(np):
    """One NumPy array makes the result one."""
    scores = score_array([1_000_000], importance=np.array([1]), **POWER_LAW)
    assert isinstance(scores, np.ndarray)
    assert scores.tolist() == [0.5]


def test_objects_that_become_numpy_arrays(np):
    """Whatever has __array__ (a pandas Series has) is taken as NumPy takes it."""

    class Series:
        def __init__(self, values):
            self.values = np.array(values)

        def __iter__(self):
            raise AssertionError

        def __array__(self, dtype=None, copy=None):
            return self.values

    assert score_array(Series([1_000_000]), **EXPONENTIAL).tolist() == [0.5]


def test_masked_arrays_are_refused(np):
    """A mask would be lost, and what it hides would be scored."""
    times = np.ma.array([1, 2], mask=[False, True])
    with pytest.raises(InvalidArgumentType, match="^last_accessed must be an array without a mask, got MaskedArray$"):
        score_array(times, model="exponential", now=3, half_life_millis=1000)
    weights = np.ma.array([0.5, 0.25], mask=[False, True])
    with pytest.raises(InvalidArgumentType, match="^importance must be an array without a mask"):
        score_array(np.array([1, 2]), model="power-law", importance=weights, now=3, scale_millis=1000, exponent=1.0)


def test_numpy_times_at_fault(np):
    """Floats, booleans and dates are no times in milliseconds, and uint64 does not wrap."""
    for dtype in ("f8", "?", "M8[ms]"):
        text = f"last_accessed must hold integers, got {np.dtype(dtype)}"
        assert error(np.zeros(2, dtype), **EXPONENTIAL) == (InvalidArgumentType, text)
    text = f"last_accessed[1] {RANGE} 9223372036854775808"
    assert error(np.array([0, 2**63], "u8"), **EXPONENTIAL) == (InvalidArgument, text)
    text = "last_accessed[1] must be an integer, got float"
    assert error(np.array([0, 2.0], "O"), **EXPONENTIAL) == (InvalidArgumentType, text)
    for single, kind in ((np.int64(5), "int64"), (np.array(5), "ndarray")):
        text = f"last_accessed must be a sequence of integers, got {kind}"
        assert error(single, **EXPONENTIAL) == (InvalidArgumentType, text)


def test_numpy_importances_at_fault(np):
    """The element is named as Python writes it; shapes must agree."""
    times = np.zeros((2, 2), "i8")
    weights = np.array([[0.5, 0.5], [np.nan, 0.5]])
    text = "importance[1, 0] must be between 0 and 1, got NaN"
    assert error(times, importance=weights, **POWER_LAW) == (InvalidArgument, text)
    text = "importance must have as many elements as last_accessed (4), got 3"
    assert error(times, importance=np.zeros(3), **POWER_LAW) == (InvalidArgument, text)
    text = "importance must have the shape of last_accessed, (2, 2), got (4,)"
    assert error(times, importance=np.zeros(4), **POWER_LAW) == (InvalidArgument, text)
    text = "importance must hold numbers, got bool"
    assert error(times, importance=np.zeros((2, 2), "?"), **POWER_LAW) == (InvalidArgumentType, text)


def test_numpy_scalars_are_integers_and_numbers(np):
    """NumPy's scalars are taken as what they hold, its booleans are not."""
    for value in (np.int64(7), np.uint8(7), np.array(7)):
        assert integer("now", value) == 7
    assert number("threshold", np.float32(0.5), 0.0, 1.0) == 0.5
    for check in (integer, lambda name, value: number(name, value, 0.0, 1.0)):
        for value in (np.True_, np.array([0.5, 0.5])):
            with pytest.raises(InvalidArgumentType):
                check("now", value)
