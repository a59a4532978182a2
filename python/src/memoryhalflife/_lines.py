"""Lines of the REPL: what was typed, taken apart, and how values look.

A key is a bare word, or quoted: "…" with the escapes of a JSON string, '…' without any. What is
shown can be typed: a key that a bare word could not be is shown quoted. A word that starts with --
and a letter is an option, unless it stands in quotes or after a -- of its own, so that a mistyped one
is never stored. Nothing unprintable reaches the terminal, so no memory can move the cursor or turn
text around.
"""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from math import floor
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import combining, east_asian_width

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memoryhalflife.values import JSON

__all__ = [
    "Line",
    "UsageError",
    "bar",
    "fitted",
    "nearest",
    "one_key",
    "refuse_options",
    "shown_content",
    "shown_key",
    "shown_text",
    "split_key",
    "split_line",
]

_BAR_LENGTH = 20
_OPTION = re.compile(r"--[^\W\d_]")
_QUOTED = re.compile(r""" "(?:[^"\\]|\\.)*" | "[^"]*" | '[^']*' """, re.VERBOSE)
_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2212"  # copied from typeset text, -- may have become one of these
_LONGEST_TEXT = 400
_json_string = json.JSONDecoder(strict=False).raw_decode


class UsageError(ValueError):
    """A line can't be understood; the text says what would be."""


class Line(NamedTuple):
    """What a line says: its options, its key, and the text, which may be quoted or follow a --."""

    options: dict[str, str]
    key: str
    text: str
    quoted: bool = False
    literal: bool = False


def split_key(text: str) -> tuple[str, str]:
    """Return the key that a line starts with, and the rest of the line."""
    text = text.strip()
    if text[:1] == '"':
        try:
            key, end = _json_string(text)
        except ValueError:
            raise UsageError('a key that starts with " must end with one') from None
    elif text[:1] == "'":
        end = text.find("'", 1) + 1
        if end == 0:
            raise UsageError("a key that starts with ' must end with one")
        key = text[1 : end - 1]
    else:
        key = text.split(None, 1)[0] if text else ""
        end = len(key)
    if text[end : end + 1].strip():
        raise UsageError(f"a blank must follow the key {shown_key(key)}")
    return key, text[end:].strip()


def one_key(command: str, text: str, noun: str = "key") -> str:
    """Return the key, or whatever the noun says, that is all of a line."""
    text = text.strip()
    if not text:
        raise UsageError(f"{command} needs a {noun}: {command} {noun.upper()}")
    if _OPTION.match(text):
        raise UsageError(f"{command} has no option {_first_word(text)[0]} (quote a {noun} that starts so)")
    key, rest = split_key(text)
    if rest:
        whole = json.dumps(text, ensure_ascii=False)
        raise UsageError(f"{command} takes one {noun}; quote a {noun} with blanks: {command} {whole}")
    return key


def split_line(text: str, known: Mapping[str, str | None]) -> Line:
    """Take apart a key, a text, and options, which may stand before the key and on both sides of the text.

    ``known`` maps the names of options to what their values are called. An option is
    ``--name VALUE`` or ``--name=VALUE``, or ``--name`` alone if it has no value. After ``--``
    there are no options.
    """
    options: dict[str, str] = {}
    text, literal = _leading_options(text.strip(), known, options)
    key, text = split_key(text)
    if not literal:
        text, literal = _leading_options(text, known, options)
    if literal:
        return Line(options, key, text, literal=True)
    quoted = _QUOTED.match(text)
    end = quoted.end() if quoted else 0
    if end and not text[end : end + 1].strip():
        behind = dict(options)
        if _leading_options(text[end:].strip(), known, behind) == ("", False):
            return Line(behind, key, text[:end], quoted=True)
    while text:
        head, found = _last_option(text, known)
        if found is None:
            break
        _note(options, *found, known)
        text = head
    return Line(options, key, text)


