"""The narrow door through which a sweep touches files.

The protocol calls nothing of the operating system but what stands here, so that a test can
put a disk in its place that fails, forgets or dies at any call. What is promised where:

            lock of a file   who has it open   fsync of a directory   rename of an open file
    Linux   flock            lease             yes                    yes
    macOS   flock            unknown           yes                    yes
    Windows a byte far off   unknown           no                     no (the sweep rolls back)
"""

# The calls stand here as the system has them.
# ruff: noqa: PTH100, PTH101, PTH114, PTH116
from __future__ import annotations

import errno
import os
import stat
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple, Optional

from recolva import _kernel_calls

if TYPE_CHECKING:
    from collections.abc import Iterator

READ = os.O_RDONLY
APPEND = os.O_RDWR | os.O_APPEND
UPDATE = os.O_RDWR
CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL
"""Make a file that must not exist yet."""

_LOCKED_BYTE = 1 << 62  # beyond any content, because a lock of Windows forbids reading, too


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _read_at(fd: int, position: int, size: int) -> bytes:
        here = os.lseek(fd, 0, os.SEEK_CUR)  # where the next write goes
        os.lseek(fd, position, os.SEEK_SET)
        data = os.read(fd, size)
        os.lseek(fd, here, os.SEEK_SET)
        return data

    def _write_at(fd: int, position: int, data: bytes) -> int:
        os.lseek(fd, position, os.SEEK_SET)
        return os.write(fd, data)

    def _try_lock(fd: int) -> bool:
        here = os.lseek(fd, 0, os.SEEK_CUR)
        os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EDEADLK):
                return False
            raise
        finally:
            os.lseek(fd, here, os.SEEK_SET)
        return True
else:
    import fcntl

    def _read_at(fd: int, position: int, size: int) -> bytes:
        return os.pread(fd, size, position)

    def _write_at(fd: int, position: int, data: bytes) -> int:
        return os.pwrite(fd, data, position)

    def _try_lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class Info(NamedTuple):
    """What the protocol asks about a file."""

    device: int
    inode: int
    mode: int
    links: int
    uid: int
    gid: int
    size: int
    modified_ns: int
    """Time of the last change of the content."""
    changed_ns: int
    """Time of the last change of content or attributes."""

    def same_file(self, other: Info) -> bool:
        """Tell whether both describe one file, however it was named."""
        return (self.device, self.inode) == (other.device, other.inode)

    @property
    def is_regular(self) -> bool:
        return stat.S_ISREG(self.mode)


def _info(found: os.stat_result) -> Info:
    return Info(
        found.st_dev,
        found.st_ino,
        found.st_mode,
        found.st_nlink,
        found.st_uid,
        found.st_gid,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
    )


