"""What Go wrote into a compiled file about itself: its own version, the modules linked in, how it was built.

Read from the file, so that a list of what is shipped can't differ from what is shipped; `go version -m` prints the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from native_build.binaries import NotABinaryError

if TYPE_CHECKING:
    from pathlib import Path

# Go's package debug/buildinfo: the mark, the pointer size and the flags in 32 bytes, then two counted texts.
MARK = b"\xff Go buildinf:"
HEADER = 32
INLINE = 2  # the flag of Go 1.18 and newer: the texts follow the header
GUARD = 16  # bytes before and after the module lines


@dataclass(frozen=True)
class BuildInfo:
    """The build information of one compiled file."""

    go: str  # go1.27.3
    main: str  # the path of the main module
    modules: tuple[tuple[str, str], ...]  # path and version of every other module linked in, sorted
    settings: dict[str, str]

    @property
    def uses_cgo(self) -> bool:
        """Tell whether C code was compiled and linked in."""
        return self.settings.get("CGO_ENABLED") == "1"


def read_build_info(path: Path) -> BuildInfo:
    """Read the build information, or raise NotABinaryError where there is none."""
    data = path.read_bytes()
    at = data.find(MARK)
    if at < 0 or not data[at + len(MARK) + 1] & INLINE:
        msg = f"{path.name} holds no build information of Go 1.18 or newer"
        raise NotABinaryError(msg)
    version, start = _counted(data, at + HEADER)
    lines, _ = _counted(data, start)
    return _parse(version.decode("utf-8"), lines[GUARD:-GUARD].decode("utf-8"))


def _counted(data: bytes, at: int) -> tuple[bytes, int]:
    """Return the bytes after a varint that counts them, and where they end."""
    length = shift = 0
    while True:
        byte = data[at]
        length |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return data[at : at + length], at + length


def _parse(version: str, lines: str) -> BuildInfo:
    main, modules, settings = "", [], {}
    for line in lines.splitlines():
        kind, *fields = line.split("\t")
        if kind == "mod":
            main = fields[0]
        elif kind == "dep":
            modules.append((fields[0], fields[1]))
        elif kind == "=>":  # the module before is replaced by this one
            modules[-1] = (fields[0], fields[1])
        elif kind == "build":
            name, _, value = fields[0].partition("=")
            settings[name] = value
    return BuildInfo(version.split(" ", maxsplit=1)[0], main, tuple(sorted(modules)), settings)
