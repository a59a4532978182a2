"""The REPL: the documented session, wrong input, pipes and arguments."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys

import pytest

from memoryhalflife import MemoryEngine, cli
from memoryhalflife._commands import COMMANDS, Look, Session
from tests.memoryhalflife.program import COMMAND, consoles, environment, piped


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
        ("store", "store needs a key and a content: store KEY CONTENT (see 'help store')"),
        ("store k", "store needs a key and a content: store KEY CONTENT (see 'help store')"),
        ("store k v --half-life 0", "half_life must be between 1 and 1000000000, got 0"),
        ("store k v --half-life x", "--half-life takes a whole number, got x"),
        ("store k --half-life", "--half-life needs a value: --half-life N"),
        ("store k v --threshold=2", "threshold must be greater than 0 and less than 1, got 2"),
        ("store k v --threshold nan", "threshold must be greater than 0 and less than 1, got NaN"),
        (
            "store k --colour red v",
            "no option --colour: there are --half-life, --tags, --threshold, --json (or quote the content)",
        ),
        pytest.param(
            "store k {1} --json",
            "--json takes a JSON value: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
            marks=pytest.mark.skipif(sys.implementation.name != "cpython", reason="a text of CPython's json"),
        ),
        ("fading much", "fading takes a number, got much"),
        ("fading 2", "threshold must be between 0 and 1, got 2"),
        ("entropy now", "entropy takes nothing after it, got now"),
        ("remember x", "unknown command remember (type 'help' for the commands)"),
        ("help me", "unknown command me (type 'help' for the commands)"),
        ("store k v --tags", "--tags needs a value: --tags a,b"),
        ("store k --tags --json v", "--tags needs a value: --tags a,b"),
        ("store b hi --halflife 3", "no option --halflife, did you mean --half-life? (or quote the content)"),
        ("store b hi --halflife=3", "no option --halflife, did you mean --half-life? (or quote the content)"),
        ("store b hi -half-life 3", "no option -half-life, did you mean --half-life? (or quote the content)"),
        ("store b hi —tags x", "no option —tags, did you mean --tags? (or quote the content)"),
        ("store b --tag x hi", "no option --tag, did you mean --tags? (or quote the content)"),
        ('store b "hi" --tag x', "no option --tag, did you mean --tags? (or quote the content)"),
        ("store --halflife 3 b hi", "no option --halflife, did you mean --half-life? (or quote the content)"),
        ("store b hi --tags x there", "--tags must stand before or after the content (or quote the content)"),
        ("store b {} --jso --json", "no option --jso, did you mean --json? (or quote the content)"),
        ("recall --json b", "recall has no option --json (quote a key that starts so)"),
        ("list --tag x", "list has no option --tag (quote a tag that starts so)"),
        ("list a b", 'list takes one tag; quote a tag with blanks: list "a b"'),
        ("sotre b hi", "unknown command sotre, did you mean store?"),
        ("help recal", "unknown command recal, did you mean recall?"),
        ("store k --json=5 6", "--json takes no value, got --json=5"),
        ("store k --half-life 5 v --half-life=6", "--half-life is given twice"),
        (
            "store k --r\x1b[31med v",
            "no option --r\\u001b[31med: there are --half-life, --tags, --threshold, --json (or quote the content)",
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


def test_the_other_commands():
    """Each command answers in its words, also when there is nothing to show."""
    session = Session(MemoryEngine(default_half_life=1, default_threshold=0.25, grace_ticks=3))
    block = "  k: 'v'\n    confidence=[{}] {}%  half_life=1  accesses={}\n    tags=t"
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
        ("help STORE", "\n  ".join([COMMANDS["store"].usage, COMMANDS["store"].help, *COMMANDS["store"].more])),
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
    text += "\n" + Session(MemoryEngine()).run("help store")
    assert max(map(len, text.split("\n"))) <= 80


def test_lists_show_one_line_of_each_content_on_a_terminal():
    """A list and a grace cut long contents to the width of the terminal; recall and peek show them whole."""
    session = Session(MemoryEngine(default_half_life=1, grace_ticks=9), Look(columns=lambda: 40, dots="..."))
    session.engine.store("long", "x" * 10_000)
    session.engine.store("key " * 20, [1, 2])
    cut = "  long: '" + "x" * 28 + "..."
    assert len(cut) == 40
    session.run("tick")
    assert cut in session.run("list").split("\n")
    assert cut in session.run("fading 60%").split("\n")
    assert "x" * 10_000 in session.run("peek long")
    assert "x" * 10_000 in session.run("recall long")
    session.run("tick 5")
    assert cut in session.run("grace").split("\n")


def test_the_version_can_be_asked_for():
    """--version names the program's version and those of Python and SQLite below it."""
    status, out, err = piped("", "--version")
    assert (status, err) == (0, "")
    assert re.fullmatch(r"memory-half-life \S+ \(Python \S+, SQLite [\d.]+\)\n", out)


def test_a_file_is_kept_between_runs(tmp_path):
    """With --db the second run knows what the first stored; other defaults are an error."""
    path = tmp_path / "agent.db"
    assert piped("store k v\ntick 3\n", "--db", path, "--half-life", 20, "--grace", 2)[0] == 0
    status, out, _ = piped("list\n", "--db", path)
    assert (status, out.splitlines()[1]) == (0, "  k: 'v'")
    assert "half_life=20" in out
    status, out, err = piped("list\n", "--db", path, "--half-life", 10)
    assert (status, out) == (2, "")
    assert err == f"memory-half-life: error: --half-life must be 20 as in {path}, got 10\n"


def test_an_interrupt_before_the_first_line(monkeypatch, run):
    """Ctrl-C while the file is being opened ends the program quietly, with status 130."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(MemoryEngine, "open", interrupted)
    assert run("list\n", "--db", "agent.db") == (130, "", "")


def test_a_directory_is_refused(tmp_path):
    """A directory in place of a file is refused in one line, status 1."""
    assert piped("list\n", "--db", tmp_path) == (1, "", f"memory-half-life: error: {tmp_path} is not a regular file\n")


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
        (["--half-life", "0"], "error: --half-life must be between 1 and 1000000000, got 0"),
        (["--db", ""], "error: --db must name a file, got '' (MemoryEngine() is kept in memory)"),
        (["--threshold", "1"], "error: --threshold must be greater than 0 and less than 1, got 1"),
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
    assert max(map(len, out.split("\n"))) <= 88


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
    assert "half_life=5  accesses=0\n    tags=t\n" in out


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
