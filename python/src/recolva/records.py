"""Records: one line of JSON to its id, time and importance.

    >>> parse(b'{"id": "a", "last_accessed_ms": 1000000, "importance": 0.5}', Layout())
    Parsed(id='a', last_accessed_ms=1000000, importance=1.0)

Two paths. `Parser.quick` accepts nearly every good line with the C scanner of the
standard library and stays silent about all others; `_record_rules.parse` is slow,
obvious and decides those. The quick path never accepts what the slow one rejects
and never reads another value, so which one answered cannot be told.
"""

from __future__ import annotations

import json.decoder
import json.scanner
import sys
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NoReturn

from recolva import _record_rules, _times
from recolva._arguments import choice, id_fault, quoted
from recolva._json_syntax import MAX_DEPTH, RecordFault
from recolva._record_rules import Parsed
from recolva.errors import InvalidArgument, InvalidArgumentType

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Layout", "Parsed", "Parser", "RecordFault", "is_blank", "parse"]

_SPACE = " \t\n\r"
_LONG = 4096  # characters; a longer line may hold an integer too long for int()
_NOT_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))
_DEPTH_STEP = {byte: 1 if byte in b"{[" else -1 for byte in b"{}[]"}
_HAS_C_SCANNER = sys.implementation.name == "cpython" and getattr(json.scanner, "c_make_scanner", None) is not None


@dataclass(frozen=True)
class Layout:
    """Which fields of a record are read, and how.

    A field is a name or a dotted path (`meta.id`); a key that contains a dot cannot
    be addressed. `time_unit` is one of ms, s, us, ns, rfc3339. `importance_field` is
    read only if `need_importance`.
    """

    id_field: str = "id"
    time_field: str = "last_accessed_ms"
    importance_field: str = "importance"
    time_unit: str = "ms"
    need_importance: bool = False

    def __post_init__(self) -> None:
        for name in ("id_field", "time_field", "importance_field"):
            check_field(name, getattr(self, name))
        choice("time_unit", self.time_unit, _times.TIME_UNITS)


def check_field(name: str, value: object) -> None:
    """Raise `InvalidArgument` unless `value` is a name or a dotted path."""
    if not isinstance(value, str):
        raise InvalidArgumentType(f"{name} must be a string, got {type(value).__name__}")
    if not all(value.split(".")) or id_fault("." + value):
        raise InvalidArgument(f"{name} must be a name or a dotted path without empty parts, got {quoted(value)}")


def is_blank(line: bytes) -> bool:
    """Tell whether a line is JSON white space only (space, tab, CR, LF) or empty."""
    return not line.strip(b" \t\r\n")


def parse(line: bytes, layout: Layout) -> Parsed:
    """Parse one line, given without its LF; raise `RecordFault` with the first fault's text.

    The text names no line number: "importance must be between 0 and 1, got 1.2".
    """
    return _parser(layout)(line)


