"""Locks between processes: one lock file beside each file of a sweep, and the files themselves.

Sweeps exclude each other by `.NAME.recolva-lock`. Cooperating writers lock the file that
they append to; a sweep takes that lock only while it commits or recovers.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from recolva._journal import MAX_NOTE_BYTES, Name, line_of, name_from, place_of
from recolva._places import LOCK, Place, kind_name, show
from recolva._ranges import read_full
from recolva._system import APPEND
from recolva.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recolva._system import File, Info, System

_OPEN_LOCK = os.O_RDWR | os.O_APPEND | os.O_CREAT
_POLL_SECONDS = 0.010
_MAX_TIES = 64


class Deadline:
    """A moment until which it is worth to wait."""

    def __init__(self, system: System, seconds: float) -> None:
        self._system, self.seconds = system, seconds
        self._end = system.now() + seconds

    @property
    def over(self) -> bool:
        return self._system.now() >= self._end

    def wait(self, busy: str, extra_seconds: float = 0.0) -> None:
        """Sleep a little, or raise `Refused` when the time is over."""
        if self.over:
            raise Refused(f"{busy} (waited {duration(self.seconds)})")
        self._system.sleep(_POLL_SECONDS + extra_seconds)


def duration(seconds: float) -> str:
    """Return a time as the `decay-sweep` program prints it: 50ms, 1.5s, 2m0s."""
    nanos = round(seconds * 10**9)
    for unit, size in (("ns", 1), ("µs", 10**3), ("ms", 10**6)):
        if 0 < nanos < size * 1000:
            return f"{_decimal(nanos, size)}{unit}"
    minutes, nanos = divmod(nanos, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    head = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{head}{_decimal(nanos, 10**9)}s"


def _decimal(nanos: int, size: int) -> str:
    whole, part = divmod(nanos, size)
    digits = f"{part:0{len(str(size)) - 1}d}".rstrip("0") if part else ""
    return f"{whole}.{digits}" if digits else str(whole)


class BusyError(Exception):
    """A lock could not be had at once; the text says who holds it."""

    def __init__(self, place: Place, holder: str) -> None:
        super().__init__(f"{show(place.path)} is busy: {holder} holds it")


class _Held:
    """A lock file that we hold."""

    def __init__(self, place: Place, file: File, info: Info) -> None:
        self.place, self.file, self.info = place, file, info


class LockFiles:
    """The lock files of all places of a transaction.

    Each lock file names the other places, so that whoever finds one after a crash can
    clean up beside all of them.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        self.held: list[_Held] = []
        self.ties: list[Place] = []
        """What lock files that killed processes left name."""
        self.leave = False
        """Something remains to be cleaned up: the home's lock file stays, and tells where."""

    def extend(self, places: Sequence[Place]) -> None:
        """Take the locks that are not held yet; raise BusyError rather than wait for one."""
        if not self.held:
            self._add(places[0])
        self._sign(self.held[0], places)
        for place in places[1:]:
            if all(held.place != place for held in self.held):
                self._add(place)
                self._sign(self.held[-1], places)

    def _add(self, place: Place) -> None:
        """Take one lock file.

        After the lock comes a look whether the name still leads to what was locked,
        because whoever releases a lock removes the name.
        """
        file = self._system.open(place.side(LOCK), _OPEN_LOCK)
        try:
            info = self._try(place, file)
            self.ties += _read_ties(file, info, place, self._system.uid())
        except BaseException as error:
            self.leave |= isinstance(error, OSError)
            file.close()
            raise
        self.held.append(_Held(place, file, info))

    def _try(self, place: Place, file: File) -> Info:
        info, path = file.info(), place.side(LOCK)
        if not info.is_regular:
            raise Refused(f"{show(path)} is {kind_name(info.mode)}, not a lock file")
        if info.links > 1:  # somebody gave another file this name, and we would write into it
            raise Refused(f"{show(path)} has {info.links} names (hard links), so it is not a lock file")
        for held in self.held:  # names that differ only in case, or by a bind mount
            if held.info.same_file(info):
                raise Refused(f"{show(held.place.path)} and {show(place.path)} are the same file")
        if not file.try_lock():
            raise BusyError(place, _holder(file, info))
        current = self._system.lookup(path)
        if current is None or not current.same_file(info):
            raise BusyError(place, "another process")
        return info

    def _sign(self, held: _Held, places: Sequence[Place]) -> None:
        """Append who holds the lock, and what belongs to it.

        What killed processes wrote there stays, so that no hint is lost before its place
        is clean. A full disk must not stop a sweep that frees space: errors do not count.
        """
        others = [name_from(held.place, place) for place in places if place != held.place]
        with suppress(OSError):
            held.file.write(line_of({"pid": self._system.pid(), "with": others}))
        with suppress(OSError):
            held.info = held.file.info()

    def may_hide_change(self, place: Place, info: Info) -> bool:
        """Tell whether a change from now on could leave the time of change of a file as it was.

        File systems stamp in ticks: so it is if the file was last changed in or after the tick
        in which its lock file was signed.
        """
        signed = next((held.info for held in self.held if held.place == place), None)
        return signed is None or max(info.modified_ns, info.changed_ns) >= signed.modified_ns

    def check_held(self) -> None:
        """Refuse to go on when somebody has taken a lock file away: another run may have begun."""
        for held in self.held:
            if not self._holds(held):
                path = show(held.place.side(LOCK))
                raise Refused(f"lock file {path} was removed by another program while it was held; nothing was changed")

    def _holds(self, held: _Held) -> bool:
        """Tell whether a lock file still has its name."""
        current = self._system.lookup(held.place.side(LOCK))
        return current is not None and current.same_file(held.info)

    def release(self, *, keep_names: bool = False) -> None:
        """Remove the lock files, unless told to keep them, then give the locks up."""
        while self.held:
            held = self.held.pop()
            if not keep_names and (self.held or not self.leave):
                try:
                    if self._holds(held):
                        self._system.remove(held.place.side(LOCK))
                except OSError:
                    self.leave = True  # a lock file that stays is a lock that nobody holds
            held.file.unlock()
            held.file.close()


