"""The digest of 200,000 scores is that of every other build."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recolva import _selftest
from recolva.__main__ import main

SOURCE = str(Path(__file__).parents[1] / "src")


@pytest.mark.usefixtures("backend")
def test_the_digest(conformance):
    """Either backend computes the digest that the Go package computes."""
    expected = (conformance / "models" / "selftest.txt").read_text(encoding="ascii").strip()
    assert _selftest.digest() == expected


def test_the_generator():
    """Splitmix64 gives the words of its published form from the state 1234567."""
    words = _selftest._splitmix64(1234567)
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [next(words) for _ in expected] == expected


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "recolva", *arguments],
        env={**os.environ, "PYTHONPATH": SOURCE, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_command(conformance):
    """The digest is all that is printed; standard error says which backend computed it."""
    done = run("selftest", RECOLVA_NATIVE="0")
    assert done.returncode == 0
    assert done.stdout == (conformance / "models" / "selftest.txt").read_text(encoding="ascii")
    assert done.stderr == "pure (RECOLVA_NATIVE=0)\n"


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["selftest", "more"]])
def test_misuse(arguments, capsys):
    """Anything else prints the usage and exits 2."""
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("usage: python -m recolva selftest\n")


def test_help(capsys):
    """--help prints the usage and exits 0."""
    assert main(["--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: python -m recolva selftest\n")


def test_a_wish_that_is_none(monkeypatch, fresh_backend, capsys):
    """A wrong environment is an error without stack trace."""
    monkeypatch.setenv("RECOLVA_NATIVE", "yes")
    assert main(["selftest"]) == 1
    assert capsys.readouterr().err == 'recolva: error: RECOLVA_NATIVE must be 0 or 1, got "yes"\n'
    assert fresh_backend._state is None
