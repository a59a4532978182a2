"""The REPL: the documented session, wrong input, pipes and terminals."""

from __future__ import annotations

import io
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memoryhalflife import MemoryEngine, cli
from memoryhalflife._commands import COMMANDS, Session
from memoryhalflife._lines import bar, shown_key, split_key

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "ticks.md"
COMMAND = [sys.executable, "-m", "memoryhalflife.cli"]
cpython_only = pytest.mark.skipif(
    sys.implementation.name != "cpython", reason="the JSON texts and the line editing of CPython's library"
)


def consoles():
    """Return the console sessions that the guide shows."""
    return re.findall(r"```console \w+\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


def environment(**changes):
    path = os.pathsep.join(path for path in sys.path if path)
    return {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", "TERM": "dumb", **changes}


def piped(text, *arguments, **changes):
    """Run the program on commands from a pipe; return status, output, errors."""
    data = text if isinstance(text, bytes) else text.encode()
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        input=data,
        capture_output=True,
        env=environment(**changes),
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def run(monkeypatch, capsys):
    """Return a function that runs the program in this process, which is quick."""

    def call(text, *arguments):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        status = cli.main(list(map(str, arguments)))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def test_the_documented_session_in_a_pipe(run):
    """Without a terminal the session of the guide gives the same answers, and no prompt."""
    lines = consoles()[0].splitlines()
    commands = [line.split("> ", 1)[1] for line in lines if line.startswith("[tick ")]
    answers = [line for line in lines[2:] if line and not line.startswith("[tick ")]
    assert len(commands) == 8
    status, out, err = run("\n".join(commands) + "\n")
    assert (status, err) == (0, "")
    assert out.splitlines() == answers


def test_the_documented_pipe():
    """The shell line of the guide prints what stands below it."""
    first, *answers = consoles()[1].splitlines()
    commands = re.fullmatch(r"\$ printf '(.*)' \| memory-half-life", first)[1].replace("\\n", "\n")
    assert piped(commands) == (0, "".join(line + "\n" for line in answers), "")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("tick abc", "tick takes a whole number, got abc"),
        ("tick 1.5", "tick takes a whole number, got 1.5"),
        ("tick -3", "n must be between 0 and 9007199254740991, got -3"),
        ("tick 99999999999999999999", "n must be between 0 and 9007199254740991, got 99999999999999999999"),
        ("tick 1 2", 'tick takes a whole number, got "1 2"'),
        ("peek user name", 'peek takes one key; quote a key with blanks: peek "user name"'),
        ("recall", "recall needs a key: recall KEY"),
        ("recall ''", "key must not be empty"),
        ('recall "a', 'a key that starts with " must end with one'),
        ("recall 'a", "a key that starts with ' must end with one"),
        ('recall "a"b', "a blank must follow the key a"),
        ("store", f"store needs a key and a content: {COMMANDS['store'].usage}"),
        ("store k", f"store needs a key and a content: {COMMANDS['store'].usage}"),
        ("store k v --half-life 0", "half_life must be between 1 and 1000000000, got 0"),
        ("store k v --half-life x", "--half-life takes a whole number, got x"),
        ("store k --half-life", "--half-life needs a value: --half-life N"),
        ("store k v --threshold=2", "threshold must be greater than 0 and less than 1, got 2"),
        ("store k v --threshold nan", "threshold must be greater than 0 and less than 1, got NaN"),
        (
            "store k --colour red v",
            "unknown option --colour (known: --half-life, --tags, --threshold, --json; put -- before text that starts so)",
        ),
        pytest.param(
            "store k {1} --json",
            "--json takes a JSON value: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
            marks=cpython_only,
        ),
        ("fading much", "fading takes a number, got much"),
        ("fading 2", "threshold must be between 0 and 1, got 2"),
        ("entropy now", "entropy takes nothing after it, got now"),
        ("remember x", "unknown command remember (type 'help' for the commands)"),
        ("help me", "unknown command me (type 'help' for the commands)"),
        ("store k v --tags", "--tags needs a value: --tags a,b"),
        ("store k --json=5 6", "--json takes no value, got --json=5"),
        ("store k --half-life 5 v --half-life=6", "--half-life is given twice"),
        (
            "store k --\x1b[31mred v",
            "unknown option --\\u001b[31mred (known: --half-life, --tags, --threshold, --json; put -- before text that starts so)",
        ),
        (
            "recall a\x9b31m \u202eb\x7f",
            'recall takes one key; quote a key with blanks: recall "a\\u009b31m \\u202eb\\u007f"',
        ),
        ("x" * 1000, f"unknown command {'x' * 376}..."),
        ("\x1b[2J", "unknown command \"\\u001b[2J\" (type 'help' for the commands)"),
    ],
)
def test_wrong_input_gives_one_line_and_goes_on(run, line, text):
    """A wrong line is answered with one helpful line; the next commands run; the status is 1."""
    status, out, err = run(f"store k old\n{line}\ntick\n")
    assert err == f"error: line 2: {text}\n"
    assert out.splitlines()[-1] == "Advanced 1 tick(s) → now at tick 1"
    assert status == 1


