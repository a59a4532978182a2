"""scripts/install_native puts everything where other languages' tools look for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recolva._native import library_path

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "install_native"
VERSION = (ROOT / "internal" / "version" / "VERSION").read_text(encoding="ascii").strip()
PROGRAM = "#!/bin/sh\n[ $# = 0 ] || echo made for $*\n"

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the paths are those of Linux"),
    pytest.mark.skipif(not library_path().is_file(), reason="no native library is staged: scripts/stage_native.py"),
]


def run(*command, status=0, **environment):
    """Run a command and return what it printed."""
    variables = {**os.environ, **environment}
    result = subprocess.run(
        [str(word) for word in command], env=variables, capture_output=True, text=True, check=False, timeout=300
    )
    assert result.returncode == status, result.stdout + result.stderr
    return result.stderr if status else result.stdout


@pytest.fixture
def built(tmp_path):
    """Return the options that name a built library and a program."""
    program = tmp_path / "program"
    program.write_text(PROGRAM, encoding="ascii")
    program.chmod(0o755)
    return ["--library", library_path(), "--program", program]


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


INSTALLED = [
    "bin/decay-sweep",
    "include/recolva.h",
    "lib/librecolva.so",
    "lib/pkgconfig/recolva.pc",
    "share/bash-completion/completions/decay-sweep",
    "share/fish/vendor_completions.d/decay-sweep.fish",
    "share/man/man1/decay-sweep.1",
    "share/zsh/site-functions/_decay-sweep",
]


def test_a_prefix(tmp_path, built):
    """Library, header, pc file, program, man page and completions stand where they belong."""
    prefix = tmp_path / "a place & more"
    printed = run(SCRIPT, f"--prefix={prefix}", *built).splitlines()
    assert files(prefix) == INSTALLED
    assert sorted(printed) == [str(prefix / name) for name in INSTALLED]
    assert (prefix / "share/man/man1/decay-sweep.1").read_text() == "made for man\n"
    assert (prefix / "share/zsh/site-functions/_decay-sweep").read_text() == "made for completion zsh\n"
    assert (prefix / "lib/librecolva.so").read_bytes() == library_path().read_bytes()
    assert os.access(prefix / "bin/decay-sweep", os.X_OK)


def test_a_destination(tmp_path, built):
    """DESTDIR is where files are written, not what recolva.pc says."""
    run(SCRIPT, "--prefix", "/usr", "--libdir", "/usr/lib64", *built, DESTDIR=str(tmp_path / "image"))
    lines = (tmp_path / "image/usr/lib64/pkgconfig/recolva.pc").read_text().splitlines()
    assert lines[:3] == ["prefix=/usr", "libdir=/usr/lib64", "includedir=${prefix}/include"]
    assert f"Version: {VERSION}" in lines
    assert (tmp_path / "image/usr/lib64/librecolva.so").is_file()


def test_a_program_without_man_page(tmp_path):
    """What the program cannot print is not installed, and no empty file stands for it."""
    run(SCRIPT, "--prefix", tmp_path / "p", "--library", library_path(), "--program", shutil.which("false"))
    assert files(tmp_path / "p") == INSTALLED[:4]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--prefix", "here"], "here must be an absolute path"),
        (["--prefix"], "--prefix needs a value"),
        (["--nope"], "unknown option --nope (try --help)"),
    ],
)
def test_misuse(options, text):
    """A wrong option installs nothing, says so and exits 2."""
    assert run(SCRIPT, *options, status=2) == f"install_native: error: {text}\n"


def test_a_missing_library():
    """A file that is not there is an error."""
    assert "/nowhere/x.so: no such file" in run(SCRIPT, "--library", "/nowhere/x.so", status=1)


def test_help():
    """--help prints the options and an example."""
    assert "--prefix DIR" in run(SCRIPT, "--help")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.skipif(shutil.which("pkg-config") is None, reason="no pkg-config")
@pytest.mark.skipif(shutil.which("go") is None, reason="no go, which builds what is installed")
def test_a_program_built_against_the_installed_tree(tmp_path):
    """A C program finds what it needs by pkg-config alone, and runs."""
    prefix, client = tmp_path / "prefix", tmp_path / "client"
    run(SCRIPT, "--prefix", prefix)
    assert files(prefix) == INSTALLED
    search = {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    assert run("pkg-config", "--modversion", "recolva", **search) == f"{VERSION}\n"
    options = run("pkg-config", "--cflags", "--libs", "recolva", **search).split()
    run("gcc", ROOT / "native/examples/c/client.c", *options, "-o", client)
    store = tmp_path / "store.jsonl"
    store.write_text('{"id":"a","last_accessed_ms":1000000,"importance":0.5}\n', encoding="ascii")
    printed = run(client, store, LD_LIBRARY_PATH=str(prefix / "lib"))
    assert printed.endswith("\na\t3fd0000000000000\t1\n1 memories, 0 blank lines\n")
    assert VERSION in run(prefix / "bin/decay-sweep", "--version")
