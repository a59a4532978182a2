"""Where the shared library lies: beside this file, if the build has put it there."""

from __future__ import annotations

import os
import sys

__all__ = ["LIBRARY_NAME", "library_path"]

_NAMES = {"win32": "recolva.dll", "darwin": "librecolva.dylib"}

LIBRARY_NAME = _NAMES.get(sys.platform, "librecolva.so")


def library_path() -> str:
    """Return the path at which the library of this platform belongs, present or not."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), LIBRARY_NAME)