def answer(session, line):
    return session.run(line)


def test_store_takes_options_at_both_ends():
    """Options stand before or after the content, whose blanks and quotes are kept."""
    session = Session(MemoryEngine())
    for line, content, half_life, tags in [
        ("store k It's  sunny, isn't it", "It's  sunny, isn't it", 10, ()),
        ("store k text --half-life 3 --tags a,b", "text", 3, ("a", "b")),
        ("store k --tags=b, --half-life=4 text", "text", 4, ("b",)),
        ("store k -- --half-life 3", "--half-life 3", 10, ()),
        ("store k use --force --tags x", "use --force", 10, ("x",)),
        ('store k "  quoted "', "  quoted ", 10, ()),
        ('store k ""', "", 10, ()),
        ('store k {"a": [1, null]} --json', {"a": [1, None]}, 10, ()),
        ("STORE k --json --half-life 2 7", 7, 2, ()),
        ("store\tk\ttabbed", "tabbed", 10, ()),
    ]:
        session.run(line)
        memory = session.engine.peek("k")
        assert (memory.content, memory.half_life, memory.tags) == (content, half_life, tags), line


@pytest.mark.parametrize(
    "key", ["a", "user name", 'say "hi"', "it's", "日本", "a\nb", "\x1b[31m", "\u202e", "\u00a0", "\\"]
)
def test_keys_are_shown_as_they_can_be_typed(key):
    """What is shown for a key is one line, printable, and read back as the key."""
    shown = shown_key(key)
    assert shown.isprintable()
    assert split_key(shown) == (key, "")


def test_nothing_unprintable_is_shown():
    """Neither keys, tags nor contents can send codes to the terminal."""
    session = Session(MemoryEngine(grace_ticks=5))
    session.engine.store("\x1b[2J", "\x1b[31m\u202e", tags=["\x07"])
    session.engine.store("k", ["\x1b[31m", "\u202e"])
    texts = [
        session.run(line) for line in ("list", "tick 50", "expired", "grace", 'revive "\x1b[2J"', 'forget "\x1b[2J"')
    ]
    session.engine.tick(33)
    texts.append(session.run("grace"))
    assert all(line.isprintable() for text in texts for line in text.split("\n"))