def lock_all(system: System, places: Sequence[Place], deadline: Deadline) -> LockFiles:
    """Take the lock files of all places.

    It never waits for one while it holds another: if one is busy it gives all back and
    begins again, so sweeps that want the same files in opposite roles cannot wait for
    each other.
    """
    while True:
        locks = LockFiles(system)
        try:
            locks.extend(places)
        except BusyError as busy:
            locks.release()
            # Two processes that got in each other's way part by their numbers.
            deadline.wait(str(busy), system.pid() % 8 / 1000)
        except BaseException:
            locks.release()
            raise
        else:
            return locks


def _signatures(file: File, info: Info) -> list[dict[str, Any]]:
    """Read the lines of a lock file that are signatures."""
    try:
        data = read_full(file, 0, min(info.size, MAX_NOTE_BYTES))
    except OSError:
        return []
    found = []
    for line in data.split(b"\n"):
        with suppress(ValueError, RecursionError):
            form = json.loads(line)
            if isinstance(form, dict) and type(form.get("pid")) is int and isinstance(form.get("with"), list):
                found.append(form)
    return found


def _read_ties(file: File, info: Info, home: Place, uid: int) -> list[Place]:
    """Read the places that killed processes of this user named in a lock file.

    They are hints: beside them only what lies about unused is removed.
    """
    if info.uid != uid:
        return []
    names = [name for form in _signatures(file, info) for name in form["with"]]
    usable = [name for name in names if isinstance(name, str) and name and max(name) <= "\xff" and "\0" not in name]
    return [place_of(Name(name), home) for name in usable[:_MAX_TIES]]


def _holder(file: File, info: Info) -> str:
    signed = _signatures(file, info)
    return f"process {signed[-1]['pid']}" if signed else "another process"


class DataLocks:
    """The locks on the data files themselves, which cooperating writers take too."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.open: dict[Place, File] = {}

    def get(self, place: Place, deadline: Deadline) -> File:
        """Open a file for reading and appending and lock it, or return it if it is held.

        Raises FileNotFoundError if there is none.
        """
        file = self.open.get(place)
        if file is not None:
            current = self._system.lookup(place.path)
            if current is not None and current.same_file(file.info()):
                return file
            self.release(place)
        file = self.open[place] = open_locked(self._system, place, deadline)
        return file

    def release(self, place: Place) -> None:
        """Give one up."""
        file = self.open.pop(place, None)
        if file is not None:
            file.unlock()
            file.close()

    def release_all(self) -> None:
        """Give all up."""
        for place in list(self.open):
            self.release(place)


def open_locked(system: System, place: Place, deadline: Deadline, flags: int = APPEND, mode: int = 0o600) -> File:
    """Open a data file and lock it, as it stands under its name then; close it to unlock."""
    while True:
        file = None
        locked = False
        try:
            file = system.open(place.path, flags, mode)
            locked = _lock_current(system, place, file)
        except BlockingIOError:
            pass  # a lease is in the way: somebody is just looking who has the file open
        finally:
            if file is not None and not locked:
                file.close()
        if locked and file is not None:
            return file
        _wait(place, deadline)


def lock_open(file: File, place: Place, deadline: Deadline) -> None:
    """Take the data lock by an open file, waiting as long as for any lock."""
    while not file.try_lock():
        _wait(place, deadline)


def _wait(place: Place, deadline: Deadline) -> None:
    deadline.wait(f"{show(place.path)} is busy: another process keeps it locked")


def _lock_current(system: System, place: Place, file: File) -> bool:
    """Lock a file if it is free and its name still leads to it."""
    if not file.try_lock():
        return False
    info = file.info()
    if not info.is_regular:
        raise Refused(f"{show(place.path)} is {kind_name(info.mode)}, not a regular file")
    current = system.lookup(place.path)
    return current is not None and current.same_file(info)
