"""Whose code is in the compiled files, and under which licence.

A compiled file holds, besides recolva's own code, Go's runtime and standard library, every other Go module that it
was linked with, and on Windows, where C code takes part, the start-up code of MinGW-w64. Their licences ask that their
texts go wherever the file goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from native_build.buildinfo import read_build_info

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

OWN_LICENCE = "MIT"
OWN_TEXT = "LICENSE"


class Part(NamedTuple):
    """Code of other people within a compiled file."""

    name: str  # a module's path; std for what comes with Go
    version: str  # as Go writes it, std's without a letter; empty where the file does not say it
    licence: str  # SPDX
    text: str  # file with the licence's text, relative to python/


class Terms(NamedTuple):
    """The licence of a part and the file with its text."""

    licence: str
    text: str


STD, MINGW = "std", "mingw-w64"

# Every part that may be in a compiled file. A Go module linked in must be added here, its text in python/licenses.
TERMS = {
    STD: Terms("BSD-3-Clause", "licenses/go.txt"),
    MINGW: Terms("ZPL-2.1", "licenses/mingw-w64.txt"),
}


class LicenceError(ValueError):
    """The licence of a part is not known; the text says of which part."""


def parts_of(files: Iterable[Path]) -> list[Part]:
    """Return what other people's code is in the compiled files, each part once."""
    found: set[tuple[str, str]] = set()
    for file in files:
        info = read_build_info(file)
        found.add((STD, info.go[2:]))
        found.update(info.modules)
        if info.uses_cgo and info.settings.get("GOOS") == "windows":
            found.add((MINGW, ""))
    unknown = sorted(name for name, _ in found if name not in TERMS)
    if unknown:
        msg = f"no licence is recorded for {', '.join(unknown)}, which a compiled file holds"
        raise LicenceError(msg)
    return [Part(name, version, *TERMS[name]) for name, version in sorted(found)]


def expression(parts: Iterable[Part]) -> str:
    """Return the SPDX expression of recolva together with the parts."""
    return " AND ".join(dict.fromkeys([OWN_LICENCE, *(part.licence for part in _in_order(parts))]))


def texts(parts: Iterable[Part]) -> list[str]:
    """Return the files with the licence texts of recolva and of the parts, relative to python/."""
    return list(dict.fromkeys([OWN_TEXT, *(part.text for part in _in_order(parts))]))


def _in_order(parts: Iterable[Part]) -> list[Part]:
    """Put Go first, whatever else there is."""
    return sorted(parts, key=lambda part: (part.name != STD, part.name))
