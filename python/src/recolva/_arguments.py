"""Check arguments before anything sees them, and show values in error texts.

Texts have the form ``NAME must be …, got VALUE``; they are the same for every function and
backend, and the ranges and the number forms are those of the ``decay-sweep`` program.
"""

from __future__ import annotations

from math import inf
from operator import index
from typing import TYPE_CHECKING, Any

from recolva.errors import InvalidArgument, InvalidArgumentType

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "INT64_MAX",
    "INT64_MIN",
    "WHITE_SPACE",
    "choice",
    "id_fault",
    "integer",
    "number",
    "number_text",
    "quoted",
    "real",
    "record_id",
    "string",
]

INT64_MIN = -(1 << 63)
INT64_MAX = (1 << 63) - 1

# An id needs a character outside this list, which is ours: no language's idea of white space.
WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)

_LONGEST_SHOWN, _CUT = 40, 37


def integer(name: str, value: Any, low: float = INT64_MIN, high: float = INT64_MAX) -> int:
    """Return value as an int in [low, high]; anything with ``__index__`` will do, except bool."""
    checked = value if type(value) is int else _to_integer(name, value)
    if low <= checked <= high:
        return checked
    raise InvalidArgument(f"{name} must be between {low} and {high}, got {number_text(checked)}")


def _to_integer(name: str, value: Any) -> int:
    """Return value as an int, no subclass of it, so that it compares as ints do."""
    if not _is_bool(value):
        try:
            return int.__index__(index(value))
        except TypeError:  # a NumPy array has __index__ too, but only one of size 1 is an integer
            pass
    raise InvalidArgumentType(f"{name} must be an integer, got {type(value).__name__}")


def number(name: str, value: Any, low: float, high: float) -> float:
    """Return value as a float in [low, high], with -0.0 as 0.0; NaN and bool are refused.

    Anything with ``__float__`` or ``__index__`` will do (NumPy scalars, Decimal, Fraction).
    """
    checked = value if type(value) is float else real(name, value)
    if low <= checked <= high:
        return _without_minus_zero(float(checked))
    text = f"{number_text(low)} and {number_text(high)}, got {number_text(checked)}"
    raise InvalidArgument(f"{name} must be between {text}")


def _without_minus_zero(value: float) -> float:
    """Return value, 0.0 for -0.0; a subnormal keeps its bits even where the processor flushes them in sums."""
    return value if value < 0 else abs(value)


def real(name: str, value: Any) -> float:
    """Return value as a float, in whatever range; as an int if it is one that no float holds."""
    kind = type(value)
    if not _is_bool(value) and not getattr(value, "ndim", 0):  # NumPy makes a number of an array of size 1
        try:
            if not hasattr(kind, "__float__"):
                value = index(value)
            return float(value)
        except OverflowError:
            return int.__index__(value) if isinstance(value, int) else inf if value > 0 else -inf
        except (TypeError, ValueError):
            pass
    raise InvalidArgumentType(f"{name} must be a number, got {kind.__name__}")


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")  # NumPy's too


def string(name: str, value: Any) -> str:
    """Return value as a str, no subclass of it, so that it compares as strings do."""
    if isinstance(value, str):
        return str.__str__(value)
    raise InvalidArgumentType(f"{name} must be a string, got {type(value).__name__}")


def choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """Return value if it is one of the given strings."""
    chosen, names = string(name, value), list(choices)
    if chosen in names:
        return chosen
    raise InvalidArgument(f"{name} must be {' or '.join(names)}, got {quoted(chosen)}")


def record_id(name: str, value: Any) -> str:
    """Return value if it can be the id of a record; see `id_fault`."""
    text = string(name, value)
    fault = id_fault(text)
    if fault:
        raise InvalidArgument(f"{name} {fault}")
    return text


def id_fault(value: str) -> str | None:
    """Say what keeps a string from being an id (blank, or a lone surrogate), or return None."""
    if not value.strip(WHITE_SPACE):
        return "must not be blank"
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return "must not contain a lone surrogate"
    return None


def number_text(value: float) -> str:
    """Show a number as JSON and ECMAScript do: 5, 0.1, 1e-7, 1e+21, NaN, -Infinity."""
    if isinstance(value, int):
        bits = value.bit_length()
        return str(value) if bits <= 1024 else f"an integer of {bits} bits"
    if value != value:  # noqa: PLR0124 - NaN is the one value that differs from itself
        return "NaN"
    if value in (inf, -inf):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    digits, point = _shortest(abs(value))
    return sign + _ecmascript(digits, point)


def _shortest(value: float) -> tuple[str, int]:
    """Return the shortest digits d1d2… and p with value = 0.d1d2… * 10^p."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    return digits.rstrip("0"), point


def _ecmascript(digits: str, point: int) -> str:
    """Lay out digits as Number::toString of ECMA-262 does (section 6.1.6.1.20)."""
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if count > 1 else ""
    return f"{digits[0]}{fraction}e{point - 1:+d}"


def quoted(text: str) -> str:
    """Show a string as an ASCII JSON literal, safe on a terminal; over 40 characters it is cut."""
    end = ""
    if len(text) > _LONGEST_SHOWN:
        text, end = text[:_CUT], "..."
    return '"' + "".join(map(_escaped, text)) + end + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    code = ord(character)
    if 0x20 <= code <= 0x7E:
        return character
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
