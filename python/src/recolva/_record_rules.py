"""The rules of a record, in the order they are checked, and what is said of each fault.

This is the authority: the quick path of `records` may accept only what `parse`
accepts, with the same values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from recolva import _json_syntax as syntax
from recolva import _times as times
from recolva._arguments import id_fault, quoted
from recolva._json_syntax import RecordFault

if TYPE_CHECKING:
    from recolva.records import Layout

_RANGE = f"must be between {times.MIN_MS} and {times.MAX_MS}"
_LONGEST_LITERAL, _CUT = 40, 37


class Parsed(NamedTuple):
    """What a sweep reads of a record; `importance` is 1.0 where it is not needed."""

    id: str
    last_accessed_ms: int
    importance: float


def parse(line: bytes, layout: Layout) -> Parsed:
    """Parse one line, or raise `RecordFault` for the first rule that it breaks."""
    top = check_object(line)
    names = [layout.id_field, layout.time_field]
    if layout.need_importance:
        names.append(layout.importance_field)
    fields = [_find(line, top, name) for name in names]
    return Parsed(
        _id(fields[0]),
        _last_accessed_ms(fields[1], layout.time_unit),
        _importance(fields[2]) if layout.need_importance else 1.0,
    )


def read_id(line: bytes, name: str) -> str:
    """Return the id of a record whatever its other fields are, or raise `RecordFault`."""
    return _id(_find(line, check_object(line), name))


def check_object(line: bytes) -> int:
    """Return where the object of a line starts, or raise `RecordFault` if that is not all it holds."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        raise RecordFault(f"invalid UTF-8 at byte {error.start + 1}") from None
    syntax.check(line)
    top = syntax.space(line, 0)
    kind = syntax.kind(line, top)
    if kind != "an object":
        raise RecordFault(f"a record must be a JSON object, got {kind}")
    return top


class _Field(NamedTuple):
    """A field of the line: what kind of value it has, and its bytes."""

    name: str
    kind: str = ""
    literal: bytes = b""
    absent: str = ""
    """Why there is no value; the fault is raised when the turn of the field comes."""


def _find(line: bytes, start: int, name: str) -> _Field:
    """Follow a dotted path from the object at `start`; a name that occurs twice is a fault."""
    steps = name.split(".")
    for level, step in enumerate(steps, 1):
        path = ".".join(steps[:level])
        matches = [member for member in syntax.members(line, start) if member.name == step]
        if len(matches) > 1:
            raise RecordFault(f"{path} occurs twice")
        if not matches:
            return _Field(name, absent=f"{name} is missing")
        start = matches[0].start
        kind = syntax.kind(line, start)
        if level < len(steps) and kind != "an object":
            return _Field(name, absent=f"{path} must be an object, got {kind}")
    return _Field(name, kind, line[start : matches[0].end])


def _require(field: _Field, kind: str, wanted: str) -> None:
    if field.absent:
        raise RecordFault(field.absent)
    if field.kind != kind:
        raise RecordFault(f"{field.name} must be {wanted}, got {field.kind}")


def _id(field: _Field) -> str:
    _require(field, "a string", "a string")
    identity = syntax.string(field.literal)
    fault = id_fault(identity)
    if fault:
        raise RecordFault(f"{field.name} {fault}")
    return identity


def _last_accessed_ms(field: _Field, unit: str) -> int:
    if unit == "rfc3339":
        return _rfc3339(field)
    if unit == "s":
        return _seconds(field)
    _require(field, "a number", "an integer")
    literal = field.literal.decode()
    if any(sign in literal for sign in ".eE"):
        raise RecordFault(f"{field.name} must be an integer, got {_short(literal)}")
    millis = times.integer_ms(literal, times.PER_MS[unit])
    return _in_range(field, millis, "" if unit == "ms" else " ms")


def _seconds(field: _Field) -> int:
    _require(field, "a number", "a number of seconds")
    literal = field.literal.decode()
    if "e" in literal or "E" in literal:
        raise RecordFault(f"{field.name} must be a number of seconds without exponent, got {_short(literal)}")
    return _in_range(field, times.seconds_ms(literal), " ms")


def _in_range(field: _Field, millis: int | None, unit: str) -> int:
    if millis is None:
        shown = _short(field.literal.decode())
        raise RecordFault(f"{field.name} {_RANGE}{unit}, got {shown}")
    return millis


def _rfc3339(field: _Field) -> int:
    _require(field, "a string", "an RFC 3339 time")
    text = syntax.string(field.literal)
    try:
        millis = times.rfc3339_ms(text)
    except times.NoOffset:
        raise RecordFault(
            f"{field.name} has no UTC offset, got {quoted(text)} (write Z or an offset like +02:00)"
        ) from None
    if millis is None:
        raise RecordFault(f"{field.name} must be an RFC 3339 time like 2026-01-02T03:04:05Z, got {quoted(text)}")
    return millis


def _importance(field: _Field) -> float:
    _require(field, "a number", "a number")
    value = float(field.literal)
    if not 0 <= value <= 1:
        shown = _short(field.literal.decode())
        raise RecordFault(f"{field.name} must be between 0 and 1, got {shown}")
    return abs(value)  # -0.0 counts as 0


def _short(literal: str) -> str:
    return literal if len(literal) <= _LONGEST_LITERAL else literal[:_CUT] + "..."
