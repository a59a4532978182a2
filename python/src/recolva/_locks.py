"""Locks between processes: one lock file beside each file of a sweep, and the files themselves.

Sweeps exclude each other by `.NAME.recolva-lock`. Cooperating writers lock the
file that they append to; a sweep takes that lock only while it commits. The
`decay-sweep` program takes the same locks in the same order.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from recolva._places import Place, kind_name, open_file, same_file, show
from recolva.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _try_lock(file: int) -> bool:
        """Lock a byte far beyond any content: a lock is mandatory here."""
        os.lseek(file, 1 << 62, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EDEADLK):
                return False
            raise
        return True
else:
    import fcntl

    def _try_lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


_POLL_SECONDS = 0.01


class Deadline:
    """A moment until which it is worth to wait."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def wait(self, busy: str) -> None:
        """Sleep a little, or raise `Refused` when the time is over."""
        if time.monotonic() >= self._end:
            raise Refused(f"{busy} (waited {self.seconds:g}s)")
        time.sleep(_POLL_SECONDS)


class LockFiles:
    """The lock files of some places, taken in an order common to all processes."""

    def __init__(self, places: Sequence[Place], deadline: Deadline) -> None:
        self._held: list[tuple[Place, int, os.stat_result]] = []
        try:
            for place in sorted(places, key=_order):
                self._take(place, deadline)
        except BaseException:
            self.release()
            raise

    def _take(self, place: Place, deadline: Deadline) -> None:
        """Open, lock, and see whether the name still leads to what was locked: who is done removes it."""
        while True:
            file = open_file(place.side("lock"), os.O_RDWR | os.O_CREAT)
            taken = False
            try:
                taken = self._try(place, file)
                holder = _holder(file)
            finally:
                if not taken:
                    os.close(file)
            if taken:
                return
            deadline.wait(f"{show(place.path)} is busy: {holder} holds it")

    def _try(self, place: Place, file: int) -> bool:
        info, path = os.fstat(file), place.side("lock")
        if not stat.S_ISREG(info.st_mode):
            raise Refused(f"{show(path)} is {kind_name(info.st_mode)}, not a lock file")
        for held, _, other in self._held:
            if same_file(info, other):
                raise Refused(f"{show(held.path)} and {show(place.path)} are the same file")
        if not (_try_lock(file) and _still_at(path, info)):
            return False
        self._held.append((place, file, info))
        _sign(file)
        return True

    def release(self) -> None:
        """Remove the lock files, then give the locks up."""
        while self._held:
            place, file, _ = self._held.pop()
            with suppress(OSError):  # a lock file that stays is a lock that nobody holds
                os.unlink(place.side("lock"))
            os.close(file)


def _order(place: Place) -> tuple[int, int, str, str]:
    info = os.lstat(place.directory)
    return info.st_dev, info.st_ino, place.base.lower(), place.base


def _still_at(path: str, info: os.stat_result) -> bool:
    try:
        return same_file(os.lstat(path), info)
    except FileNotFoundError:
        return False


def _sign(file: int) -> None:
    """Write who holds the lock, for the text that others print; a full disk does not matter."""
    with suppress(OSError):
        os.ftruncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)
        os.write(file, b"%d\n" % os.getpid())


def _holder(file: int) -> str:
    try:
        os.lseek(file, 0, os.SEEK_SET)
        number = os.read(file, 20).strip()
    except OSError:
        number = b""
    return f"process {number.decode()}" if number.isdigit() else "another process"


def open_locked(place: Place, flags: int, deadline: Deadline, mode: int = 0o600) -> int:
    """Open a data file and lock it, as it stands under its name then; close it to unlock."""
    while True:
        file = open_file(place.path, flags, mode)
        locked = False
        try:
            locked = _lock_current(place, file)
        finally:
            if not locked:
                os.close(file)
        if locked:
            return file
        deadline.wait(f"{show(place.path)} is busy: another process keeps it locked")


def _lock_current(place: Place, file: int) -> bool:
    """Lock a file if it is free and its name still leads to it."""
    info = os.fstat(file)
    if not stat.S_ISREG(info.st_mode):
        raise Refused(f"{show(place.path)} is {kind_name(info.st_mode)}, not a regular file")
    return _try_lock(file) and _still_at(place.path, info)


def lock_new(file: int) -> None:
    """Lock a file that nobody else knows yet: who finds it has to wait until its name is durable."""
    _try_lock(file)
