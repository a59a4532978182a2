"""The grammar of one JSON line (RFC 8259), checked byte by byte: slow, obvious, iterative.

`check` names the first fault of a line and the byte it stands at; the functions
below it walk through a line that passed. Nothing here recurses and no number is
converted, so neither nesting nor long numbers can hurt.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH = 512
"""Deepest nesting of a record, its own braces counted."""


class RecordFault(ValueError):
    """Say what is wrong with a line; `text` does not name the line."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Member(NamedTuple):
    """One name of an object and where its value stands: line[start:end]."""

    name: str
    start: int
    end: int


_SPACE = re.compile(rb"[ \t\n\r]*")
_SPACES = (b" ", b"\t", b"\n", b"\r")
_STRING_STOP = re.compile(rb'[\x00-\x1f"\\]')
_QUOTE_OR_ESCAPE = re.compile(rb'["\\]')
_QUOTE_OR_BRACKET = re.compile(rb'["{}\[\]]')
_ESCAPE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})')
_ESCAPE_CUT = re.compile(rb"\\(?:u[0-9A-Fa-f]{0,3})?\Z")
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_NUMBER_CUT = re.compile(rb"(?:\.|[eE][+-]?)\Z")
_PLAIN_ITEM = re.compile(
    rb"[ \t\n\r]*(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)[ \t\n\r]*,"
)
_BARE = re.compile(rb"[^ \t\n\r,\]}]+")
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}

_QUOTE, _COMMA, _COLON = b'",:'
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY = b"{}[]"

# What may come next; the texts are what a fault says when something else comes.
_VALUE = "expected a value"
_FIRST_ITEM = "expected a value or ']'"
_NAME = "expected a name"
_FIRST_NAME = "expected a name or '}'"
_AFTER_NAME = "expected ':'"
_AFTER_ITEM = "expected ',' or ']'"
_AFTER_MEMBER = "expected ',' or '}'"
_END = "expected the end of the line"


def check(line: bytes) -> None:
    """Raise `RecordFault` for the first fault, in byte order, of a line of valid UTF-8."""
    closers = bytearray()  # the closing bracket of every open container, innermost last
    state, pos = _VALUE, space(line, 0)
    while pos < len(line):
        byte = line[pos]
        if byte in (_CLOSE_ARRAY, _CLOSE_OBJECT) and closers and _may_close(state, byte):
            closers.pop()
            pos, state = pos + 1, _after(closers)
        elif state in (_VALUE, _FIRST_ITEM):
            pos, state = _value(line, pos, state, closers)
        elif state in (_NAME, _FIRST_NAME) and byte == _QUOTE:
            pos, state = _string(line, pos), _AFTER_NAME
        elif state == _AFTER_NAME and byte == _COLON:
            pos, state = pos + 1, _VALUE
        elif state in (_AFTER_ITEM, _AFTER_MEMBER) and byte == _COMMA:
            plain = state == _AFTER_ITEM
            pos, state = (_plain_items(line, pos + 1), _VALUE) if plain else (pos + 1, _NAME)
        else:
            raise _fault(state, pos)
        pos = space(line, pos)
    if state != _END:
        raise _fault_at_end(line)


def space(line: bytes, pos: int) -> int:
    """Return the position of the first byte from `pos` on that is not white space."""
    if line[pos : pos + 1] not in _SPACES:  # nearly always: no need to ask the pattern
        return pos
    return _sure(_SPACE.match(line, pos)).end()


def kind(line: bytes, pos: int) -> str:
    """Name the kind of the value that starts at `pos` of a checked line."""
    return _KINDS.get(line[pos], "a number")


_KINDS = {
    _OPEN_OBJECT: "an object",
    _OPEN_ARRAY: "an array",
    _QUOTE: "a string",
    ord("t"): "a boolean",
    ord("f"): "a boolean",
    ord("n"): "null",
}


def members(line: bytes, start: int) -> Iterator[Member]:
    """Walk through the members of the object that starts at `start` of a checked line."""
    pos = space(line, start + 1)
    while line[pos] == _QUOTE:
        name_end = _string_end(line, pos)
        name = string(line[pos:name_end])
        value = space(line, space(line, name_end) + 1)
        end = _value_end(line, value)
        yield Member(name, value, end)
        pos = space(line, end)
        if line[pos] == _CLOSE_OBJECT:
            return
        pos = space(line, pos + 1)


def string(literal: bytes) -> str:
    """Decode a checked string literal, its quotes included."""
    value: str = json.loads(literal.decode())
    return value


