"""What an interrupted sweep leaves beside a file, and what becomes of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from recolva import _staged as staged
from recolva._locks import Deadline, LockFiles
from recolva._places import locate, show
from recolva.errors import NeedsRecovery

if TYPE_CHECKING:
    from recolva._places import Path, Place

_STAGED_NAMES = ("new", "add", "aud", "next", "prior")
_FOREIGN_NAMES = ("journal", "pending", "old")  # of a run that this module can not finish


def settle(place: Place) -> bool:
    """Remove what a dead run left beside a file, its lock being held; tell whether there was any.

    Staged files alone mean that nothing had been changed. A journal or pointer of an
    interrupted commit is left for the program that wrote it.
    """
    for name in _FOREIGN_NAMES:
        if os.path.lexists(place.side(name)):
            text = f"{show(place.side(name))} is left from an interrupted sweep"
            raise NeedsRecovery(f"{text}: run decay-sweep recover --input {show(place.path)}")
    return sum(staged.remove(place.side(name)) for name in _STAGED_NAMES) > 0


def settle_all(path: Path, lock_timeout: float) -> bool:
    """Take the lock of a file given by the user, and settle what is left there."""
    place = locate("input", path)
    locks = LockFiles([place], Deadline(lock_timeout))
    try:
        return settle(place)
    finally:
        locks.release()
