"""The REPL on a terminal: prompts, colours, line editing, control keys."""

from __future__ import annotations

import codecs
import os
import re
import select
import signal
import subprocess
import sys
import time

import pytest

from memoryhalflife._lines import fitted
from tests.memoryhalflife.program import COMMAND, consoles, environment, piped

pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")


cpython_only = pytest.mark.skipif(sys.implementation.name != "cpython", reason="the line editing of CPython's library")


def _heed_interrupts():
    """Undo that whoever started the tests ignores Ctrl-C, as a shell does for what runs in its background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """The program on a pseudo-terminal."""

    def __init__(self, *arguments, stderr=None, **changes):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            stdin=slave,
            stdout=slave,
            stderr=slave if stderr is None else stderr,
            env=environment(**{"NO_COLOR": "1", **changes}),
            start_new_session=True,
            preexec_fn=_heed_interrupts,  # noqa: PLW1509 - no threads run here
        )
        os.close(slave)
        self.seen = self.unread = ""
        self.decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def read_until(self, text, seconds=30):
        """Read until text is on the screen after what was read before; return what is new."""
        deadline = time.monotonic() + seconds
        while text not in self.unread:
            assert time.monotonic() < deadline, f"{text!r} did not appear after {self.seen + self.unread!r}"
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.unread += self.decode(os.read(self.master, 4096))
                except OSError:  # the other end is closed
                    break
        end = self.unread.find(text) + len(text) if text in self.unread else len(self.unread)
        new, self.unread = self.unread[:end], self.unread[end:]
        self.seen += new
        return new

    def interrupt_until(self, text):
        """Interrupt, as Ctrl-C does, until text appears: a signal may come before input waits for one."""
        for _ in range(60):
            os.killpg(self.process.pid, signal.SIGINT)
            try:
                return self.read_until(text, seconds=0.5)
            except AssertionError:
                continue
        return pytest.fail(f"{text!r} did not appear")

    def type(self, text):
        """Type text, control characters included."""
        os.write(self.master, text.encode())

    def close(self):
        """Read to the end and return the exit status."""
        self.read_until("\0nothing")
        return self.process.wait(30)


@pytest.fixture
def new_terminal():
    """Return a function that starts the program on a terminal; none outlives the test."""
    terminals = []

    def start(*arguments, **changes):
        terminals.append(Terminal(*arguments, **changes))
        return terminals[-1]

    yield start
    for terminal in terminals:
        terminal.process.kill()
        terminal.process.wait()
        os.close(terminal.master)


def test_the_documented_session_on_a_terminal(new_terminal):
    """Typed on a terminal, the session of the guide looks as it does there, line by line."""
    expected = consoles()[0].split("\n", 1)[1]
    terminal = new_terminal()
    for command in re.findall(r"\[tick \d+\] > (.*)", expected):
        terminal.read_until("] > ")
        terminal.type(command + "\n")
    assert terminal.close() == 0
    assert terminal.seen.replace("\r\n", "\n").replace("\r", "") == expected


@cpython_only
def test_control_keys_on_a_terminal(new_terminal):
    """Ctrl-C drops a line and stays, an error stays, Ctrl-D leaves with status 0."""
    terminal = new_terminal()
    terminal.read_until("[tick 0] > ")
    terminal.type("tick 5")
    terminal.read_until("tick 5")
    terminal.interrupt_until("(Ctrl-D or 'quit' leaves)")
    terminal.read_until("[tick 0] > ")
    terminal.type("tick abc\n")
    assert "error: tick takes a whole number, got abc" in terminal.read_until("[tick 0] > ")
    terminal.type("\x04")
    assert terminal.close() == 0


@cpython_only
def test_line_editing_on_a_terminal(new_terminal):
    """Tab completes commands and keys, the up arrow brings the last line back."""
    pytest.importorskip("readline", reason="this Python has no readline")
    terminal = new_terminal(TERM="xterm")
    terminal.read_until("[tick 0] > ")
    terminal.type("store meeting Standup\n")
    terminal.read_until("[tick 0] > ")
    terminal.type("rec\tmee\t\n")
    assert "accesses=1" in terminal.read_until("[tick 0] > ")
    terminal.type("\x1b[A\n")
    assert "accesses=2" in terminal.read_until("[tick 0] > ")
    terminal.type("quit\n")
    assert terminal.close() == 0


def test_colours_only_where_wanted(new_terminal):
    """A terminal gets colours, unless NO_COLOR is set or it is dumb."""
    for changes, coloured in [({"NO_COLOR": ""}, True), ({}, False), ({"TERM": "dumb"}, False)]:
        terminal = new_terminal(**{"TERM": "xterm", **changes})
        terminal.read_until("[tick 0] ")
        terminal.type("store k v\nlist\nquit\n")
        assert terminal.close() == 0
        assert ("\x1b[32m####" in terminal.seen) is coloured
    assert "\x1b" not in piped("store k v\nlist\n", TERM="xterm")[1]


def test_errors_in_a_file_have_no_colours(new_terminal, tmp_path):
    """With its errors sent to a file, a coloured session writes plain text there."""
    with (tmp_path / "errors").open("w+b") as errors:
        terminal = new_terminal(stderr=errors, TERM="xterm", NO_COLOR="")
        terminal.read_until("[tick 0] ")
        terminal.type("recal k\nquit\n")
        assert terminal.close() == 0
        errors.seek(0)
        assert errors.read() == b"error: unknown command recal, did you mean recall?\n"


def test_lists_fit_the_terminal(new_terminal):
    """On a terminal of 80 columns no line of a list is longer, whatever the content."""
    terminal = new_terminal(TERM="xterm", COLUMNS="80")
    terminal.read_until("[tick 0] > ")
    terminal.type("store k " + "日本語 words 🙂 " * 10 + "--tags a,b\n")
    terminal.read_until("[tick 0] > ")
    terminal.type("list\n")
    shown = terminal.read_until("[tick 0] > ").replace("\r", "").split("\n")
    content = next(line for line in shown if line.startswith("  k: '日本語 words"))
    assert content.endswith("…")
    assert fitted(content, 80, "…") == content
    assert max(map(len, shown)) <= 80
    terminal.type("quit\n")
    assert terminal.close() == 0


def test_a_session_with_a_file_says_where(new_terminal, tmp_path):
    """With --db the banner names the file, and the next session goes on with it."""
    path = tmp_path / "agent.db"
    for before, after in [(0, 3), (3, 6)]:
        terminal = new_terminal("--db", path)
        assert f"Kept in {path}\r\n" in terminal.read_until(f"[tick {before}] > ")
        terminal.type("tick 3\n")
        terminal.read_until(f"[tick {after}] > ")
        terminal.type("\x04")
        assert terminal.close() == 0
