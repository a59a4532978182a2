"""The program memory-half-life, run in its own process, and the sessions that its guide shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "ticks.md"
COMMAND = [sys.executable, "-m", "memoryhalflife.cli"]


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
