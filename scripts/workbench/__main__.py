"""Starts what the front files beside this folder ask for: python scripts/workbench demo|check [ARGUMENT...]."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent

# The folders that modules are imported from, besides this one.
sys.path[1:1] = [str(SCRIPTS), str(SCRIPTS.parent / "python")]

from checkout import CommandError  # noqa: E402  the line above makes its neighbours importable

if __name__ == "__main__":
    try:
        sys.exit(importlib.import_module(sys.argv.pop(1)).main())
    except (CommandError, OSError) as error:
        sys.exit(f"recolva: {error}")
