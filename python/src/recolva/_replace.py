"""Giving staged files the names of those that they replace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from recolva._places import NEW, NEXT, OLD, PRIOR, show
from recolva.errors import Refused

if TYPE_CHECKING:
    from recolva._journal import Target
    from recolva._places import Place
    from recolva._system import File, Info, System


class UnconfirmedError(Exception):
    """The rename was done, but the disk did not confirm it."""


def replace_input(system: System, home: Place, was: Info, new: File, *, close_store: Callable[[], None]) -> None:
    """Commit: one rename.

    The old input, which `was` describes, gets a second name before, so that what others still
    write to it can never be lost. Where open files cannot be renamed over, `close_store` is
    called, and `new` closed.
    """
    _link_old(system, home, was)
    lock_staged(new)  # cooperating writers that find the new file wait until its name is durable
    path = home.side(NEW)
    check_staged(system, path, new.info().inode)
    check_still_there(system, home, was)
    if not system.renames_open_files:
        close_store()
        new.close()
    system.rename(path, home.path)
    try:
        system.sync_directory(home.directory)
    except OSError as error:
        raise UnconfirmedError(str(error)) from error


def _link_old(system: System, home: Place, was: Info) -> None:
    """Give the input its second name, if an interrupted run has not."""
    path = home.side(OLD)
    old = system.lookup(path)
    if old is None:
        system.link(home.path, path)
    elif not old.same_file(was):
        raise Refused(f"{show(path)} is another file")
    system.sync_directory(home.directory)


def check_still_there(system: System, home: Place, was: Info) -> None:
    """Refuse if another file stands where the input was."""
    current = system.lookup(home.path)
    if current is None or not current.same_file(was):
        raise Refused(f"input {show(home.path)} was replaced meanwhile")


def check_staged(system: System, path: str, inode: int) -> None:
    """Make sure that the name of a staged file still leads to it.

    If somebody took our lock away, another run may have put its own there.
    """
    current = system.lookup(path)
    if current is None or current.inode != inode:
        raise Refused(f"{show(path)} was replaced meanwhile")


def lock_staged(file: File) -> None:
    """Lock a staged file that is about to get its name."""
    if not file.try_lock():
        raise Refused(f"{show(file.path)} is locked by another process")


def link_prior(system: System, place: Place) -> None:
    """Keep the file that is about to be replaced under a second name."""
    system.link(place.path, place.side(PRIOR))
    system.sync_directory(place.directory)


def place_next(system: System, place: Place, target: Target) -> None:
    """Give the staged file the target's name.

    Where there was none, by a link, which never goes over a file that somebody made meanwhile.
    """
    path = place.side(NEXT)
    check_staged(system, path, target.next_ino)
    if target.existed:
        system.rename(path, place.path)
    else:
        try:
            system.link(path, place.path)
        except FileExistsError:
            raise Refused("it was made meanwhile") from None
    system.sync_directory(place.directory)
