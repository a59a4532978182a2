"""Canonical JSON (RFC 8785): one spelling for every value, the same in every language."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Union

from recolva._arguments import number_text

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Value", "number", "string", "text"]

Value = Union[str, int, float, "Mapping[str, Value]"]

# The encoder of the standard library escapes strings as RFC 8785 does when it leaves other
# characters alone: \b \t \n \f \r \" \\, other controls as \u00xx in lower case.
_ENCODER = json.JSONEncoder(ensure_ascii=False)


def string(value: str) -> str:
    """Return a string as a JSON literal, raw but for the escapes that are required."""
    return _ENCODER.encode(value)


def number(value: float) -> str:
    """Return an int64 with all its digits, a float in its shortest form as ECMAScript prints it."""
    if type(value) is float and 1e-4 <= value < 1:
        return repr(value)  # the same form in this range, and much faster
    return number_text(value)


def text(value: Value) -> str:
    """Return a value as JSON without spaces, names in the order given."""
    if isinstance(value, str):
        return string(value)
    if isinstance(value, (int, float)):
        return number(value)
    return "{" + ",".join(f"{string(name)}:{text(inner)}" for name, inner in value.items()) + "}"