class Parser:
    """A parser for one layout; calling it parses a line."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._id_path = layout.id_field.split(".")
        self._time_path = layout.time_field.split(".")
        self._importance_path = layout.importance_field.split(".")
        self._need_importance = layout.need_importance
        self._millis = _quick_millis(layout.time_unit)
        keep_decimals = layout.time_unit == "s"
        self._scan = _scanner(keep_decimals=keep_decimals, long_integers=False)
        self._scan_long = _scanner(keep_decimals=keep_decimals, long_integers=True)

    def __call__(self, line: bytes) -> Parsed:
        """Parse one line or raise `RecordFault`."""
        parsed = self.quick(line) if _HAS_C_SCANNER else None
        return self.slow(line) if parsed is None else parsed

    def slow(self, line: bytes) -> Parsed:
        """Parse one line by the rules as written, or raise `RecordFault`."""
        return _record_rules.parse(line, self.layout)

    def quick(self, line: bytes) -> Parsed | None:
        """Parse one line, or return None to leave it to `slow`."""
        try:
            top = self._document(line)
            if type(top) is not tuple:
                return None
            names = _names(top)
            identity = _follow(names, self._id_path)
            if type(identity) is not str or id_fault(identity):
                return None
            millis = self._millis(_follow(names, self._time_path))
            if millis is None:
                return None
            importance = 1.0
            if self._need_importance:
                value = _follow(names, self._importance_path)
                if type(value) is _Decimal:
                    value = float(value)
                if (type(value) is not float and type(value) is not int) or not 0 <= value <= 1:
                    return None
                importance = abs(float(value))  # -0.0 counts as 0
        except (ValueError, StopIteration, RecursionError):
            return None
        return Parsed(identity, millis, importance)

    def _document(self, line: bytes) -> object:
        """Return the JSON value of a line, objects as tuples of pairs; None if undecided."""
        text = line.decode()
        start = 0 if text.startswith("{") else len(text) - len(text.lstrip(_SPACE))
        if text.count("{") + text.count("[") > MAX_DEPTH and _is_deep(line):
            return None
        scan = self._scan if len(text) <= _LONG else self._scan_long
        value, end = scan(text, start)
        if end != len(text) and text[end:].strip(_SPACE):
            return None
        return value


@lru_cache(maxsize=16)
def _parser(layout: Layout) -> Parser:
    return Parser(layout)


class _Decimal(str):
    """A number with a fraction or exponent, as it was written."""

    __slots__ = ()


def _scanner(*, keep_decimals: bool, long_integers: bool) -> Callable[[str, int], tuple[Any, int]]:
    """Build a strict scanner: no NaN, objects as tuples of pairs so that repeated names show."""
    decoder = json.decoder.JSONDecoder(
        object_pairs_hook=tuple,
        parse_constant=_refuse,
        parse_float=_Decimal if keep_decimals else None,
        parse_int=_short_integer if long_integers else None,
    )
    make_scanner: Any = json.scanner.make_scanner
    scan: Callable[[str, int], tuple[Any, int]] = make_scanner(decoder)
    return scan


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _short_integer(literal: str) -> int | None:
    """Convert an integer unless it is too long to be any field's value."""
    return int(literal) if len(literal) <= 40 else None


def _is_deep(line: bytes) -> bool:
    """Tell whether a line nests too deep; right up to its first fault."""
    bare = line.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside_strings = b"".join(bare.split(b'"')[::2])
    brackets = outside_strings.translate(None, _NOT_BRACKETS)
    depth = 0
    for start in range(0, len(brackets), _LONG):  # a bomb shows early
        depths = list(accumulate(map(_DEPTH_STEP.__getitem__, brackets[start : start + _LONG]), initial=depth))
        depth = depths[-1]
        if max(depths) > MAX_DEPTH:
            return True
    return False


def _names(pairs: tuple[tuple[str, object], ...]) -> dict[str, object]:
    """Return the members of an object whose names occur once."""
    names = dict(pairs)
    if len(names) != len(pairs):
        for name, count in Counter(name for name, _ in pairs).items():
            if count > 1:
                del names[name]
    return names


def _follow(names: dict[str, object], path: list[str]) -> object:
    """Follow a path from the top; None where it does not lead on."""
    value = names.get(path[0])
    for step in path[1:]:
        value = _names(value).get(step) if type(value) is tuple else None
    return value


def _quick_millis(unit: str) -> Callable[[object], int | None]:
    """Return the quick conversion of a time: None for everything that is not sure."""
    if unit == "rfc3339":
        return lambda value: _times.rfc3339_ms(value) if type(value) is str else None
    if unit == "s":
        return _quick_seconds
    per_ms = _times.PER_MS[unit]

    def floor(value: object) -> int | None:
        if type(value) is not int:
            return None
        millis = value if per_ms == 1 else value // per_ms
        return millis if _times.MIN_MS <= millis <= _times.MAX_MS else None

    return floor


def _quick_seconds(value: object) -> int | None:
    if type(value) is int:
        return _times.seconds_ms(str(value))
    return _times.seconds_ms(value) if type(value) is _Decimal else None
