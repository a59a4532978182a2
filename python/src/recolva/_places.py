"""Where the files of a sweep really are, what they are, and the names beside them."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from typing import Optional, Union

from recolva.errors import Refused

Path = Union[str, "os.PathLike[str]"]

SIDE_MARK = ".recolva-"

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@dataclass(frozen=True)
class Place:
    """The real path of a file; symbolic links are resolved, the file itself may be missing."""

    path: str

    @property
    def directory(self) -> str:
        return os.path.dirname(self.path)

    @property
    def base(self) -> str:
        return os.path.basename(self.path)

    def side(self, suffix: str) -> str:
        """Return the path of a file of ours beside this one; such names are fixed, never random."""
        return os.path.join(self.directory, f".{self.base}{SIDE_MARK}{suffix}")

    def info(self) -> Optional[os.stat_result]:
        """Describe what stands at the path itself, or return None."""
        try:
            return os.lstat(self.path)
        except FileNotFoundError:
            return None


def locate(role: str, path: Path) -> Place:
    """Resolve a path given by the user; a name that looks like one of ours is refused."""
    place = Place(os.path.realpath(os.fsdecode(path)))
    if place.base.startswith(".") and SIDE_MARK in place.base:
        raise Refused(f"{role} {show(place.path)} has a name that recolva keeps for itself")
    return place


def check_kind(role: str, place: Place, *, required: bool) -> Optional[os.stat_result]:
    """Refuse everything but a regular file; `required` raises FileNotFoundError for none."""
    info = os.lstat(place.path) if required else place.info()
    if info is not None and not stat.S_ISREG(info.st_mode):
        raise Refused(f"{role} {show(place.path)} is {kind_name(info.st_mode)}, not a regular file")
    return info


def check_distinct(members: list[tuple[str, Place, Optional[os.stat_result]]]) -> None:
    """Refuse two roles for one file, whatever the spelling of its name."""
    for number, (role, place, info) in enumerate(members):
        for other_role, other, other_info in members[:number]:
            same = info is not None and other_info is not None and same_file(info, other_info)
            if same or place == other:
                text = f"{other_role} {show(other.path)} and {role} {show(place.path)}"
                raise Refused(f"{text} are the same file")


def same_file(info: os.stat_result, other: os.stat_result) -> bool:
    """Tell whether two descriptions are of one file."""
    return (info.st_dev, info.st_ino) == (other.st_dev, other.st_ino)


def kind_name(mode: int) -> str:
    """Name the kind of a file that is not a regular one."""
    return next((name for test, name in _KINDS if test(mode)), "a special file")


def show(path: str) -> str:
    """Return a path that is safe on a terminal, quoted only where it must be."""
    safe = path.isascii() and path.isprintable() and '"' not in path and "\\" not in path
    return path if safe else json.dumps(path).replace("\x7f", "\\u007f")


def open_file(path: str, flags: int, mode: int = 0o600) -> int:
    """Open a file, never through a symbolic link in the last place and never waiting for a FIFO."""
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    return os.open(path, flags, mode)
