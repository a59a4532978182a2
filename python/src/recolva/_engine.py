"""What every step of a transaction or a recovery needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recolva import _system
from recolva._journal import Notes
from recolva._locks import DataLocks, Deadline

if TYPE_CHECKING:
    from recolva._system import System


class Engine:
    """The system, the locks of data files, the notes, and how long to wait for others."""

    def __init__(self, lock_timeout: float) -> None:
        self.system: System = _system.SYSTEM
        self.lock_timeout = lock_timeout
        self.data = DataLocks(self.system)
        self.notes = Notes(self.system)
        self.warnings: list[str] = []
        """What the user is to be told once all is done."""

    def deadline(self) -> Deadline:
        """Return how long to wait for a lock from now on."""
        return Deadline(self.system, self.lock_timeout)