def test_the_other_commands():
    """Each command answers in its words, also when there is nothing to show."""
    session = Session(MemoryEngine(default_half_life=1, default_threshold=0.25, grace_ticks=3))
    block = "  k: 'v'\n    confidence=[{}] {}%  half_life=1  accesses={}  tags=t"
    for line, text in [
        ("", ""),
        ("  # a comment", ""),
        ("list", "No memories."),
        ("fading", "Nothing is below 50%."),
        ("grace", "Nothing is in its grace."),
        ("expired", "Nothing expired in the last tick."),
        ("recall k", "No memory: k"),
        ("peek k", "No memory: k"),
        ("revive k", "Nothing to revive: k"),
        ("forget k", "No memory: k"),
        ("store k v --tags t", "Stored: k (half_life=1, ttl=2)"),
        ("tick", "Advanced 1 tick(s) → now at tick 1"),
        ("peek k", block.format("#" * 10 + "." * 10, "50.0", 0)),
        ("fading 60%", "1 fading (below 60%):\n" + block.format("#" * 10 + "." * 10, "50.0", 0)),
        ("list t", "1 memories:\n" + block.format("#" * 10 + "." * 10, "50.0", 0)),
        ("list u", "No memories with the tag u."),
        ("entropy", "entropy=0.500  pressure=0.500  mass=1\nliving=1  fading=0  expired=0  forgotten=0"),
        ("tick 1", "Advanced 1 tick(s) → now at tick 2"),
        ("expired", "Expired in the last tick:\n  k (at tick 2)"),
        ("grace", "1 in grace:\n  k: 'v'\n    expired at tick 2, gone at tick 5"),
        ("revive k", "Revived:\n" + block.format("#" * 20, "100.0", 0)),
        ("recall k", "Recalled (refreshed):\n" + block.format("#" * 20, "100.0", 1)),
        ("forget k", "Forgotten: k"),
        ("help tick", "tick [N]\n  let N ticks pass (1 if N is left out)"),
    ]:
        assert session.run(line) == text, line
    assert session.run("quit") is session.run("exit") is None
    assert Session(MemoryEngine()).run("grace").startswith("No grace:")


def test_help_names_every_command():
    """Help shows each command and fits 80 columns."""
    text = Session(MemoryEngine()).run("help")
    for command in COMMANDS.values():
        assert command.usage in text
        assert command.help in text
    assert max(map(len, text.split("\n"))) <= 80


def test_the_bar_is_the_floor():
    """floor(20 * confidence) marks: seven for 35.4 %, all only for certainty."""
    assert bar(0.5**1.5) == "#" * 7 + "." * 13
    assert bar(1.0) == "#" * 20
    assert bar(1.0 - 2**-53) == "#" * 19 + "."
    assert bar(0.0) == "." * 20


def test_a_file_is_kept_between_runs(tmp_path):
    """With --db the second run knows what the first stored; other defaults are an error."""
    path = tmp_path / "agent.db"
    assert piped("store k v\ntick 3\n", "--db", path, "--half-life", 20, "--grace", 2)[0] == 0
    status, out, _ = piped("list\n", "--db", path)
    assert (status, out.splitlines()[1]) == (0, "  k: 'v'")
    assert "half_life=20" in out
    status, out, err = piped("list\n", "--db", path, "--half-life", 10)
    assert (status, out) == (2, "")
    assert err == f"memory-half-life: error: default_half_life must be 20 as in {path}, got 10\n"


def test_a_foreign_file_is_refused(tmp_path):
    """A file that is no database is refused in one line, status 1."""
    path = tmp_path / "notes.txt"
    path.write_text("notes\n" * 100)
    status, out, err = piped("list\n", "--db", path)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"memory-half-life: error: {path} is not a database of memories")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--half-life", "0"], "default_half_life must be between 1 and 1000000000, got 0"),
        (["--threshold", "1"], "default_threshold must be greater than 0 and less than 1, got 1"),
        (["--half-life", "x"], "argument --half-life: invalid int value: 'x'"),
        (["--half", "3"], "unrecognized arguments: --half 3"),
        (["extra"], "unrecognized arguments: extra"),
    ],
)
def test_misuse_is_status_2(arguments, text):
    """Bad arguments are refused before anything is read."""
    status, out, err = piped("list\n", *arguments)
    assert (status, out) == (2, "")
    assert err.rstrip().endswith(text)


def test_help_of_the_program():
    """--help teaches by examples, on stdout, status 0."""
    status, out, err = piped("", "--help")
    assert (status, err) == (0, "")
    assert "memory-half-life --db agent.db --half-life 20" in out
    assert "exit status:" in out


