"""Which implementation scores: the native library, or pure Python. The results are the same.

The library is loaded at the first use that gains from it, never at import, and pure Python takes
over where that fails. The environment variable RECOLVA_NATIVE decides otherwise: 0 never loads,
1 insists and raises.

The library contains a Go runtime, whose threads do not survive a fork. A forked child therefore
never calls the parent's copy: it loads one of its own, from memory, when it first needs it.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from recolva import _room
from recolva._arguments import quoted
from recolva._forks import held_off
from recolva._native import Unusable, library_path
from recolva.errors import InvalidArgument, Refused

try:
    from recolva._ffi import NativeLibrary
except ImportError as error:  # a Python without ctypes, or a subinterpreter that cannot have it
    _no_ctypes = str(error)
else:
    _no_ctypes = ""

__all__ = ["Backend", "backend", "native_library"]


@dataclass(frozen=True)
class Backend:
    """Which implementation this process uses."""

    name: str
    """``native`` or ``pure``."""
    reason: str
    """Why."""
    library: str | None = None
    """Path of the loaded library, None if pure."""

    def __str__(self) -> str:
        """Return it in one line: ``pure (RECOLVA_NATIVE=0)``."""
        return f"{self.name} ({self.reason})"


@dataclass(frozen=True)
class _State:
    process: int
    library: NativeLibrary | None
    backend: Backend


_lock = threading.Lock()
_state: _State | None = None
_tried_by: int | None = None  # process that first mapped the library; _ANCESTOR for a parent
_ANCESTOR = -1


def backend() -> Backend:
    """Return which implementation this process uses and why; loads the library if need be.

    >>> print(backend())  # doctest: +SKIP
    native (loaded from /usr/lib/python3/dist-packages/recolva/_native/librecolva.so)

    Raises Refused if RECOLVA_NATIVE=1 insists on a library that cannot be used.
    """
    return _current().backend


def native_library() -> NativeLibrary | None:
    """Return the library of this process, or None for pure Python."""
    return _current().library


def _current() -> _State:
    state = _state
    # the process is compared too: a fork from C code may not run Python's hooks
    if state is None or state.process != os.getpid():
        return _choose()
    return state


def _choose() -> _State:
    """Decide once for this process."""
    global _state  # noqa: PLW0603 - the one choice of a process
    with held_off, _lock:
        process = os.getpid()
        if _state is not None and _state.process == process:
            return _state
        if _state is not None and _state.library is None:
            # what a parent could not use, this process need not try again
            _state = replace(_state, process=process)
            return _state
        wish = os.environ.get("RECOLVA_NATIVE", "")
        if wish not in ("", "0", "1"):
            raise InvalidArgument(f"RECOLVA_NATIVE must be 0 or 1, got {quoted(wish)}")
        _state = _load(process, wish)
        return _state


def _load(process: int, wish: str) -> _State:
    if wish == "0":
        return _State(process, None, Backend("pure", "RECOLVA_NATIVE=0"))
    path = library_path()
    inherited = _tried_by not in (None, process)
    try:
        library = _open(path, process, inherited=inherited)
    except (OSError, Unusable) as error:
        if wish == "1":
            raise Refused(f"RECOLVA_NATIVE=1, but the library cannot be used: {error}") from None
        return _State(process, None, Backend("pure", str(error)))
    how = "a copy for this forked process of" if inherited else "loaded from"
    return _State(process, library, Backend("native", f"{how} {path}", str(path)))


def _open(path: Path, process: int, *, inherited: bool) -> NativeLibrary:
    """Load the library, or a copy of it if a parent has mapped it: the same file is mapped once."""
    global _tried_by  # noqa: PLW0603 - the one choice of a process
    if not path.is_file():
        raise Unusable("this installation has no native library")
    if obstacle := _no_ctypes or _room.shortage():
        raise Unusable(obstacle)
    if not inherited:
        _tried_by = process
        return NativeLibrary(str(path))
    content = path.read_bytes()
    try:
        return _load_from_memory(content)
    except (AttributeError, OSError, Unusable):  # no memfd_create here, or not allowed to run it
        return _load_from_temporary(content, path.suffix)


def _load_from_memory(content: bytes) -> NativeLibrary:
    memory = os.memfd_create("librecolva")
    try:
        _write_all(memory, content)
        # by the number of the process: /proc/self/fd/N could be the name under which a parent,
        # itself forked, loaded its own copy, and the loader goes by name first
        return NativeLibrary(f"/proc/{os.getpid()}/fd/{memory}")
    finally:
        os.close(memory)


def _load_from_temporary(content: bytes, suffix: str) -> NativeLibrary:
    import tempfile  # noqa: PLC0415 - costs much, used seldom

    file, path = tempfile.mkstemp(prefix="librecolva-", suffix=suffix)
    try:
        try:
            _write_all(file, content)
        finally:
            os.close(file)
        return NativeLibrary(path)
    finally:
        Path(path).unlink()  # the mapping stays; a platform that forks can unlink a mapped file


def _write_all(file: int, content: bytes) -> None:
    """Write everything: os.write may stop short, and a mapping past the end would be fatal."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]


def _after_fork_in_child() -> None:
    """Disown the parent's library."""
    global _lock, _state, _tried_by  # noqa: PLW0603 - the one choice of a process
    _lock = threading.Lock()
    if _tried_by is not None:
        _tried_by = _ANCESTOR
    if _state is not None and _state.library is not None:
        _state = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
