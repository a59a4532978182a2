"""The journal beside a store, and the pointers to it beside its archive and audit.

Both are notes of one form: a line of JSON, and a line with the SHA-256 of the first line,
its newline included, in hex. The `decay-sweep` program writes the same bytes, and each
finishes or undoes what the other left.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, NewType, Optional

from recolva._places import JOURNAL, JOURNAL_TMP, PENDING, PENDING_TMP, Place, kind_name, show
from recolva._ranges import read_full
from recolva._system import CREATE, READ
from recolva.errors import NeedsRecovery

if TYPE_CHECKING:
    from recolva._system import Info, System

VERSION = 1

MAX_NOTE_BYTES = 1 << 20
"""A note that is longer is not ours."""

Name = NewType("Name", str)
"""A file name in a note: each byte is the character of that number, so that any name survives."""

_LIMITS = {"int": (-(2**63), 2**63 - 1), "Inode": (0, 2**64 - 1)}

Inode = int


@dataclass
class OldInput:
    """The input as it was: how much of it the new one holds."""

    ino: Inode
    bytes: int
    open: bool
    """These bytes end without a newline."""
    sha256: str
    """Of these bytes."""


@dataclass
class NewInput:
    """The staged file that takes the place of the input."""

    ino: Inode
    bytes: int
    sha256: str


@dataclass
class Target:
    """An archive or audit that the commit changes."""

    role: str
    path: Name
    """A name beside the home, or an absolute path."""
    mode: str
    """`append` or `replace`."""
    existed: bool = False
    ino: Inode = 0
    """Of the file before; 0 if there was none."""
    size: int = 0
    """Of the file before."""
    joint: bool = False
    """A newline goes before the added bytes."""
    bytes: int = 0
    """How many bytes are added, the joint not counted."""
    sha256: str = ""
    """Of these bytes."""
    next_ino: Inode = 0
    """Replace: of the file that takes the place."""

    unmarked = False  # not a member: no pointer beside it leads to this journal, so nothing may be taken from it

    @property
    def added(self) -> int:
        """How much longer the commit makes the file."""
        return self.bytes + self.joint


@dataclass
class Piece:
    """The bytes [from, `to`) of the source of a drain, on their way to the store."""

    to: int
    ino: Inode
    base: int
    """Length of the store, whose inode is `ino`, before."""
    joint: bool
    sha256: str


@dataclass
class Drain:
    """How far lines were moved to the store from the file that `source` names."""

    source: str
    """`old`: the input before a commit; `new`: the one of a commit that a power cut undid;
    `prior`: the archive that was replaced, whose store is the new one."""
    from_: int
    """Bytes before this offset of the source are done."""
    piece: Optional[Piece] = None


@dataclass
class Journal:
    """What a commit is about to do."""

    recolva: int
    home: Name
    replace_input: bool = False
    old: Optional[OldInput] = None
    new: Optional[NewInput] = None
    targets: Optional[list[Target]] = None
    drain: Optional[Drain] = None


@dataclass
class Pointer:
    """Names, beside an archive or audit, the home of the journal that may have to cut it."""

    recolva: int
    home: Name


def name_from(home: Place, place: Place) -> Name:
    """Return a place as a note at home writes it: short where they share a directory."""
    path = place.base if place.directory == home.directory else place.path
    return Name(os.fsencode(path).decode("latin-1"))


def place_of(name: Name, home: Place) -> Place:
    """Find where a name in a note at home leads."""
    path = os.fsdecode(name.encode("latin-1"))
    return Place(os.path.normpath(os.path.join(home.directory, path)))


def line_of(form: dict[str, Any]) -> bytes:
    """Return a value as a line of JSON, escaped as Go's encoder does it."""
    text = json.dumps(form, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode() + b"\n"


def encode(note: Journal | Pointer) -> bytes:
    """Return the bytes of a note."""
    form = asdict(note)
    if form.get("drain"):
        drain = form["drain"]
        form["drain"] = {"source": drain["source"], "from": drain["from_"], "piece": drain["piece"]}
    line = line_of(form)
    return line + hashlib.sha256(line).hexdigest().encode() + b"\n"


def _decode(data: bytes) -> Any:
    line, _, rest = data.partition(b"\n")
    line += b"\n"
    if rest != hashlib.sha256(line).hexdigest().encode() + b"\n":
        raise ValueError("its checksum does not match")
    return json.loads(line)


_PARTS = {"OldInput": OldInput, "NewInput": NewInput, "Drain": Drain, "Piece": Piece}


def _build(kind: Any, form: Any) -> Any:
    """Make a note or a part of one from JSON; anything unexpected is a ValueError."""
    if not isinstance(form, dict):
        raise TypeError(f"{kind.__name__.lower()} is not an object")
    form = dict(form)
    values = {}
    for field in fields(kind):
        name = field.name.rstrip("_")
        if name not in form:
            raise ValueError(f"{name} is missing")
        values[field.name] = _value(name, str(field.type), form.pop(name))
    for name in form:
        raise ValueError(f"{name} is unknown")
    return kind(**values)


def _value(name: str, kind: str, value: Any) -> Any:
    if kind.startswith("Optional["):
        if value is None:
            return None
        kind = kind[len("Optional[") : -1]
    if kind == "list[Target]" and isinstance(value, list):
        return [_build(Target, part) for part in value]
    if kind in _PARTS:
        return _build(_PARTS[kind], value)
    if kind in _LIMITS and type(value) is int and _LIMITS[kind][0] <= value <= _LIMITS[kind][1]:
        return value
    if kind in ("str", "bool") and type(value).__name__ == kind:
        return value
    if kind == "Name" and isinstance(value, str) and all(character <= "\xff" for character in value):
        return Name(value)
    raise ValueError(f"{name} is out of range")


class Notes:
    """Writes, reads and trusts notes, or does not."""

    def __init__(self, system: System) -> None:
        self._system = system

    def _write(self, note: Journal | Pointer, temporary: str, path: str) -> None:
        """Put a note in its place in one durable step."""
        system = self._system
        system.remove(temporary)
        file = system.open(temporary, CREATE)
        try:
            file.write(encode(note))
            file.sync()
        finally:
            file.close()
        system.rename(temporary, path)
        system.sync_directory(os.path.dirname(path))

    def write_journal(self, home: Place, journal: Journal) -> None:
        """Make a journal durable."""
        self._write(journal, home.side(JOURNAL_TMP), home.side(JOURNAL))

    def write_pointer(self, place: Place, home: Place) -> None:
        """Make a pointer beside a place durable."""
        pointer = Pointer(VERSION, name_from(place, home))
        self._write(pointer, place.side(PENDING_TMP), place.side(PENDING))

    def _read(self, path: str, kind: Any) -> Any:
        """Read a note that must be our own: a planted one must not make us cut or move a file."""
        system = self._system
        try:
            file = system.open(path, READ)
        except FileNotFoundError:
            return None
        except OSError as error:
            found = system.lookup(path)
            if isinstance(error, PermissionError) or (found is not None and not found.is_regular):
                raise NeedsRecovery(f"{show(path)} cannot be read: {error.strerror}") from error
            raise
        try:
            info = file.info()
            reason = distrust(info, system.uid())
            if reason:
                raise NeedsRecovery(f"{show(path)} {reason}, so it is not followed")
            data = read_full(file, 0, info.size)
        finally:
            file.close()
        try:
            form = _decode(data)
            version = form.get("recolva") if isinstance(form, dict) else None
            return version if type(version) is int and version != VERSION else _build(kind, form)
        except (ValueError, TypeError, RecursionError) as error:
            raise NeedsRecovery(f"{show(path)} is damaged: {error}") from error

    def journal(self, home: Place) -> Optional[Journal]:
        """Read and check the journal at home; None if there is none."""
        path = home.side(JOURNAL)
        journal = self._read(path, Journal)
        if journal is not None:
            fault = (
                f"its version is {journal}, this program knows {VERSION}"
                if isinstance(journal, int)
                else _fault(journal, home)
            )
            if fault:
                raise NeedsRecovery(f"{show(path)} is not usable: {fault}")
        return journal  # type: ignore[no-any-return]

    def pointer(self, place: Place) -> Optional[Place]:
        """Return the home that the pointer beside a place names; None if there is no pointer."""
        path = place.side(PENDING)
        pointer = self._read(path, Pointer)
        if isinstance(pointer, int):
            raise NeedsRecovery(f"{show(path)} has version {pointer}, this program knows {VERSION}")
        return None if pointer is None else place_of(pointer.home, place)


def _fault(journal: Journal, home: Place) -> str:
    """Say why a journal cannot be followed, "" if it can."""
    if os.fsdecode(journal.home.encode("latin-1")) != home.base:
        return f"it belongs to {show(journal.home)}"
    if journal.replace_input and (journal.old is None or journal.new is None):
        return "it does not describe the input"
    for target in journal.targets or []:
        path = place_of(target.path, home).path
        if target.role not in ("archive", "audit") or target.mode not in ("append", "replace"):
            return f"its target {show(path)} has an unknown role or mode"
        if target.size < 0 or target.bytes < 0:
            return f"its target {show(path)} is out of range"
        if journal.replace_input and path == home.path:
            return "its target is its input"
    return ""


def distrust(info: Info, uid: int) -> str:
    """Say why a note cannot be this user's own work, "" if it can."""
    if not info.is_regular:
        return f"is {kind_name(info.mode)}"
    if info.uid != uid:
        return f"belongs to user {info.uid}, not to the user of this process"
    if info.mode & 0o022 and os.name == "posix":
        return "can be written by others"
    if info.links > 1:
        return "has other names (hard links)"
    if info.size > MAX_NOTE_BYTES:
        return f"is longer than {MAX_NOTE_BYTES} bytes"
    return ""
