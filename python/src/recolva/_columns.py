"""Decisions by columns: a million of them in the space of their ids and ten bytes each."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from recolva.decisions import RETAINED, SCORE_BELOW, Decision, Draft

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator

_REASONS = (RETAINED, SCORE_BELOW)
_SHOWN = 3  # decisions at either end of a repr


class Batch:
    """The decisions on one stretch of lines.

    `ids` holds, joined by line feeds, what stands between the quotes of each id in
    JSON: no line feed can occur in it. `lines` is a range where every line is a record.
    """

    __slots__ = ("ids", "lines", "prune", "scores")

    def __init__(self, ids: bytes, scores: array[float], prune: bytes, lines: range | array[int]) -> None:
        self.ids, self.scores, self.prune, self.lines = ids, scores, prune, lines

    def __len__(self) -> int:
        return len(self.scores)

    def __iter__(self) -> Iterator[Decision]:
        for identity, score, prune, line in zip(self.decoded_ids(), self.scores, self.prune, self.lines):
            draft: Any = Draft()
            draft.id, draft.score, draft.prune = identity, score, prune == 1
            draft.reason, draft.line = _REASONS[prune], line
            draft.__class__ = Decision
            yield draft

    def decoded_ids(self) -> list[str]:
        """Return the ids as they are meant, escapes resolved."""
        if not self.scores:
            return []
        ids = self.ids.decode().split("\n")
        if b"\\" in self.ids:
            return [json.loads(f'"{raw}"') if "\\" in raw else raw for raw in ids]
        return ids

    def decision(self, at: int, ids: list[str]) -> Decision:
        """Return the decision at an index, given the decoded ids."""
        prune = self.prune[at]
        return Decision(ids[at], self.scores[at], prune == 1, _REASONS[prune], self.lines[at])


class Decisions(Sequence[Decision]):
    """The decisions on a file, in its order, each made when it is asked for.

    A sequence of `Decision`: it has a length, can be indexed, sliced (to a list),
    iterated and compared with any list, tuple or other `Decisions`. Beyond that it
    says how many records were pruned, and what else was in the file.
    """

    __slots__ = ("_batches", "_cached", "_cached_ids", "_ends", "blank", "invalid", "pruned", "run_id", "would_refuse")

    pruned: int
    """How many decisions prune."""
    blank: int
    """How many lines of the file are white space."""
    invalid: int
    """How many lines are no record and were kept for that (`on_invalid="keep"`)."""
    run_id: str
    """Name of the run, as in its audit: 16 hex digits."""
    would_refuse: tuple[str, ...]
    """Of a scan: why archive or delete would refuse what was scanned; empty if they would not."""

    def __init__(self) -> None:
        self._batches: list[Batch] = []
        self._ends: list[int] = []
        self._cached = -1
        self._cached_ids: list[str] = []
        self.pruned = self.blank = self.invalid = 0
        self.run_id = ""
        self.would_refuse = ()

    def add(self, batch: Batch) -> None:
        """Append the decisions of a batch."""
        if len(batch):
            self._batches.append(batch)
            self._ends.append(len(self) + len(batch))
            self.pruned += batch.prune.count(1)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Decision]:
        for batch in self._batches:
            yield from batch

    @overload
    def __getitem__(self, index: int) -> Decision: ...
    @overload
    def __getitem__(self, index: slice) -> list[Decision]: ...
    def __getitem__(self, index: int | slice) -> Decision | list[Decision]:
        if isinstance(index, slice):
            return [self._at(at) for at in range(*index.indices(len(self)))]
        at = index.__index__()
        at += len(self) if at < 0 else 0
        if not 0 <= at < len(self):
            raise IndexError("decision index out of range")
        return self._at(at)

    def _at(self, at: int) -> Decision:
        number = bisect_right(self._ends, at)
        batch = self._batches[number]
        if number != self._cached:
            self._cached_ids, self._cached = batch.decoded_ids(), number
        return batch.decision(at - self._ends[number] + len(batch), self._cached_ids)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Decisions, list, tuple)):
            return NotImplemented
        return len(self) == len(other) and all(mine == yours for mine, yours in zip(self, other))

    __hash__ = None  # type: ignore[assignment] # like a list

    def __repr__(self) -> str:
        shown = [repr(decision) for decision in self[:_SHOWN]]
        if len(self) > 2 * _SHOWN:
            shown += ["...", *(repr(decision) for decision in self[-_SHOWN:])]
        else:
            shown += [repr(decision) for decision in self[_SHOWN:]]
        return f"<Decisions: {len(self)} decisions, {self.pruned} prune: [{', '.join(shown)}]>"
