"""scripts/stage_native.py: nothing but recolva's own library is ever staged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts" / "stage_native.py"
STAGED = ROOT / "python" / "src" / "recolva" / "_native"
LIBRARY = next((path for path in STAGED.glob("*recolva.*") if path.suffix in {".so", ".dylib", ".dll"}), None)


def stage(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], capture_output=True, text=True, check=False)


def test_help_shows_the_documented_command():
    """--help is enough to use the script."""
    result = stage("--help")
    assert result.returncode == 0
    assert "--source dist/librecolva.so --target-directory python/src/recolva/_native" in result.stdout


def test_missing_flags_are_misuse():
    """Both paths must be given."""
    result = stage("--source", "x")
    assert result.returncode == 2
    assert "--target-directory" in result.stderr


REFUSED = [
    (None, "is not a file"),
    (b"", r"is not a compiled library or program (0 bytes)"),
    (b"\x7fELF\x02\x01", "is damaged or of an unknown machine"),
]


@pytest.mark.parametrize(("data", "text"), REFUSED, ids=["missing", "empty", "cut"])
def test_what_is_no_library_is_refused_and_nothing_appears(tmp_path: Path, data: bytes | None, text: str):
    """The error is one line with the reason, and the target folder is not even made."""
    source = tmp_path / "librecolva.so"
    if data is not None:
        source.write_bytes(data)
    result = stage("--source", source, "--target-directory", tmp_path / "target")
    assert result.returncode == 1
    assert result.stdout == ""
    assert text in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "target").exists()


def test_a_foreign_program_is_refused(tmp_path: Path):
    """A compiled file that does not export recolva's functions is not staged, and the first missing one is named."""
    result = stage("--source", os.path.realpath(sys.executable), "--target-directory", tmp_path / "target")
    assert result.returncode == 1
    assert "does not export DecayScoreExponential" in result.stderr


@pytest.mark.skipif(LIBRARY is None, reason="no library is staged")
class TestWithALibrary:
    """What happens to the real library."""

    def test_it_is_copied_whole_and_executable(self, tmp_path: Path):
        """The staged file has the same bytes, and no temporary file stays beside it."""
        result = stage("--source", LIBRARY, "--target-directory", tmp_path / "target")
        assert result.returncode == 0, result.stderr
        (copy,) = (tmp_path / "target").iterdir()
        assert copy.read_bytes() == LIBRARY.read_bytes()
        assert os.access(copy, os.X_OK)

    def test_a_library_that_does_not_load_is_refused(self, tmp_path: Path):
        """A library whose code is cut off has all names and all headers, but is of no use."""
        data = LIBRARY.read_bytes()
        source = tmp_path / LIBRARY.name
        source.write_bytes(data[: len(data) // 2] + b"".join(name.encode() + b"\0" for name in exports()))
        result = stage("--source", source, "--target-directory", tmp_path / "target")
        assert result.returncode == 1
        assert "does not load" in result.stderr or "is damaged" in result.stderr

    def test_an_older_program_does_not_stay_beside_a_new_library(self, tmp_path: Path):
        """What is staged together goes into one wheel, so leftovers are removed."""
        target = tmp_path / "target"
        (target / "bin").mkdir(parents=True)
        (target / "bin" / "decay-sweep").write_bytes(b"old")
        (target / "recolva.dll").write_bytes(b"old")
        assert stage("--source", LIBRARY, "--target-directory", target).returncode == 0
        assert [path.name for path in target.iterdir()] == [LIBRARY.name]

    def test_a_program_of_another_machine_is_refused(self, tmp_path: Path):
        """The program must be for the library's system and machine."""
        program = tmp_path / "decay-sweep.exe"
        program.write_bytes(b"MZ" + bytes(58) + (64).to_bytes(4, "little") + b"PE\0\0\x64\xaa")
        result = stage("--source", LIBRARY, "--program", program, "--target-directory", tmp_path / "target")
        assert result.returncode == 1
        assert "is for windows/arm64" in result.stderr


def exports() -> list[str]:
    """Return the functions that native/recolva.h declares."""
    header = (ROOT / "native" / "recolva.h").read_text(encoding="utf-8")
    return [word for line in header.splitlines() if "int32_t " in line for word in _function_names(line)]


def _function_names(line: str) -> list[str]:
    name = line.partition("int32_t ")[2].partition("(")
    return [name[0].strip()] if name[1] and name[0].strip().isidentifier() else []


def test_the_script_asks_for_every_function_of_the_header():
    """The list in the script is the header's, so that a half-built library is not staged."""
    listed = SCRIPT.read_text(encoding="utf-8").partition("EXPORTS = (")[2].partition(")")[0]
    names = sorted(name.strip().strip('"') for name in listed.split(",") if name.strip())
    assert names == sorted(set(exports()))
