"""Adding staged bytes to an archive or audit, durably, so that it can be undone."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Callable, NamedTuple, Optional

from recolva import _staged as staged
from recolva._locks import Deadline, open_locked
from recolva._places import Place, open_file, show
from recolva.errors import Refused

if TYPE_CHECKING:
    from recolva._staged import Staged


class Change(NamedTuple):
    """A change of a file that is made but not yet final."""

    undo: Callable[[], None]
    keep: Callable[[], object] = lambda: None
    """Drop what `undo` needs."""


def append_to(place: Place, content: Staged, unchanged: Optional[int], deadline: Deadline) -> Change:
    """Append to an existing file; a newline goes first where the last line lacks one.

    `unchanged` is the size that the file must still have, None for any.
    """
    file = open_locked(place, os.O_RDWR | os.O_APPEND, deadline)
    try:
        size = os.fstat(file).st_size
        if unchanged not in (None, size):
            raise Refused(f"{show(place.path)} was changed by another process meanwhile")

        def undo() -> None:
            os.truncate(place.path, size)

        try:
            if staged.ends_open(file, size):
                staged.write_all(file, b"\n")
            staged.copy(content.file, 0, content.size, lambda data: staged.write_all(file, data))
            staged.sync(file)
        except BaseException:
            undo()
            raise
        return Change(undo)
    finally:
        os.close(file)


def replace_by(place: Place, content: Staged, like: int) -> Change:
    """Put the content in the place of a file, which may be missing, in one step.

    A file that was there keeps its mode and owner, a new one gets those of `like`.
    """
    next_path, prior_path = place.side("next"), place.side("prior")
    file = open_file(next_path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        staged.copy(content.file, 0, content.size, lambda data: staged.write_all(file, data))
        existed = place.info() is not None
        if existed:
            model = open_file(place.path, os.O_RDONLY)
            try:
                keep_attributes(model, file)
            finally:
                os.close(model)
            os.link(place.path, prior_path)
        else:
            keep_attributes(like, file, access_only=True)
        staged.sync(file)
    except BaseException:
        staged.remove(next_path)
        staged.remove(prior_path)
        raise
    finally:
        os.close(file)

    def undo() -> None:
        if existed:
            os.replace(prior_path, place.path)
        else:
            staged.remove(place.path)

    os.replace(next_path, place.path)
    try:
        staged.sync_directory(place.directory)
    except BaseException:
        undo()
        raise
    return Change(undo, keep=lambda: staged.remove(prior_path))


def keep_attributes(model: int, file: int, *, access_only: bool = False) -> None:
    """Give a file the mode, owner and extended attributes of a model.

    With `access_only`, for a file that is new, an owner that cannot be given is no
    error, and the file then stays private.
    """
    if sys.platform == "win32":
        return
    info, own = os.fstat(model), os.fstat(file)
    if (info.st_uid, info.st_gid) != (own.st_uid, own.st_gid):
        try:
            os.fchown(file, info.st_uid, info.st_gid)
        except PermissionError:
            if access_only:
                return
            raise
    if sys.platform == "linux" and not access_only:
        for name in os.listxattr(model):
            os.setxattr(file, name, os.getxattr(model, name))
    os.fchmod(file, info.st_mode & 0o7777)
