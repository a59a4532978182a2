"""Where the parts of recolva stand, in a checkout (python/ is a folder of it) and in a source distribution."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VERSION_FILE = "internal/version/VERSION"

# Folders with Go code that the library and the program are built from.
GO_FOLDERS = ("cmd", "internal", "native", "pkg")

# Folders that only tests and readers need: a source distribution leaves them out.
NOT_BUILT = frozenset({"testdata", "examples", "conformance"})

# The library's file name on each operating system, by Go's name of the system.
LIBRARY_NAMES = {"linux": "librecolva.so", "darwin": "librecolva.dylib", "windows": "recolva.dll"}


def source_root(python_root: Path) -> Path:
    """Return the folder that holds go.mod and the version file: ``python_root`` or the one above it."""
    for candidate in (python_root, python_root.parent):
        if (candidate / VERSION_FILE).is_file():
            return candidate
    msg = f"{VERSION_FILE} was not found in {python_root} or the folder above it"
    raise FileNotFoundError(msg)


def version(root: Path) -> str:
    """Return the one version number, which Go, C and Python report alike."""
    return (root / VERSION_FILE).read_text(encoding="utf-8").strip()


def minimum_go(root: Path) -> tuple[int, int]:
    """Return the oldest Go (major, minor) that go.mod allows."""
    found = re.search(r"^go (\d+)\.(\d+)", (root / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        msg = "go.mod names no Go version"
        raise ValueError(msg)
    return int(found[1]), int(found[2])


def program_name(system: str) -> str:
    """Return the file name of decay-sweep on a system (Go's name of it)."""
    return "decay-sweep.exe" if system == "windows" else "decay-sweep"


def go_sources(root: Path) -> Iterator[Path]:
    """Yield every file that building the library and the program needs, relative to ``root``, sorted."""
    for name in ("go.mod", "go.sum"):
        if (root / name).is_file():
            yield (root / name).relative_to(root)
    for folder in GO_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            relative = path.relative_to(root)
            if path.is_file() and not path.name.endswith("_test.go") and not NOT_BUILT & set(relative.parts):
                yield relative
