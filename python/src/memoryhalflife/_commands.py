"""The commands of the REPL: each takes the rest of its line and returns the text to show."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Callable, NamedTuple

from memoryhalflife._lines import (
    UsageError,
    one_key,
    shown_content,
    shown_key,
    shown_memory,
    split_key,
    split_options,
)

if TYPE_CHECKING:
    from memoryhalflife._runtime import Expired
    from memoryhalflife.engine import MemoryEngine
    from memoryhalflife.memory import Memory
    from memoryhalflife.values import JSON

__all__ = ["COMMANDS", "STORE_OPTIONS", "Command", "Session"]

STORE_OPTIONS = {"--half-life": "N", "--tags": "a,b", "--threshold": "X", "--json": None}
_GREEN, _YELLOW, _RED, _PLAIN = "\033[32m", "\033[33m", "\033[31m", "\033[0m"


class Session:
    """An engine, how to show things, and what the last tick let expire."""

    def __init__(self, engine: MemoryEngine, *, colour: bool = False, arrow: str = "→") -> None:
        """Begin a session."""
        self.engine = engine
        self.colour = colour
        self.arrow = arrow
        self.expired: list[Expired] = []

    def run(self, line: str) -> str | None:
        """Run one line and return the text to show, or None to leave; a ValueError says what is wrong."""
        name, rest = ([*line.split(None, 1), "", ""])[:2]
        if not name or name.startswith("#"):
            return ""
        command = COMMANDS.get(name.lower())
        if command is None:
            raise UsageError(f"unknown command {shown_key(name)} (type 'help' for the commands)")
        return command.run(self, rest)

    def show(self, memories: list[Memory], now: int) -> str:
        """Return the lines that show memories."""
        return "\n".join(shown_memory(memory, now, self._bar_format(memory, now)) for memory in memories)

    def _bar_format(self, memory: Memory, now: int) -> str:
        if not self.colour:
            return "{}"
        confidence = memory.confidence(now)
        return (_GREEN if confidence >= 0.5 else _YELLOW if confidence >= 0.25 else _RED) + "{}" + _PLAIN


def _store(session: Session, text: str) -> str:
    key, rest = split_key(text)
    options, content = split_options(rest, STORE_OPTIONS)
    if not key or not content:
        raise UsageError(f"store needs a key and a content: {COMMANDS['store'].usage}")
    half_life, threshold = options.get("--half-life"), options.get("--threshold")
    memory = session.engine.store(
        key,
        _content(content, as_json="--json" in options),
        half_life=None if half_life is None else _whole(half_life, "--half-life takes"),
        tags=[tag.strip() for tag in options.get("--tags", "").split(",") if tag.strip()],
        threshold=None if threshold is None else _number(threshold, "--threshold takes"),
    )
    return f"Stored: {shown_key(key)} (half_life={memory.half_life}, ttl={memory.ttl()})"


def _content(text: str, *, as_json: bool) -> JSON:
    if as_json:
        try:
            value: JSON = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"--json takes a JSON value: {error}") from None
        return value
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _recall(session: Session, text: str) -> str:
    key = one_key("recall", text)
    memory = session.engine.recall(key)
    if memory is None:
        return f"No memory: {shown_key(key)}"
    return "Recalled (refreshed):\n" + session.show([memory], memory.last_accessed_at)


def _peek(session: Session, text: str) -> str:
    key = one_key("peek", text)
    now, memory = session.engine.now, session.engine.peek(key)
    return f"No memory: {shown_key(key)}" if memory is None else session.show([memory], now)


def _forget(session: Session, text: str) -> str:
    key = one_key("forget", text)
    return ("Forgotten: " if session.engine.forget(key) else "No memory: ") + shown_key(key)


def _tick(session: Session, text: str) -> str:
    n = _whole(text.strip() or "1", "tick takes")
    session.expired = session.engine.tick(n)
    return f"Advanced {n} tick(s) {session.arrow} now at tick {session.engine.now}"


def _expired(session: Session, text: str) -> str:
    _nothing("expired", text)
    lines = [f"  {shown_key(event.key)} (at tick {event.tick})" for event in session.expired]
    return "\n".join(["Expired in the last tick:", *lines]) if lines else "Nothing expired in the last tick."


def _list(session: Session, text: str) -> str:
    tag = one_key("list", text) if text.strip() else None
    now, memories = session.engine.now, session.engine.memories(tag)
    if not memories:
        return "No memories." if tag is None else f"No memories with the tag {shown_key(tag)}."
    return f"{len(memories)} memories:\n" + session.show(memories, now)


def _fading(session: Session, text: str) -> str:
    threshold = _number(text.strip() or "0.5", "fading takes")
    now, memories = session.engine.now, session.engine.fading(threshold)
    below = f"below {100 * threshold:g}%"
    return f"{len(memories)} fading ({below}):\n" + session.show(memories, now) if memories else f"Nothing is {below}."


def _entropy(session: Session, text: str) -> str:
    _nothing("entropy", text)
    score = session.engine.entropy_score()
    counts = "  ".join(f"{name}={score[name]}" for name in ("living", "fading", "expired", "forgotten"))
    return f"entropy={score['score']:.3f}  pressure={score['pressure']:.3f}  mass={score['mass']}\n{counts}"


def _grace(session: Session, text: str) -> str:
    _nothing("grace", text)
    state = session.engine.to_dict()
    if not state["grace_ticks"]:
        return "No grace: what expires is gone at once (start with --grace N to change that)."
    lines = [
        f"  {shown_key(key)}: {shown_content(fields['content'])}\n"
        f"    expired at tick {fields['expired_at']}, gone at tick {fields['expired_at'] + state['grace_ticks']}"
        for key, fields in state["grace"].items()
    ]
    return f"{len(lines)} in grace:\n" + "\n".join(lines) if lines else "Nothing is in its grace."


def _revive(session: Session, text: str) -> str:
    key = one_key("revive", text)
    memory = session.engine.revive(key)
    if memory is None:
        return f"Nothing to revive: {shown_key(key)}"
    return "Revived:\n" + session.show([memory], memory.last_accessed_at)


def _help(_: Session, text: str) -> str:
    name = text.strip().lower()
    if name:
        command = COMMANDS.get(name)
        if command is None:
            raise UsageError(f"unknown command {shown_key(name)} (type 'help' for the commands)")
        return f"{command.usage}\n  {command.help}"
    width = max(len(command.usage) for command in COMMANDS.values() if len(command.usage) < 24)
    lines = []
    for command in dict.fromkeys(COMMANDS.values()):
        if len(command.usage) <= width:
            lines.append(f"  {command.usage:<{width}}  {command.help}")
        else:
            lines += [f"  {command.usage}", f"  {'':<{width}}  {command.help}"]
    lines.append('Quote a key with blanks: recall "user name"')
    return "\n".join(lines)


def _quit(_: Session, text: str) -> None:
    _nothing("quit", text)


def _nothing(command: str, text: str) -> None:
    if text.strip():
        raise UsageError(f"{command} takes nothing after it, got {shown_key(text.strip())}")


def _whole(text: str, takes: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 30:
        raise UsageError(f"{takes} a whole number, got {shown_key(text)}")
    return int(text)


def _number(text: str, takes: str) -> float:
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise UsageError(f"{takes} a number, got {shown_key(text)}") from None


class Command(NamedTuple):
    """A command: its function, how it is written, and what it does."""

    run: Callable[[Session, str], str | None]
    usage: str
    help: str


COMMANDS: dict[str, Command] = {
    "store": Command(
        _store,
        "store KEY CONTENT [--half-life N] [--tags a,b] [--threshold X] [--json]",
        "keep a memory; what was under the key is replaced",
    ),
    "recall": Command(_recall, "recall KEY", "read a memory and refresh it"),
    "peek": Command(_peek, "peek KEY", "read a memory without refreshing it"),
    "forget": Command(_forget, "forget KEY", "erase a memory"),
    "tick": Command(_tick, "tick [N]", "let N ticks pass (1 if N is left out)"),
    "expired": Command(_expired, "expired", "show what the last tick let expire"),
    "list": Command(_list, "list [TAG]", "show all memories, or those with a tag"),
    "fading": Command(_fading, "fading [X]", "show memories with a confidence below X (0.5)"),
    "entropy": Command(_entropy, "entropy", "measure how far the memories have decayed"),
    "grace": Command(_grace, "grace", "show expired memories that can be revived"),
    "revive": Command(_revive, "revive KEY", "bring back an expired memory"),
    "help": Command(_help, "help [COMMAND]", "show this, or how a command is written"),
    "quit": Command(_quit, "quit", "leave (also: exit, Ctrl-D)"),
}
COMMANDS["exit"] = COMMANDS["quit"]
