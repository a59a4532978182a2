"""Values of a memory's content: any JSON value, copied in and out.

What an engine keeps can be written as JSON and read back the same, whether the engine is in memory
or in a file. So ``content`` is a str, int, float, bool, None, list or dict with string names, and
nothing else: a tuple would come back as a list, NaN is not JSON, a lone surrogate is not UTF-8.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, Union

from recolva._arguments import number_text, quoted
from recolva.errors import InvalidArgument, InvalidArgumentType

__all__ = ["JSON", "MAX_DEPTH", "MAX_INTEGER_BITS", "checked_text", "copied", "dumps", "loads"]

# mypy has no recursive alias that Python 3.9 can evaluate; this says what is meant.
JSON = Union[str, int, float, bool, None, "list[Any]", "dict[str, Any]"]

#: Nesting of content. A record of recolva may have 512 levels and adds its own around the content.
MAX_DEPTH = 500

#: Python refuses to convert decimal integers of more than 4300 digits, so no dump could be read.
MAX_INTEGER_BITS = 14280

_dump = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_scan = json.JSONDecoder().raw_decode


def copied(value: Any, name: str = "content") -> JSON:
    """Return a copy that shares no list or dict with value; TypeError if it is no JSON value."""
    if isinstance(value, (list, dict)):
        return _copied_tree(value, name)
    return _checked_leaf(value, name)


def dumps(value: JSON) -> str:
    """Return content as JSON text, names in the order of the dict."""
    return _dump(value)


def loads(text: str) -> JSON:
    """Return content from the text of `dumps`."""
    value: JSON = _scan(text)[0]
    return value


def checked_text(value: str, name: str) -> str:
    """Return value as a plain str that UTF-8 can hold."""
    if type(value) is not str:
        value = str.__str__(value)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidArgument(f"{name} must not contain a lone surrogate, got {quoted(value)}") from None
    return value


def _copied_tree(root: list[Any] | dict[Any, Any], name: str) -> JSON:
    """Copy without recursion: content may be deeper than the caller's stack has room for."""
    copy: Any = {} if isinstance(root, dict) else []
    todo: list[tuple[Any, Any, int]] = [(root, copy, 1)]
    while todo:
        source, target, depth = todo.pop()
        if depth > MAX_DEPTH:  # a list that contains itself ends here too
            raise InvalidArgumentType(f"{name} must not be nested deeper than {MAX_DEPTH}")
        named = isinstance(source, dict)
        for item in source:
            value = source[item] if named else item
            if isinstance(value, (list, dict)):
                child: Any = {} if isinstance(value, dict) else []
                todo.append((value, child, depth + 1))
            else:
                child = _checked_leaf(value, name)
            if named:
                target[_checked_name(item, name)] = child
            else:
                target.append(child)
    result: JSON = copy
    return result


def _checked_name(value: Any, name: str) -> str:
    if isinstance(value, str):
        return checked_text(value, name)
    raise InvalidArgumentType(f"{name} must have strings as names, got {type(value).__name__}")


def _checked_leaf(value: Any, name: str) -> JSON:
    """Return a value that is no list or dict as its plain built-in type."""
    if value is None or value is True or value is False:
        return None if value is None else bool(value)
    if isinstance(value, str):
        return checked_text(value, name)
    if isinstance(value, int):
        if int.bit_length(value) > MAX_INTEGER_BITS:
            raise InvalidArgumentType(f"{name} must have integers of at most {MAX_INTEGER_BITS} bits")
        return int.__int__(value)
    if isinstance(value, float):
        if not isfinite(value):
            raise InvalidArgumentType(f"{name} must be a JSON value, got {number_text(value)}")
        return float.__float__(value)
    raise InvalidArgumentType(f"{name} must be a JSON value, got {type(value).__name__}")
