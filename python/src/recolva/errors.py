"""The errors of recolva, one tree.

    RecolvaError                        everything that recolva raises on purpose
    ├── InvalidArgument (ValueError)    an argument is out of range or does not fit      exit 2
    │   └── InvalidArgumentType (TypeError too)      … or is of the wrong type           exit 2
    ├── InvalidRecord (ValueError)      a line of a store is not a record; .line         exit 1
    ├── Refused (RuntimeError)          a guard fired, nothing was changed               exit 3
    ├── NeedsRecovery (RuntimeError)    an interrupted sweep needs a person              exit 4
    ├── CommittedUncertain (RuntimeError)   committed, durability not certain            exit 5
    └── PartialPruneError (RuntimeError)    a MemoryStore did part of the work; .done, .failed

Each is also the built-in error that fits, so ``except ValueError`` keeps working. "exit" is the
status with which the ``decay-sweep`` program reports the same event. Operating-system errors (a
missing file, a full disk) are not wrapped: they stay ``OSError``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "CommittedUncertain",
    "InvalidArgument",
    "InvalidArgumentType",
    "InvalidRecord",
    "NeedsRecovery",
    "PartialPruneError",
    "RecolvaError",
    "Refused",
]


class RecolvaError(Exception):
    """Root of the tree: catches everything that recolva raises on purpose."""


class InvalidArgument(RecolvaError, ValueError):
    """An argument is missing, out of range, or belongs to another model."""


class InvalidArgumentType(InvalidArgument, TypeError):
    """An argument is of the wrong type, for instance a float where an integer is needed."""


class InvalidRecord(RecolvaError, ValueError):
    """A line of a store is not a valid record; nothing was changed.

    ``line`` is its number, counted from 1, or None where there is no line.
    """

    def __init__(self, text: str, line: int | None = None) -> None:
        """Say what is wrong; ``text`` is the whole message, the line number included."""
        super().__init__(text)
        self.line = line

    def __reduce__(self) -> tuple[type[InvalidRecord], tuple[str, int | None]]:
        """Pickle with the line number: errors cross process pools."""
        return type(self), (str(self), self.line)


class Refused(RecolvaError, RuntimeError):
    """A guard fired, or the store is busy or was rewritten meanwhile; nothing was changed."""


class NeedsRecovery(RecolvaError, RuntimeError):
    """An interrupted sweep left files that only a person can judge; the text names them."""


class CommittedUncertain(RecolvaError, RuntimeError):
    """The sweep is committed, but an old file still has a writer or durability is unknown."""


class PartialPruneError(RecolvaError, RuntimeError):
    """A ``MemoryStore`` archived or deleted some of the memories and failed on the others.

    ``done`` and ``failed`` are tuples of ids; together they are the ids that were asked for.
    """

    def __init__(self, done: Iterable[str], failed: Iterable[str]) -> None:
        """Take the ids that are gone and the ids that are still there."""
        self.done = _ids("done", done)
        self.failed = _ids("failed", failed)
        total = len(self.done) + len(self.failed)
        super().__init__(f"pruned {len(self.done)} of {total} memories, {len(self.failed)} failed")

    def __reduce__(self) -> tuple[type[PartialPruneError], tuple[tuple[str, ...], tuple[str, ...]]]:
        """Pickle with both lists: errors cross process pools."""
        return type(self), (self.done, self.failed)


def _ids(name: str, values: Iterable[str]) -> tuple[str, ...]:
    if isinstance(values, str):  # else its characters would pass for ids
        raise InvalidArgumentType(f"{name} must be a list of ids, got {type(values).__name__}")
    return tuple(values)
