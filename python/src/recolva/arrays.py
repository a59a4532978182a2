"""Score many memories in one call, from arrays.

`score_array` takes NumPy arrays without importing NumPy itself, ``array.array``, anything with the
buffer protocol, and plain sequences of integers.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recolva import _backend
from recolva._arguments import INT64_MAX, integer, number
from recolva.errors import InvalidArgument, InvalidArgumentType
from recolva.models import Model, build_model

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["score_array", "score_batch"]


def score_array(
    last_accessed: Any,
    *,
    model: str,
    now: int,
    half_life_millis: int | None = None,
    scale_millis: int | None = None,
    exponent: float | None = None,
    importance: Any = None,
) -> Any:
    """Return the score of every element, as float64.

    last_accessed holds Unix times in milliseconds. importance holds as many numbers in [0, 1], or
    is one number for all; the power-law model needs it, the exponential model ignores it. The other
    arguments are those of `score_memories`.

    If one of the two is a NumPy array (or becomes one, like a pandas Series) the result is a NumPy
    array of the shape of last_accessed, otherwise an ``array.array("d")``.

    >>> score_array([1_000_000, 87_400_000], model="exponential", now=87_400_000,
    ...             half_life_millis=86_400_000)
    array('d', [0.5, 1.0])

    Raises InvalidArgument (a ValueError) and InvalidArgumentType (a TypeError too); the text names
    the first element at fault, as in ``importance[2] must be between 0 and 1, got 1.5``.
    """
    built = build_model(
        model,
        half_life_millis=half_life_millis,
        scale_millis=scale_millis,
        exponent=exponent,
    )
    now = integer("now", now)
    if built.needs_importance and importance is None:
        raise InvalidArgument(f"importance is required by the {built.name} model")
    if not built.needs_importance:
        importance = None
    if _is_numpy(last_accessed) or _is_numpy(importance):
        return _score_numpy(built, last_accessed, importance, now)
    times = _integers(last_accessed)
    return score_batch(built, times, _weights(importance, len(times)), now)


def score_batch(
    model: Model,
    times: array[int],
    weights: array[float] | None,
    now: int,
) -> array[float]:
    """Return the scores of checked arrays of type q and d; natively if the library loads.

    weights may be None if the model does not need the importance.
    """
    library = _backend.native_library()
    # a view keeps its array from being resized, that is moved, by another thread meanwhile
    with memoryview(times), memoryview(weights or times):
        if weights is not None:
            _same_length(len(weights), len(times))
        if library is None:
            return _score_pure(model, times, weights, now)
        scores = array("d", bytes(8 * len(times)))
        weights_at = weights.buffer_info()[0] if weights is not None else None
        times_at, scores_at = times.buffer_info()[0], scores.buffer_info()[0]
        library.score_batch(model, len(times), times_at, weights_at, now, scores_at)
    return scores


def _score_pure(
    model: Model,
    times: Iterable[int],
    weights: Iterable[float] | None,
    now: int,
) -> array[float]:
    score = model.score
    if weights is None:
        return array("d", [score(last_accessed, now) for last_accessed in times])
    return array("d", [score(t, now, weight) for t, weight in zip(times, weights)])


# What the standard library knows: arrays, buffers, sequences.


def _integers(values: Any) -> array[int]:
    """Return values as an array of int64."""
    known = _typed(values, "q")
    if known is not None:
        return known
    items = _items("last_accessed", values, "integers")
    if set(map(type, items)) <= {int}:
        try:
            return array("q", items)
        except OverflowError:
            pass  # the next line finds which
    return array("q", [integer(f"last_accessed[{i}]", item) for i, item in enumerate(items)])


def _weights(values: Any, count: int) -> array[float] | None:
    """Return values, or one value for all, as an array of count importances."""
    if values is None:
        return None
    if _is_single(values):
        return array("d", [number("importance", values, 0.0, 1.0)]) * count
    weights = _typed(values, "d")
    if weights is None:
        items = _items("importance", values, "numbers")
        if not set(map(type, items)) <= {float}:
            items = [number(f"importance[{i}]", item, 0.0, 1.0) for i, item in enumerate(items)]
        weights = array("d", items)
    _same_length(len(weights), count)
    # a NaN hides from min and max, but not from a sum
    if weights and not (min(weights) >= 0 and max(weights) <= 1 and sum(weights) >= 0):
        for i, weight in enumerate(weights):
            number(f"importance[{i}]", weight, 0.0, 1.0)
    return weights


def _is_single(values: Any) -> bool:
    """Say whether values is one number rather than a sequence; a NumPy scalar has no dimension."""
    return getattr(values, "ndim", None) == 0 or not hasattr(type(values), "__iter__")


def _typed(values: Any, typecode: str) -> array[Any] | None:
    """Return values as an array of 8-byte elements, if they are an array or buffer of those."""
    if isinstance(values, array) and values.typecode == typecode:
        return values
    if isinstance(values, (list, tuple)):
        return None
    try:
        view = memoryview(values)
    except TypeError:
        return None
    formats = ("q", "l") if typecode == "q" else ("d",)
    if view.format not in formats or view.itemsize != 8 or view.ndim != 1:
        return None
    copy = array(typecode)
    copy.frombytes(view.tobytes())
    return copy


def _items(name: str, values: Any, what: str) -> list[Any]:
    """Return the elements of a sequence or iterator."""
    if isinstance(values, (str, bytes, bytearray, Mapping)) or _is_single(values):
        text = f"{name} must be a sequence of {what}, got {type(values).__name__}"
        raise InvalidArgumentType(text)
    return list(values)


def _same_length(got: int, wanted: int) -> None:
    if got != wanted:
        raise InvalidArgument(
            f"importance must have as many elements as last_accessed ({wanted}), got {got}",
        )


# NumPy, which the caller has imported if he passes an array of it.


def _is_numpy(values: Any) -> bool:
    """Say whether values is a NumPy array or turns into one (pandas, Polars, PyArrow)."""
    return "numpy" in sys.modules and hasattr(type(values), "__array__") and not _is_single(values)


def _score_numpy(model: Model, last_accessed: Any, importance: Any, now: int) -> Any:
    numpy = sys.modules["numpy"]
    times = _numpy_integers(numpy, last_accessed)
    weights = None if importance is None else _numpy_weights(numpy, importance, times)
    library = _backend.native_library()
    if library is None:
        flat = None if weights is None else weights.ravel().tolist()
        scores = _score_pure(model, times.ravel().tolist(), flat, now)
        return numpy.array(scores, dtype=numpy.float64).reshape(times.shape)
    result = numpy.empty(times.shape, dtype=numpy.float64)
    weights_at = None if weights is None else weights.ctypes.data
    library.score_batch(model, times.size, times.ctypes.data, weights_at, now, result.ctypes.data)
    return result


def _numpy_integers(numpy: Any, values: Any) -> Any:
    """Return values as a C-contiguous array of int64 in native byte order."""
    if not _is_numpy(values):
        return numpy.array(_integers(values), dtype=numpy.int64)
    values = _unmasked("last_accessed", numpy, values)
    kind = values.dtype.kind
    if kind == "O" or (kind == "u" and values.size and values.max() > INT64_MAX):
        items = [
            integer(_element("last_accessed", numpy, values, i), item) for i, item in enumerate(values.ravel().tolist())
        ]
        return numpy.array(items, dtype=numpy.int64).reshape(values.shape)
    if kind not in "iu":
        raise InvalidArgumentType(f"last_accessed must hold integers, got {values.dtype}")
    return numpy.asarray(values, dtype=numpy.int64, order="C")


def _numpy_weights(numpy: Any, values: Any, times: Any) -> Any:
    """Return values as a C-contiguous array of doubles in [0, 1], of the shape of times."""
    if not _is_numpy(values):
        return numpy.array(_weights(values, times.size), dtype=numpy.float64).reshape(times.shape)
    values = _unmasked("importance", numpy, values)
    _same_length(values.size, times.size)
    if values.shape != times.shape:
        text = f"importance must have the shape of last_accessed, {times.shape}, got {values.shape}"
        raise InvalidArgument(text)
    kind = values.dtype.kind
    if kind not in "fiuO":
        raise InvalidArgumentType(f"importance must hold numbers, got {values.dtype}")
    # the least and the greatest are NaN if any element is
    if kind == "O" or (values.size and not (values.min() >= 0 and values.max() <= 1)):
        items = [
            number(_element("importance", numpy, values, i), item, 0.0, 1.0)
            for i, item in enumerate(values.ravel().tolist())
        ]
        values = numpy.array(items).reshape(values.shape)
    return numpy.asarray(values, dtype=numpy.float64, order="C")


def _unmasked(name: str, numpy: Any, values: Any) -> Any:
    """Return values as an array; what a mask hides must not be scored as if it were seen."""
    masked = sys.modules.get("numpy.ma")
    if masked is not None and masked.isMaskedArray(values):
        raise InvalidArgumentType(f"{name} must be an array without a mask, got {type(values).__name__}")
    return numpy.asarray(values)


def _element(name: str, numpy: Any, values: Any, i: int) -> str:
    """Return how Python writes element i of a flattened array: ``importance[1, 2]``."""
    place = numpy.unravel_index(i, values.shape)
    return f"{name}[{', '.join(str(int(k)) for k in place)}]"
