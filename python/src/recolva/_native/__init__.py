"""Where the shared library lies: beside this file, if the build has put it there."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["LIBRARY_NAME", "Unusable", "library_path"]

_NAMES = {"win32": "recolva.dll", "darwin": "librecolva.dylib"}

LIBRARY_NAME = _NAMES.get(sys.platform, "librecolva.so")


class Unusable(Exception):
    """The library cannot be used; the text says why."""


def library_path() -> Path:
    """Return the path at which the library of this platform belongs, present or not."""
    return Path(__file__).absolute().with_name(LIBRARY_NAME)
