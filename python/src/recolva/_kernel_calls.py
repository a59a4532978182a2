"""What Python's own library does not reach: leases, reserved space, kinds of file systems."""

from __future__ import annotations

import errno
import os
import signal
import sys
from typing import Any, Optional

# Kinds of file systems (statfs f_type) on which locks, leases or appends may stay local to one
# machine or one server process.
NETWORK_MAGIC = {
    0x6969: "NFS",
    0x517B: "SMB",
    0xFF534D42: "CIFS",
    0xFE534D42: "SMB2",
    0x01021997: "9p",
    0x65735546: "FUSE",
    0x5346414F: "AFS",
    0x73757245: "Coda",
    0x564C: "NCP",
    0x00C36400: "Ceph",
    0x01161970: "GFS2",
    0x7461636F: "OCFS2",
    0x0BD00BD0: "Lustre",
    0x786F4256: "vboxsf",
    0xBACBACBC: "vmhgfs",
    0x7C7C6673: "prl_fs",
}


def _library() -> Any:
    """Return the C library of this process, None where there is no way to call it."""
    try:
        import ctypes  # noqa: PLC0415 - slow to import, and not part of every Python

        return ctypes.CDLL(None, use_errno=True)
    except (ImportError, OSError, TypeError):
        return None


def take_lease(fd: int, *, alone: bool) -> Optional[bool]:
    """Ask for a lease; None where the system has none, or does not give us one.

    The kernel grants a read lease only while nobody has the file open for writing, and a
    write lease (`alone`) only while nobody else has it open at all.
    """
    if sys.platform != "linux":
        return None
    import fcntl  # noqa: PLC0415 - not on every system

    try:
        # A lease in the way of somebody's open is told to its holder by SIGIO, which would
        # end this process. SIGURG does nothing unless it is asked to.
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        _set_lease(fd, fcntl.F_WRLCK if alone else fcntl.F_RDLCK)
    except OSError as error:
        # EINVAL: no leases on this file system; EACCES: neither the owner of the file nor root.
        return False if error.errno == errno.EAGAIN else None
    return True


def drop_lease(fd: int) -> None:
    """Give a lease back; it ends with the file, too."""
    if sys.platform == "linux":
        import fcntl  # noqa: PLC0415

        _set_lease(fd, fcntl.F_UNLCK)


def _set_lease(fd: int, kind: int) -> None:
    """Ask for a lease, as the owner of the file where it is denied to us.

    The kernel gives leases to the owner and to who has CAP_LEASE, which root in a container may
    lack.
    """
    import fcntl  # noqa: PLC0415

    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, kind)
    except PermissionError:
        library = _library()
        if library is None:
            raise
        failure = _as_owner(library, fd, kind)
        if failure is not None:
            raise failure from None


def _as_owner(library: Any, fd: int, kind: int) -> Optional[OSError]:
    """Ask for a lease with the rights of the file's owner; return why it was denied, if it was.

    The change of user holds for one thread, which ends with it: no interrupt and no signal
    handler, which run in the main thread, ever has these rights.
    """
    import fcntl  # noqa: PLC0415
    import threading  # noqa: PLC0415

    failures: list[OSError] = []

    def ask() -> None:
        library.setfsuid(os.fstat(fd).st_uid)  # it never says whether it could
        try:
            fcntl.fcntl(fd, fcntl.F_SETLEASE, kind)
        except OSError as error:
            failures.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return failures[0] if failures else None


def reserve(fd: int, position: int, size: int) -> None:
    """Set space aside without a change of the length; do nothing where the system cannot."""
    library = _library() if sys.platform == "linux" else None
    call = getattr(library, "fallocate64", None) or getattr(library, "fallocate", None)
    if call is None:
        return
    import ctypes  # noqa: PLC0415

    call.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    keep_size = 1
    while call(fd, keep_size, position, size) != 0:
        number = ctypes.get_errno()
        if number in (errno.EOPNOTSUPP, errno.ENOSYS):
            return
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number))


def network(directory: str) -> str:
    """Name the kind of a file system that other machines share, "" for any other."""
    if sys.platform == "win32":
        return _windows_network(directory)
    library = _library()
    # Intel Macs keep an older form of the call under the plain name.
    call = getattr(library, "statfs$INODE64", None) or getattr(library, "statfs", None)
    if call is None:
        return ""
    import ctypes  # noqa: PLC0415

    found = ctypes.create_string_buffer(4096)  # larger than the structure of any system
    if call(os.fsencode(directory), found) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), directory)
    if sys.platform == "darwin":
        flags = int.from_bytes(found.raw[64:68], sys.byteorder)
        return "" if flags & 0x1000 else found.raw[72:88].split(b"\0")[0].decode()  # MNT_LOCAL
    # f_type comes first: its lower half, where it has two, on every machine with the small end first.
    return NETWORK_MAGIC.get(int.from_bytes(found.raw[:4], sys.byteorder), "")


def _windows_network(directory: str) -> str:
    try:
        import ctypes  # noqa: PLC0415

        kernel: Any = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
    except (ImportError, AttributeError):
        return ""
    root = os.path.splitdrive(directory)[0] + "\\"
    remote = 4
    return "network drive" if kernel.GetDriveTypeW(root) == remote else ""
