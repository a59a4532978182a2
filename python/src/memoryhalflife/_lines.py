"""Lines of the REPL: what was typed, taken apart, and how values look.

A key is a bare word, or quoted: "…" with the escapes of a JSON string, '…' without any. What is
shown can be typed: a key that a bare word could not be is shown quoted. Nothing unprintable reaches
the terminal, so no memory can move the cursor or turn text around.
"""

from __future__ import annotations

import json
from math import floor
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryhalflife.memory import Memory
    from memoryhalflife.values import JSON

__all__ = [
    "Options",
    "UsageError",
    "bar",
    "one_key",
    "shown_content",
    "shown_key",
    "shown_memory",
    "shown_text",
    "split_key",
    "split_options",
]

_BAR_LENGTH = 20
_LONGEST_TEXT = 400
_json_string = json.JSONDecoder(strict=False).raw_decode


class UsageError(ValueError):
    """A line can't be understood; the text says what would be."""


class Options(NamedTuple):
    """The options found in a line, and the text that is left."""

    values: dict[str, str]
    text: str


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


def one_key(command: str, text: str) -> str:
    """Return the key that is all of a line."""
    if not text.strip():
        raise UsageError(f"{command} needs a key: {command} KEY")
    key, rest = split_key(text)
    if rest:
        whole = json.dumps(text.strip(), ensure_ascii=False)
        raise UsageError(f"{command} takes one key; quote a key with blanks: {command} {whole}")
    return key


def split_options(text: str, known: Mapping[str, str | None]) -> Options:
    """Take options off both ends of a text; known maps their names to what their values are called.

    An option is ``--name VALUE`` or ``--name=VALUE``, or ``--name`` alone if it has no value. After
    ``--`` everything is text.
    """
    values: dict[str, str] = {}
    text = text.strip()
    while text.startswith("--"):
        word, rest = _first_word(text)
        if word == "--":
            return Options(values, rest)
        name, equals, value = word.partition("=")
        if name not in known:
            raise UsageError(f"unknown option {name} (known: {', '.join(known)}; put -- before text that starts so)")
        if known[name] is not None and not equals:
            value, rest = _first_word(rest)
        if known[name] is not None and not value:
            raise UsageError(f"{name} needs a value: {name} {known[name]}")
        _note(values, name, value, known)
        text = rest
    while text:
        head, found = _last_option(text, known)
        if found is None:
            break
        _note(values, *found, known)
        text = head
    return Options(values, text)


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
    if key.isprintable() and key and not any(c.isspace() or c in "\"'" for c in key):
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


def shown_memory(memory: Memory, now: int, bar_format: str = "{}") -> str:
    """Return the two lines that show a memory; bar_format is put around its bar."""
    confidence = memory.confidence(now)
    marks = bar_format.format(bar(confidence))
    tags = f"  tags={','.join(map(shown_key, memory.tags))}" if memory.tags else ""
    return (
        f"  {shown_key(memory.key)}: {shown_content(memory.content)}\n"
        f"    confidence=[{marks}] {100 * confidence:.1f}%"
        f"  half_life={memory.half_life}  accesses={memory.access_count}{tags}"
    )