def test_bytes_that_are_no_text():
    """A line that is not UTF-8 is an error like others; the session goes on."""
    status, out, err = piped(b"store caf\xe9 x\nstore caf\xc3\xa9 x\n")
    assert (status, out) == (1, "Stored: café (half_life=10, ttl=34)\n")
    assert err == 'error: line 1: key must not contain a lone surrogate, got "caf\\udce9"\n'


def test_an_ascii_terminal_gets_an_arrow():
    """Where the output can't show an arrow, it is written ->, and other text is escaped."""
    status, out, _ = piped('store k "caf\\u00e9" --json\ntick\npeek k\n', PYTHONIOENCODING="ascii")
    assert (status, out.splitlines()[1]) == (0, "Advanced 1 tick(s) -> now at tick 1")
    assert "caf\\xe9" in out


def test_options_may_stand_between_any_blanks(run):
    """Tabs part options as spaces do; the content keeps its own blanks."""
    status, out, err = run("store k\t--half-life\t5\ta\tb  c --tags\tt\npeek k\n")
    assert (status, err) == (0, "")
    assert "k: 'a\\tb  c'" in out
    assert "half_life=5  accesses=0  tags=t" in out


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell closes the streams")
@pytest.mark.parametrize(
    ("streams", "status", "err"),
    [
        ("<&-", 0, b""),
        ("</dev/null >&-", 0, b""),
        ("<<< list >&-", 0, b""),
        ("<<< lis 2>&-", 1, b""),
        ("<<< lis >&- 2>&-", 1, b""),
        ("<<< help >/dev/full", 1, b"error: can't write: [Errno 28] No space left on device\n"),
    ],
)
def test_streams_that_are_closed_or_full(streams, status, err):
    """A stream that is closed counts as empty; output that can't be written is an error in one line."""
    if "full" in streams and not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("no bash here")
    done = subprocess.run(
        [shell, "-c", f'"$0" "$@" {streams}', *COMMAND],
        stderr=subprocess.PIPE,
        env=environment(),
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (status, err)


def test_paths_are_shown_escaped(run, tmp_path):
    """A path that can't be used reaches the terminal without its control characters."""
    status, _, err = run("", "--db", tmp_path / "a\x1b[31m" / "agent.db")
    assert status == 1
    assert err.endswith("a\\u001b[31m is not a directory\n")


def test_a_prompt_survives_a_failing_engine(monkeypatch, capsys):
    """If the clock can't be read, the prompt says so and the session goes on."""

    def fail(_):
        raise OSError("the disk is gone")

    prompts = []
    monkeypatch.setattr("builtins.input", lambda prompt: prompts.append(prompt) or "help")
    monkeypatch.setattr(MemoryEngine, "now", property(fail))
    assert next(cli._typed_lines(Session(MemoryEngine()))) == "help"
    assert prompts == ["[tick ?] > "]
    assert capsys.readouterr().err == "error: the disk is gone\n"


def test_a_reader_that_leaves_is_no_error():
    """When the output is a pipe whose reader has gone, the program ends quietly."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(COMMAND, env=environment(), **pipes) as program:
        program.stdin.write(b"store k v\n")
        program.stdin.flush()
        assert program.stdout.readline() == b"Stored: k (half_life=10, ttl=34)\n"
        program.stdout.close()
        program.stdin.write(b"list\n" * 10)
        program.stdin.flush()
        assert program.stderr.read() == b""
        assert program.wait(60) == 0


pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")


class Terminal:
    """The program on a pseudo-terminal."""

    def __init__(self, *arguments, **changes):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment(**{"NO_COLOR": "1", **changes}),
            start_new_session=True,
        )
        os.close(slave)
        self.seen = self.unread = ""

    def read_until(self, text, seconds=30):
        """Read until text is on the screen after what was read before; return what is new."""
        deadline = time.monotonic() + seconds
        while text not in self.unread:
            assert time.monotonic() < deadline, f"{text!r} did not appear after {self.seen + self.unread!r}"
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.unread += os.read(self.master, 4096).decode()
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
