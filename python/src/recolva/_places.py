"""Where the files of a sweep really are, what they are, and the names beside them."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional, Union

from recolva.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recolva._system import Info, System

Path = Union[str, "os.PathLike[str]"]

# The names beside a file NAME are .NAME.recolva-SUFFIX. They are fixed: the lock on the file
# makes sure that at most one set exists, so nothing random is ever left behind.
LOCK = "lock"
JOURNAL, JOURNAL_TMP = "journal", "journal.tmp"
PENDING, PENDING_TMP = "pending", "pending.tmp"
NEW, ADD, AUD, OLD = "new", "add", "aud", "old"
NEXT, PRIOR = "next", "prior"
TARGET_SIDES = (PENDING_TMP, PENDING, NEXT, PRIOR)
"""What may stand beside any file that a transaction changes."""
HOME_SIDES = (JOURNAL_TMP, NEW, ADD, AUD, OLD)
"""What may stand beside the home of a journal, too."""

_MARK = ".recolva-"

MAX_NAME_BYTES = 255 - len(f".{_MARK}{JOURNAL_TMP}")
"""How long a name may be for the longest name beside it to fit into what file systems allow."""

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
        """Return the path of a file of ours beside this one."""
        return os.path.join(self.directory, f".{self.base}{_MARK}{suffix}")


@dataclass(frozen=True)
class Files:
    """The files of a transaction; `mutate` says whether the input may change."""

    input: Path
    archive: Optional[Path] = None
    audit: Optional[Path] = None
    archive_mode: str = "append"
    audit_mode: str = "append"
    mutate: bool = False


@dataclass
class Member:
    """One file of a transaction; `info` is None while there is no such file.

    `sum` is that of a file to be replaced, if its times may hide a change.
    """

    role: str
    place: Place
    mode: str
    info: Optional[Info] = None
    sum: str = ""

    def __str__(self) -> str:
        return f"{self.role} {show(self.place.path)}"


class Members:
    """The files of a transaction by their roles, as they are found in the file system."""

    def __init__(self, system: System, files: Files, *, allow_network_fs: bool) -> None:
        """Find the real place of every file. Reads directories only."""
        self._system, self._mutate, self._allow_network_fs = system, files.mutate, allow_network_fs
        self.input = self._member("input", files.input, "append")
        archive = files.archive if files.mutate else None
        self.archive = None if archive is None else self._member("archive", archive, files.archive_mode)
        self.audit = None if files.audit is None else self._member("audit", files.audit, files.audit_mode)

    def _member(self, role: str, path: Path, mode: str) -> Member:
        name = os.fsdecode(path)
        if name.endswith((os.sep, os.altsep or os.sep)):
            raise Refused(f"{role} {show(name)} names a directory, not a file")
        member = Member(role, Place(self._system.real_path(name)), mode)
        base = member.place.base
        if base.startswith(".") and _MARK in base:
            raise Refused(f"{role} {show(name)} has a name that recolva keeps for itself")
        size = len(os.fsencode(base))
        if size > MAX_NAME_BYTES and (self._mutate or role != "input"):
            raise Refused(
                f"{role} {show(name)} has a name of {size} bytes, "
                f"and the files beside it leave room for {MAX_NAME_BYTES}"
            )
        return member

    def __iter__(self) -> Iterator[Member]:
        return (member for member in (self.input, self.archive, self.audit) if member is not None)

    def changing(self) -> list[Member]:
        """Return those that the transaction may change."""
        return [member for member in self if self._mutate or member.role != "input"]

    def inspect(self) -> None:
        """Look at every file again; refuse wrong kinds, and any two that are one file."""
        changing = self.changing()
        for member in self:
            member.info = self._system.lookup(member.place.path)
            if member.info is None and member.role == "input":
                raise FileNotFoundError(2, os.strerror(2), member.place.path)
            if member.info is not None and not member.info.is_regular:
                raise Refused(f"{member} is {kind_name(member.info.mode)}, not a regular file")
            if member in changing:
                _raise(self._network(member))
        members = list(self)
        for number, member in enumerate(members):
            for other in members[:number]:
                same = member.info is not None and other.info is not None and member.info.same_file(other.info)
                if same or member.place == other.place:
                    raise Refused(f"{other} and {member} are the same file")

    def _network(self, member: Member) -> Optional[Refused]:
        kind = "" if self._allow_network_fs else self._system.network(member.place.directory)
        if not kind:
            return None
        return Refused(f"{member} is on a network file system ({kind}), where locks may not hold")

    def check_names(self) -> None:
        """Refuse files with other hard links: these would keep the old content."""
        for member in self.changing():
            _raise(_links(member))

    def would_refuse(self) -> list[str]:
        """Say which guards a scan passes and a mutation of the same files would not."""
        spared = [member for member in self if member.info is not None and member not in self.changing()]
        found = [guard for member in spared for guard in (_links(member), self._network(member))]
        return [str(guard) for guard in found if guard is not None]


def _raise(refusal: Optional[Refused]) -> None:
    if refusal is not None:
        raise refusal


def _links(member: Member) -> Optional[Refused]:
    if member.info is None or member.info.links <= 1:
        return None
    return refused_links(member, member.info.links)


def refused_links(member: Member, links: int) -> Refused:
    """Return the refusal of a file with several names."""
    return Refused(f"{member} has {links} hard links: the other names would keep the old content")


def kind_name(mode: int) -> str:
    """Name the kind of a file that is not a regular one."""
    return next((name for test, name in _KINDS if test(mode)), "a special file")


def show(path: str) -> str:
    """Return a path that is safe on a terminal, quoted only where it must be."""
    safe = path.isascii() and path.isprintable() and '"' not in path and "\\" not in path
    return path if safe else json.dumps(path).replace("\x7f", "\\u007f")
