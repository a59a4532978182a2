"""Lines of the REPL: how they are taken apart, and how keys and contents are shown."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memoryhalflife import MemoryEngine, cli
from memoryhalflife._commands import COMMANDS, STORE_OPTIONS, Session
from memoryhalflife._lines import bar, fitted, shown_key, split_key

ODD = ["k", "v", "5", "50%", "--", "---", "'", '"', "''", "a b", "[1]", "NaN", "1e999", "é", "\t", "\x1b", "#"]
ODD += ["--x", "--json=1", "--half-life=3", "-tags", "—json", '"a', 'a"', '"a b"', "\ud800", "9" * 5000, "[" * 2000]
WORDS = st.sampled_from([*ODD, *COMMANDS, *STORE_OPTIONS])


@given(st.lists(WORDS | st.text(max_size=8), max_size=8), st.sampled_from([" ", "  ", "\t"]))
@example(["store", "k", "NaN", "--json"], " ")
@example(["store", "k", "[" * 100_000, "--json"], " ")
def test_no_line_ends_the_session(words, blank):
    """Whatever is typed, the answer is a text, a goodbye, or an error that the REPL shows."""
    session = Session(MemoryEngine(grace_ticks=3))
    session.run("store k v")
    line = blank.join(words)
    answer = cli._answer(session, line)
    assert isinstance(answer, (str, Exception)) or line.split()[0].lower() in {"quit", "exit"}


@given(st.text(min_size=1).map(str.strip).filter(bool))
@example("--half-life 3")
@example('"a')
def test_any_text_can_be_stored_after_two_dashes(text):
    """After -- the rest of the line is the content, as it is."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    session = Session(MemoryEngine())
    session.run(f"store k -- {text}")
    assert session.engine.peek("k").content == text


@given(st.text(min_size=1))
def test_any_key_is_shown_as_it_can_be_typed(key):
    """What is shown for a key is printable, and is that key for every command."""
    try:
        key.encode()
    except UnicodeEncodeError:
        return
    shown = shown_key(key)
    assert shown.isprintable()
    session = Session(MemoryEngine())
    session.run(f"store {shown} text")
    assert session.engine.peek(key).content == "text"
    assert session.run(f"forget {shown}") == f"Forgotten: {shown}"


def test_store_takes_options_at_both_ends():
    """Options stand before or after the content, whose blanks and quotes are kept."""
    session = Session(MemoryEngine())
    for line, content, half_life, tags in [
        ("store k It's  sunny, isn't it", "It's  sunny, isn't it", 10, ()),
        ("store k text --half-life 3 --tags a,b", "text", 3, ("a", "b")),
        ("store k --tags=b, --half-life=4 text", "text", 4, ("b",)),
        ("store k -- --half-life 3", "--half-life 3", 10, ()),
        ('store k "use --force" --tags x', "use --force", 10, ("x",)),
        ("store k 'use --half-life 3' --tags x", "use --half-life 3", 10, ("x",)),
        ("store k --tags x -- use --force", "use --force", 10, ("x",)),
        ("store --half-life 3 k v", "v", 3, ()),
        ("store -- k 'v' --json", "'v' --json", 10, ()),
        ("store k a --> b -- c --- 1--2 --5", "a --> b -- c --- 1--2 --5", 10, ()),
        ('store k "a" and "b"', '"a" and "b"', 10, ()),
        ("store k 'tis the season", "'tis the season", 10, ()),
        ('store k "C:\\dir\\"', "C:\\dir\\", 10, ()),
        ('store k "a \\" --x" --json', 'a " --x', 10, ()),
        ('store k ["--x"] --json', ["--x"], 10, ()),
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
    "key", ["a", "--a", "--", "user name", 'say "hi"', "it's", "日本", "a\nb", "\x1b[31m", "\u202e", "\u00a0", "\\"]
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


def test_the_bar_is_the_floor():
    """floor(20 * confidence) marks: seven for 35.4 %, all only for certainty."""
    assert bar(0.5**1.5) == "#" * 7 + "." * 13
    assert bar(1.0) == "#" * 20
    assert bar(1.0 - 2**-53) == "#" * 19 + "."
    assert bar(0.0) == "." * 20


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abcde…"),
        ("日本語", 6, "日本語"),
        ("日本語x", 6, "日本…"),
        ("cafe\u0301cafe\u0301", 8, "cafe\u0301cafe\u0301"),
        ("🙂🙂🙂🙂", 6, "🙂🙂…"),
        ("", 6, ""),
    ],
)
def test_a_text_is_cut_to_the_columns_it_takes(text, columns, shown):
    """Wide characters take two columns and combining ones none; what is cut ends in dots."""
    assert fitted(text, columns, "…") == shown