def _leading_options(text: str, known: Mapping[str, str | None], options: dict[str, str]) -> tuple[str, bool]:
    """Take options off the start of a text; return the rest, and whether a -- stood before it."""
    while True:
        word, rest = _first_word(text)
        if word == "--":
            return rest, True
        name, equals, value = word.partition("=")
        if name not in known:
            refuse_options(word, known)
            return text, False
        if known[name] is not None and not equals:
            value, rest = _first_word(rest)
        if known[name] is not None and (not value or (_OPTION.match(value) and not equals)):
            raise UsageError(f"{name} needs a value: {name} {known[name]}")
        _note(options, name, value, known)
        text = rest


def refuse_options(text: str, known: Mapping[str, str | None]) -> None:
    """Refuse a text with a word that can only be meant as an option: stored, it would be lost as one.

    That is -- and a letter, or the name of an option after any other dashes.
    """
    names = {name.strip("-") for name in known}
    for word in text.split():
        name = word.partition("=")[0]
        bare = name.lstrip(_DASHES)
        if not (_OPTION.match(name) or (bare != name and bare in names)):
            continue
        if name in known:
            raise UsageError(f"{name} must stand before or after the content (or quote the content)")
        close = [f"--{bare}"] if bare in names else nearest(name, known)
        if close:
            raise UsageError(f"no option {name}, did you mean {close[0]}? (or quote the content)")
        raise UsageError(f"no option {name}: there are {', '.join(known)} (or quote the content)")


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Return the one of known that word was probably meant to be, if there is any."""
    return get_close_matches(word.lower()[:40], known, n=1, cutoff=0.7)


def _note(values: dict[str, str], name: str, value: str, known: Mapping[str, str | None]) -> None:
    """Keep an option; nothing that was said is ignored."""
    if known[name] is None and value:
        raise UsageError(f"{name} takes no value, got {name}={value}")
    if name in values:
        raise UsageError(f"{name} is given twice")
    values[name] = value


def _last_option(text: str, known: Mapping[str, str | None]) -> tuple[str, tuple[str, str] | None]:
    """Return a text without the option at its end, and that option."""
    head, last = _last_word(text)
    name, equals, value = last.partition("=")
    if name in known and (equals or known[name] is None):
        return head, (name, value)
    if name in known:
        raise UsageError(f"{name} needs a value: {name} {known[name]}")
    before, name = _last_word(head)
    if known.get(name) is not None:
        return before, (name, last)
    return text, None


def _first_word(text: str) -> tuple[str, str]:
    """Return the first word of a text, and the rest."""
    word, rest = ([*text.split(None, 1), "", ""])[:2]
    return word, rest.strip()


def _last_word(text: str) -> tuple[str, str]:
    """Return a text without its last word, and that word."""
    words = text.rsplit(None, 1)
    return ("", text.strip()) if len(words) < 2 else (words[0].rstrip(), words[1])


def shown_key(key: str) -> str:
    """Return a key as it can be typed."""
    if key.isprintable() and key and not key.startswith("--") and not any(c.isspace() or c in "\"'" for c in key):
        return key
    return _printable(json.dumps(key, ensure_ascii=False))


def shown_content(content: JSON) -> str:
    """Return content for a reader: a text as Python shows it, else JSON."""
    return repr(content) if isinstance(content, str) else _printable(json.dumps(content, ensure_ascii=False))


def shown_text(text: str) -> str:
    """Return an error text for a terminal: printable, and cut if what it quotes is long."""
    if len(text) > _LONGEST_TEXT:
        text = text[:_LONGEST_TEXT] + "..."
    return _printable(text)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def bar(confidence: float) -> str:
    """Return a bar of 20 places, as many of them marked as the confidence fills."""
    marks = floor(_BAR_LENGTH * confidence)
    return "#" * marks + "." * (_BAR_LENGTH - marks)


def fitted(text: str, columns: int, dots: str) -> str:
    """Return a text cut to as many columns of a terminal, dots at its end if something is missing."""
    room = columns - len(dots)
    used = end = 0
    for number, character in enumerate(text):
        used += 0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1
        if used <= room:
            end = number + 1
        elif used > columns:
            return text[:end] + dots
    return text