def _plain_items(line: bytes, pos: int) -> int:
    """Skip the numbers and literals of an array that a comma follows: vectors are long."""
    item = _PLAIN_ITEM.match(line, pos)
    while item:
        pos = item.end()
        item = _PLAIN_ITEM.match(line, pos)
    return pos


def _may_close(state: str, byte: int) -> bool:
    allowed = (_FIRST_ITEM, _AFTER_ITEM) if byte == _CLOSE_ARRAY else (_FIRST_NAME, _AFTER_MEMBER)
    return state in allowed


def _after(closers: bytearray) -> str:
    if not closers:
        return _END
    return _AFTER_MEMBER if closers[-1] == _CLOSE_OBJECT else _AFTER_ITEM


def _value(line: bytes, pos: int, state: str, closers: bytearray) -> tuple[int, str]:
    """Pass a scalar or an opening bracket; return what follows and what may come there."""
    byte = line[pos]
    if byte not in (_OPEN_OBJECT, _OPEN_ARRAY):
        return _scalar(line, pos, state), _after(closers)
    if len(closers) == MAX_DEPTH:
        raise RecordFault(f"nesting is deeper than {MAX_DEPTH} at byte {pos + 1}")
    closers.append(_CLOSE_OBJECT if byte == _OPEN_OBJECT else _CLOSE_ARRAY)
    return pos + 1, _FIRST_NAME if byte == _OPEN_OBJECT else _FIRST_ITEM


def _scalar(line: bytes, pos: int, state: str) -> int:
    """Return the end of the string, number or literal at `pos`."""
    byte = line[pos]
    if byte == _QUOTE:
        return _string(line, pos)
    if byte in b"-0123456789":
        return _number(line, pos)
    literal = _LITERALS.get(byte)
    if literal is None:
        raise _fault(state, pos)
    if line.startswith(literal, pos):
        return pos + len(literal)
    if literal.startswith(line[pos : pos + len(literal)]):
        raise _fault_at_end(line)
    raise _fault("invalid literal", pos)


def _number(line: bytes, pos: int) -> int:
    """Return the end of the number at `pos`: the longest that the grammar allows."""
    found = _NUMBER.match(line, pos)
    if found is None:  # a minus sign alone
        raise _fault_at_end(line) if pos + 1 == len(line) else _fault("invalid number", pos)
    end = found.end()
    following = line[end : end + 1]
    wants_digits = (
        following.isdigit()  # after a leading zero
        or (following == b"." and not (found[1] or found[2]))
        or (following in (b"e", b"E") and not found[2])
    )
    if not wants_digits:
        return end
    cut = _NUMBER_CUT.match(line, end)
    raise _fault_at_end(line) if cut else _fault("invalid number", pos)


def _string(line: bytes, pos: int) -> int:
    """Return the end of the string whose opening quote stands at `pos`."""
    pos += 1
    while True:
        stop = _STRING_STOP.search(line, pos)
        if stop is None:
            raise _fault_at_end(line)
        pos = stop.start()
        if line[pos] == _QUOTE:
            return pos + 1
        if line[pos] < 0x20:
            raise _fault("control character in a string", pos)
        escape = _ESCAPE.match(line, pos)
        if escape is None:
            cut = _ESCAPE_CUT.match(line, pos)
            raise _fault_at_end(line) if cut else _fault("invalid escape", pos)
        pos = escape.end()


def _string_end(line: bytes, pos: int) -> int:
    pos += 1
    while True:
        found = _sure(_QUOTE_OR_ESCAPE.search(line, pos))
        if line[found.start()] == _QUOTE:
            return found.end()
        pos = found.end() + 1


def _value_end(line: bytes, pos: int) -> int:
    """Return the end of the value that starts at `pos` of a checked line."""
    if line[pos] == _QUOTE:
        return _string_end(line, pos)
    if line[pos] not in (_OPEN_OBJECT, _OPEN_ARRAY):
        return _sure(_BARE.match(line, pos)).end()
    depth = 0
    while True:
        found = _sure(_QUOTE_OR_BRACKET.search(line, pos))
        byte, pos = line[found.start()], found.end()
        if byte == _QUOTE:
            pos = _string_end(line, found.start())
            continue
        depth += 1 if byte in (_OPEN_OBJECT, _OPEN_ARRAY) else -1
        if depth == 0:
            return pos


def _sure(found: re.Match[bytes] | None) -> re.Match[bytes]:
    """Return what a checked line cannot lack."""
    if found is None:
        raise AssertionError("the line was not checked")
    return found


def _fault(what: str, pos: int) -> RecordFault:
    return RecordFault(f"invalid JSON at byte {pos + 1}: {what}")


def _fault_at_end(line: bytes) -> RecordFault:
    return _fault("unexpected end of line", len(line))