class File:
    """An open file. Its lock, if it has one, ends with it."""

    def __init__(self, fd: int, path: str) -> None:
        self.fd, self.path = fd, path

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Give errors the name of the file, which calls on descriptors do not know."""
        try:
            yield
        except OSError as error:
            error.filename = self.path
            raise

    def read_at(self, position: int, size: int) -> bytes:
        """Read up to `size` bytes from a position; nothing at the end."""
        with self._named():
            return _read_at(self.fd, position, size)

    def write(self, data: bytes) -> None:
        """Write all of the data: at the end if opened to append, else behind the last write."""
        with self._named():
            written = os.write(self.fd, data)
            while written < len(data):
                data = data[written:]
                written = os.write(self.fd, data)

    def write_at(self, position: int, data: bytes) -> None:
        """Write all of the data at a position, into a file that was not opened to append."""
        with self._named():
            while data:
                written = _write_at(self.fd, position, data)
                position, data = position + written, data[written:]

    def info(self) -> Info:
        """Describe the file."""
        with self._named():
            return _info(os.fstat(self.fd))

    def truncate(self, size: int) -> None:
        """Cut the file."""
        with self._named():
            os.ftruncate(self.fd, size)

    def sync(self) -> None:
        """Make the file durable. After an error, calling it again proves nothing."""
        with self._named():
            _sync(self.fd)

    def reserve(self, position: int, size: int) -> None:
        """Set space aside, so that a full disk cannot cut a write there short."""
        with self._named():
            _kernel_calls.reserve(self.fd, position, size)

    def try_lock(self) -> bool:
        """Take the exclusive lock of the file, without waiting."""
        with self._named():
            return _try_lock(self.fd)

    def unlock(self) -> None:
        """Give the lock up, also where a forked child still has the file open."""
        if sys.platform != "win32":
            with suppress(OSError):
                fcntl.flock(self.fd, fcntl.LOCK_UN)

    def has_writers(self) -> Optional[bool]:
        """Tell whether anybody has the file open for writing; None where that cannot be known.

        The file itself must be open for reading only.
        """
        granted = _kernel_calls.take_lease(self.fd, alone=False)
        if granted:
            _kernel_calls.drop_lease(self.fd)
        return None if granted is None else not granted

    def try_exclusive(self) -> Optional[bool]:
        """Keep all others out; False if somebody has the file open, None where that cannot be known."""
        return _kernel_calls.take_lease(self.fd, alone=True)

    def end_exclusive(self) -> None:
        """Let others in again."""
        _kernel_calls.drop_lease(self.fd)

    def copy_attributes(self, model: File, *, access_only: bool = False) -> None:
        """Take over mode, owner and extended attributes, the access list among them.

        With `access_only`, for a file that is new beside its model: of the attributes only
        the access list; and where the owner cannot be given, the file stays private.
        """
        if sys.platform == "win32":
            os.chmod(self.path, stat.S_IMODE(model.info().mode))
            return
        info, own = model.info(), self.info()
        mode = stat.S_IMODE(info.mode)
        with self._named():
            if (info.uid, info.gid) != (own.uid, own.gid):
                try:
                    os.fchown(self.fd, info.uid, info.gid)
                except PermissionError:
                    if not access_only:
                        raise
                    os.fchmod(self.fd, mode & 0o600)
                    return
            if sys.platform == "linux":
                _copy_xattrs(model.fd, self.fd, access_only=access_only)
            os.fchmod(self.fd, mode)  # last: a change of owner clears the set-id bits

    def close(self) -> None:
        """Close the file; once is enough."""
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            os.close(fd)


def _check_same(named: str, path: str, real: str) -> None:
    """Refuse a path that the system follows elsewhere than its links say, as below /proc/PID/root."""
    if not os.path.samestat(os.stat(path), os.lstat(real)):
        raise OSError(errno.EINVAL, f"Not where its links lead, {real!r}: name the file itself", named)


class System:
    """The operating system as the protocol sees it."""

    renames_open_files = sys.platform != "win32"

    def open(self, path: str, flags: int, mode: int = 0o600) -> File:
        """Open a file, never through a symbolic link in the last place, never waiting for a FIFO."""
        for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
            flags |= getattr(os, name, 0)
        return File(os.open(path, flags, mode), path)

    def lookup(self, path: str) -> Optional[Info]:
        """Describe what stands at the path itself; None if nothing does."""
        try:
            return _info(os.lstat(path))
        except FileNotFoundError:
            return None

    def link(self, path: str, other: str) -> None:
        """Give a file a second name, which must be free."""
        os.link(path, other)

    def rename(self, path: str, other: str) -> None:
        """Put a file in the place of another in one step."""
        os.replace(path, other)

    def remove(self, path: str) -> bool:
        """Remove a name if it is there; tell whether it was."""
        try:
            os.unlink(path)
        except FileNotFoundError:
            return False
        return True

    def sync_directory(self, path: str) -> None:
        """Make the names in a directory durable, where the system can."""
        if sys.platform == "win32":
            return
        directory = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _sync(directory)
        except OSError as error:
            if error.errno != errno.EINVAL:  # a file system that cannot
                error.filename = path
                raise
        finally:
            os.close(directory)

    def real_path(self, path: str) -> str:
        """Make a path absolute and free of symbolic links, on the way that the system goes.

        The last part may be missing. What stands before a ".." may be a symbolic link, so the
        path must not be shortened as text before.
        """
        named = path
        if sys.platform == "win32":
            path = os.path.abspath(path)  # as the system does it
        try:
            os.stat(path)
        except FileNotFoundError:
            if os.path.islink(path):
                raise FileNotFoundError(errno.ENOENT, "Symbolic link to a missing file", named) from None
            directory = os.path.dirname(path) or "."
            real_directory = os.path.realpath(directory)
            _check_same(named, directory, real_directory)
            return os.path.join(real_directory, os.path.basename(path))
        real = os.path.realpath(path)
        if not os.path.lexists(real):  # as /dev/stdin, and /proc/self/fd/N
            raise FileNotFoundError(errno.ENOENT, "Leads to an open file or pipe that has no name", named)
        _check_same(named, path, real)
        return real

    def network(self, directory: str) -> str:
        """Name the kind of a file system that other machines share, "" for any other."""
        return _kernel_calls.network(directory)

    def pid(self) -> int:
        """Return the number of this process."""
        return os.getpid()

    def uid(self) -> int:
        """Return the number of the user whose rights we have; 0 where users have none."""
        return os.geteuid() if sys.platform != "win32" else 0

    def now(self) -> float:
        """Return a time for deadlines, in seconds."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


SYSTEM = System()
"""What every transaction uses that is not given another one."""


def _sync(fd: int) -> None:
    if sys.platform == "darwin":  # plain fsync stops at the drive's cache there
        try:
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        except OSError as error:
            if error.errno not in (errno.ENOTSUP, errno.ENOTTY, errno.EINVAL):
                raise
        else:
            return
    os.fsync(fd)


def _copy_xattrs(model: int, fd: int, *, access_only: bool) -> None:
    try:
        names = os.listxattr(model)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return
        raise
    for name in names:
        if access_only and name != "system.posix_acl_access":
            continue
        try:
            value = os.getxattr(model, name)
            if _xattr(fd, name) != value:
                os.setxattr(fd, name, value)
        except OSError:
            # What the system itself sets and may forbid us to set is no loss.
            if not name.startswith(("security.", "trusted.")):
                raise


def _xattr(fd: int, name: str) -> Optional[bytes]:
    try:
        return os.getxattr(fd, name)
    except OSError:
        return None
