"""The program `memory-half-life`: a REPL on a terminal, and a reader of commands in a pipe."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoryhalflife._commands import COMMANDS, STORE_OPTIONS, Look, Session
from memoryhalflife._lines import shown_key, shown_text
from memoryhalflife.engine import MemoryEngine
from recolva.errors import InvalidArgument, RecolvaError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["main"]

_BOLD, _RED, _PLAIN = "\033[1m", "\033[31m", "\033[0m"

#: What an argument of the engine is called on the command line.
_FLAGS = {
    "path": "--db",
    "default_half_life": "--half-life",
    "default_threshold": "--threshold",
    "grace_ticks": "--grace",
}

_EXAMPLES = """\
examples:
  memory-half-life
  memory-half-life --db agent.db --half-life 20
  printf 'store weather It is sunny\\ntick 15\\nlist\\n' | memory-half-life

exit status:
  0 done; 1 a line was wrong (commands from a pipe), or the file can't be used; 2 misuse
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    _prepare_streams()
    options = _parser().parse_args(arguments)
    try:
        engine = _engine(options)
        with engine:
            return _serve(engine)
    except _StartError as error:
        print(f"memory-half-life: error: {shown_text(str(error))}", file=sys.stderr)
        return 2 if isinstance(error.__cause__, InvalidArgument) else 1
    except OSError as error:
        # our output can't be written: nothing more can be said there, not even at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # its reader has left
            return 0
        _complain(f"can't write: {error}")
        return 1
    except KeyboardInterrupt:
        return 130


class _StartError(Exception):
    """The engine can't be made."""


def _prepare_streams() -> None:
    """Let bytes that are no text not end the session, and take a closed stream for an empty one."""
    for name, errors in (("stdin", "surrogateescape"), ("stdout", "backslashreplace"), ("stderr", "backslashreplace")):
        stream = getattr(sys, name)
        if stream is None:
            nothing = Path(os.devnull).open("r" if name == "stdin" else "w", encoding="utf-8")  # noqa: SIM115 - for good
            setattr(sys, name, nothing)
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=errors)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="memory-half-life",
        description="An agent's memory where knowledge decays unless it is used. Type 'help' inside.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--db", metavar="FILE", help="keep the memories in this SQLite file")
    parser.add_argument(
        "--half-life", type=int, metavar="N", help="half-life in ticks of memories stored without one (10)"
    )
    parser.add_argument(
        "--threshold", type=float, metavar="X", help="confidence at which they expire, between 0 and 1 (0.1)"
    )
    parser.add_argument("--grace", type=int, metavar="N", help="ticks for which they can be revived then (0)")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the versions of this program and below it")
    return parser


class _Version(argparse.Action):
    """Print the version; it is looked up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        import sqlite3
        from importlib import metadata

        try:
            version = metadata.version("recolva")
        except metadata.PackageNotFoundError:
            version = "0+unknown"
        python = sys.version.split()[0]
        print(f"{parser.prog} {version} (Python {python}, SQLite {sqlite3.sqlite_version})")
        parser.exit()


def _engine(options: argparse.Namespace) -> MemoryEngine:
    settings = {
        "default_half_life": options.half_life,
        "default_threshold": options.threshold,
        "grace_ticks": options.grace,
    }
    try:
        if options.db is not None:
            return MemoryEngine.open(options.db, **settings)
        return MemoryEngine(**{name: value for name, value in settings.items() if value is not None})
    except (RecolvaError, OSError) as error:
        name, _, rest = str(error).partition(" ")
        raise _StartError(f"{_FLAGS.get(name, name)} {rest}") from error


def _serve(engine: MemoryEngine) -> int:
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    look = Look(
        colour=interactive and _wants_colour(),
        arrow="→" if _can_show("→") else "->",
        dots="…" if _can_show("…") else "...",
        columns=_columns if interactive else None,
    )
    session = Session(engine, look)
    if interactive:
        print("memory-half-life REPL  (type 'help' for commands)")
        if engine.path is not None:
            print(shown_text(f"Kept in {engine.path}"))
        lines = _typed_lines(session)
    else:
        lines = iter(sys.stdin)
    wrong = False
    for number, line in enumerate(lines, start=1):
        try:
            answer = _answer(session, line)
            if answer is None:
                break
            if isinstance(answer, Exception):
                wrong = True
                sys.stdout.flush()
                _complain(str(answer) if interactive else f"line {number}: {answer}")
            elif answer:
                print(answer, flush=not interactive)
        except KeyboardInterrupt:
            if not interactive:
                raise
            print("interrupted")
    return 1 if wrong and not interactive else 0


def _wants_colour() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _columns() -> int:
    return shutil.get_terminal_size().columns


def _answer(session: Session, line: str) -> str | Exception | None:
    """Return the text to show for a line, what is wrong with it, or None to leave."""
    try:
        return session.run(line)
    except (ValueError, RuntimeError, OSError) as error:
        return error


def _complain(text: str) -> None:
    head = "error:"
    if sys.stdin.isatty() and sys.stderr.isatty() and _wants_colour():
        head = f"{_RED}{head}{_PLAIN}"
    print(f"{head} {shown_text(text)}", file=sys.stderr, flush=True)


def _can_show(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _typed_lines(session: Session) -> Iterator[str]:
    """Yield what is typed, after a prompt, until Ctrl-D; Ctrl-C drops the line."""
    readline = _line_editing(session)
    while (line := _typed_line(session, readline=readline)) is not None:
        yield line


def _typed_line(session: Session, *, readline: bool) -> str | None:
    try:
        prompt = _prompt(session, readline=readline)
        print()
        return input(prompt)
    except EOFError:
        print()
        return None
    except KeyboardInterrupt:
        print("\n(Ctrl-D or 'quit' leaves)")
        return ""


def _prompt(session: Session, *, readline: bool) -> str:
    try:
        tick = str(session.engine.now)
    except (RuntimeError, OSError) as error:
        _complain(str(error))
        tick = "?"
    if not session.look.colour:
        return f"[tick {tick}] > "
    # readline must not count what takes no room
    start, end = ("\001", "\002") if readline else ("", "")
    return f"{start}{_BOLD}{end}[tick {tick}] {start}{_PLAIN}{end}> "


def _line_editing(session: Session) -> bool:
    """Switch on line editing, history (of this session: what is forgotten must not live on) and Tab."""
    try:
        import readline
    except ImportError:
        return False
    choices: list[str] = []

    def complete(text: str, state: int) -> str | None:
        if state == 0:
            before = readline.get_line_buffer()[: readline.get_begidx()]
            choices[:] = [choice + " " for choice in completions(session, before) if choice.startswith(text)]
        return choices[state] if state < len(choices) else None

    readline.set_completer_delims(" \t\n")
    readline.set_completer(complete)
    editline = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if editline else "tab: complete")
    return True


def completions(session: Session, before: str) -> list[str]:
    """Return what may stand after the words typed before: a command, a key, a tag, an option."""
    words = before.split()
    if not words:
        return sorted(COMMANDS)
    if words[0] in ("recall", "peek", "forget", "store") and len(words) == 1:
        return [shown_key(memory.key) for memory in session.engine.memories()]
    if words[0] == "revive" and len(words) == 1:
        return [shown_key(key) for key in session.engine.to_dict()["grace"]]
    if words[0] == "list" and len(words) == 1:
        return sorted({shown_key(tag) for memory in session.engine.memories() for tag in memory.tags})
    if words[0] == "help" and len(words) == 1:
        return sorted(COMMANDS)
    return sorted(STORE_OPTIONS) if words[0] == "store" else []


if __name__ == "__main__":
    sys.exit(main())
