"""The commands of the REPL: each takes the rest of its line and returns the text to show."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Callable, NamedTuple

from memoryhalflife._lines import (
    Line,
    UsageError,
    bar,
    fitted,
    nearest,
    one_key,
    refuse_options,
    shown_content,
    shown_key,
    split_line,
)

if TYPE_CHECKING:
    from memoryhalflife._runtime import Expired
    from memoryhalflife.engine import MemoryEngine
    from memoryhalflife.memory import Memory
    from memoryhalflife.values import JSON

__all__ = ["COMMANDS", "STORE_OPTIONS", "Command", "Session"]

STORE_OPTIONS = {"--half-life": "N", "--tags": "a,b", "--threshold": "X", "--json": None}
_GREEN, _YELLOW, _RED, _BOLD, _DIM, _PLAIN = "\033[32m", "\033[33m", "\033[31m", "\033[1m", "\033[2m", "\033[0m"


class Look(NamedTuple):
    """How a session looks: in colour or not, its signs, and the columns that a list may take (None: any)."""

    colour: bool = False
    arrow: str = "→"
    dots: str = "…"
    columns: Callable[[], int] | None = None

    def painted(self, text: str, code: str) -> str:
        """Return a text in the colour of an escape code."""
        return f"{code}{text}{_PLAIN}" if self.colour and text else text


class Session:
    """An engine, how to show things, and what the last tick let expire."""

    def __init__(self, engine: MemoryEngine, look: Look | None = None) -> None:
        """Begin a session."""
        self.engine = engine
        self.look = Look() if look is None else look
        self.expired: list[Expired] = []

    def run(self, line: str) -> str | None:
        """Run one line and return the text to show, or None to leave; a ValueError says what is wrong."""
        name, rest = ([*line.split(None, 1), "", ""])[:2]
        if not name or name.startswith("#"):
            return ""
        return _command(name).run(self, rest)

    def show(self, memories: list[Memory], now: int, *, cut: bool = False) -> str:
        """Return the lines that show memories; cut says that one line of each content is enough."""
        columns = self.look.columns() if cut and self.look.columns else None
        return "\n".join(self._shown(memory, now, columns) for memory in memories)

    def headed(self, key: str, content: JSON, columns: int | None) -> str:
        """Return a key and its content, in as many columns."""
        shown = shown_key(key)
        text = shown_content(content)
        if columns is not None:
            text = fitted(text, max(columns - len(shown) - 4, 20), self.look.dots)
        return f"  {self.look.painted(shown, _BOLD)}: {text}"

    def _shown(self, memory: Memory, now: int, columns: int | None) -> str:
        confidence = memory.confidence(now)
        whole = bar(confidence)
        marks = whole.rstrip(".")
        code = _GREEN if confidence >= 0.5 else _YELLOW if confidence >= 0.25 else _RED
        painted = self.look.painted(marks, code) + self.look.painted(whole[len(marks) :], _DIM)
        tags = f"\n    tags={','.join(map(shown_key, memory.tags))}" if memory.tags else ""
        return (
            f"{self.headed(memory.key, memory.content, columns)}\n"
            f"    confidence=[{painted}] {100 * confidence:.1f}%"
            f"  half_life={memory.half_life}  accesses={memory.access_count}{tags}"
        )


def _store(session: Session, text: str) -> str:
    line = split_line(text, STORE_OPTIONS)
    if not line.key or not line.text:
        raise UsageError("store needs a key and a content: store KEY CONTENT (see 'help store')")
    half_life, threshold = line.options.get("--half-life"), line.options.get("--threshold")
    memory = session.engine.store(
        line.key,
        _content(line),
        half_life=None if half_life is None else _whole(half_life, "--half-life takes"),
        tags=[tag.strip() for tag in line.options.get("--tags", "").split(",") if tag.strip()],
        threshold=None if threshold is None else _number(threshold, "--threshold takes"),
    )
    return f"Stored: {shown_key(line.key)} (half_life={memory.half_life}, ttl={memory.ttl()})"


def _content(line: Line) -> JSON:
    if "--json" in line.options:
        try:
            value: JSON = json.loads(line.text)
        except (ValueError, RecursionError) as error:
            if not line.literal:
                refuse_options(line.text, STORE_OPTIONS)
            raise UsageError(f"--json takes a JSON value: {error}") from None
        return value
    if line.quoted:
        return line.text[1:-1]
    if not line.literal:
        refuse_options(line.text, STORE_OPTIONS)
    return line.text


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
    return f"Advanced {n} tick(s) {session.look.arrow} now at tick {session.engine.now}"


def _expired(session: Session, text: str) -> str:
    _nothing("expired", text)
    lines = [f"  {shown_key(event.key)} (at tick {event.tick})" for event in session.expired]
    return "\n".join(["Expired in the last tick:", *lines]) if lines else "Nothing expired in the last tick."


def _list(session: Session, text: str) -> str:
    tag = one_key("list", text, "tag") if text.strip() else None
    now, memories = session.engine.now, session.engine.memories(tag)
    if not memories:
        return "No memories." if tag is None else f"No memories with the tag {shown_key(tag)}."
    return f"{len(memories)} memories:\n" + session.show(memories, now, cut=True)


def _fading(session: Session, text: str) -> str:
    threshold = _number(text.strip() or "0.5", "fading takes")
    now, memories = session.engine.now, session.engine.fading(threshold)
    below = f"below {100 * threshold:g}%"
    if not memories:
        return f"Nothing is {below}."
    return f"{len(memories)} fading ({below}):\n" + session.show(memories, now, cut=True)


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
    columns = session.look.columns and session.look.columns()
    lines = [
        f"{session.headed(key, fields['content'], columns)}\n"
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
    if text.strip():
        command = _command(text.strip())
        return f"{command.usage}\n  {command.help}" + "".join(f"\n  {line}" for line in command.more)
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
    """A command: its function, how it is written, what it does, and more to know about it."""

    run: Callable[[Session, str], str | None]
    usage: str
    help: str
    more: tuple[str, ...] = ()


def _command(name: str) -> Command:
    command = COMMANDS.get(name.lower())
    if command is None:
        close = nearest(name, COMMANDS)
        meant = f", did you mean {close[0]}?" if close else " (type 'help' for the commands)"
        raise UsageError(f"unknown command {shown_key(name)}{meant}")
    return command


COMMANDS: dict[str, Command] = {
    "store": Command(
        _store,
        "store KEY CONTENT [--half-life N] [--tags a,b] [--threshold X] [--json]",
        "keep a memory; what was under the key is replaced",
        (
            "--half-life N    ticks after which its confidence is one half",
            "--threshold X    confidence at which it expires, between 0 and 1",
            "--tags a,b       tags, for list TAG",
            "--json           the content is a JSON value",
            "Options stand before or after the content. Content in quotes, or after --, is",
            "taken as it is: store note -- use --force",
        ),
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
