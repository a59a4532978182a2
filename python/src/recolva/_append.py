"""Appending to a store that others sweep."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from recolva import _ranges, _system
from recolva._json_syntax import RecordFault
from recolva._locks import Deadline, open_locked
from recolva._places import Path, Place, show
from recolva._record_rules import check_object
from recolva.errors import InvalidArgument, InvalidArgumentType, Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def append(path: Path, record: Mapping[str, Any] | bytes, *, lock_timeout: float = 10.0) -> None:
    """Append one record to a store, as a line of its own; safe while others append or sweep.

    A dict is written as JSON in one line; bytes are one line as it is, with or without
    its newline. The file is created if it is missing. A last line that lacks its
    newline gets one first. Which fields the object has is not checked.

    Raises InvalidArgument for what is not one JSON object in one line, Refused if the
    file stays locked for `lock_timeout` seconds.
    """
    append_all(path, [record], lock_timeout=lock_timeout)


def append_all(path: Path, records: Iterable[Mapping[str, Any] | bytes], *, lock_timeout: float = 10.0) -> None:
    """Append records as `append` does, all of them or none."""
    lines = b"".join(map(_line, records))
    system = _system.SYSTEM
    place = Place(system.real_path(os.fsdecode(path)))
    flags, mode = _system.APPEND | os.O_CREAT, 0o666  # less the umask, as any new file
    file = open_locked(system, place, Deadline(system, lock_timeout), flags, mode)
    try:
        info = file.info()
        if info.links == 0:  # its name here is a mount, which keeps what a sweep outside has replaced
            raise Refused(f"{show(place.path)} was replaced where it comes from: mount its directory, not the file")
        size = info.size
        joint = b"\n" if _ranges.ends_open(file, size) else b""
        _write(file, size, joint + lines)
    finally:
        file.unlock()
        file.close()


def _write(file: _system.File, size: int, data: bytes) -> None:
    """Write behind the last byte, in one write if the system lets us; else undo a part of it."""
    try:
        file.write(data)
    except BaseException:
        part = file.read_at(size, len(data) + 1)
        if data.startswith(part):  # nobody without the lock wrote meanwhile
            file.truncate(size)
        raise


def _line(record: Mapping[str, Any] | bytes) -> bytes:
    if isinstance(record, (bytes, bytearray)):
        line = bytes(record)
        line = line[:-1] if line.endswith(b"\n") else line
    elif isinstance(record, dict):
        try:
            line = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidArgument(f"record must be JSON: {error}") from error
    else:
        raise InvalidArgumentType(f"record must be a dict or bytes, got {type(record).__name__}")
    if b"\n" in line:
        raise InvalidArgument("record must be one line, got several")
    try:
        check_object(line)
    except RecordFault as fault:
        raise InvalidArgument(f"record must be a JSON object in one line: {fault}") from None
    return line + b"\n"
