"""The checkout: its folders, how commands are run in it, and how work already done is recognised."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ROOT = Path(__file__).resolve().parent.parent.parent
TOOLS = ROOT / ".tools"  # all that is downloaded or installed; safe to delete
DIST = ROOT / "dist"
PYTHON_ROOT = ROOT / "python"
STAGED = PYTHON_ROOT / "src" / "recolva" / "_native"


class CommandError(Exception):
    """A command failed; the text holds the command and the end of what it printed."""


def run(command: Sequence[str | Path], *, environment: Mapping[str, str] | None = None, folder: Path = ROOT) -> str:
    """Run a command quietly and return what it printed; raise CommandError where it fails."""
    words = [str(word) for word in command]
    try:
        result = subprocess.run(
            words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
    except OSError as error:
        msg = f"{words[0]} can't be run: {error}"
        raise CommandError(msg) from None
    printed = result.stdout.decode("utf-8", "replace")
    if result.returncode:
        tail = "\n".join(printed.strip().splitlines()[-40:])
        msg = f"{' '.join(words)} failed with status {result.returncode}:\n{tail}"
        raise CommandError(msg)
    return printed


def say(text: str) -> None:
    """Tell the person at the terminal what takes time now."""
    print(f"recolva: {text}", file=sys.stderr, flush=True)


def bin_folder(venv: Path) -> Path:
    """Return the folder of a virtual environment that holds its programs."""
    return venv / ("Scripts" if os.name == "nt" else "bin")


def venv_python(venv: Path) -> Path:
    """Return the Python of a virtual environment."""
    return bin_folder(venv) / ("python.exe" if os.name == "nt" else "python")


def make_venv(venv: Path) -> Path:
    """Create a virtual environment with pip where there is none, and return its Python."""
    python = venv_python(venv)
    if not python.exists():
        run([sys.executable, "-m", "venv", "--clear", venv])
    return python


def digest_files(files: Iterable[Path], *more: str) -> str:
    """Return one digest of the files' names and bytes and some further words."""
    total = hashlib.sha256()
    for path in sorted(files):
        total.update(f"{path.relative_to(ROOT).as_posix()}\0".encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    for word in more:
        total.update(f"{word}\0".encode())
    return total.hexdigest()


class Stamp:
    """Remembers from which inputs something was made, so that it is not made again from the same."""

    def __init__(self, file: Path, digest: str) -> None:
        self.file = file
        self.digest = digest

    def fresh(self) -> bool:
        """Tell whether the last completed work was done from the same inputs."""
        return self.file.is_file() and self.file.read_text(encoding="utf-8") == self.digest

    def done(self) -> None:
        """Note that the work is complete."""
        self.file.write_text(self.digest, encoding="utf-8")
