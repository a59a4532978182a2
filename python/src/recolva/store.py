"""Score and prune the memories of any store: records in, decisions out, effects last.

Write a class with the three methods of `MemoryStore` around your own store, and call
`prune_memories`. To look before you leap, pass its memories to `score_memories`.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from recolva._arguments import choice, integer, number, quoted, record_id
from recolva._guards import looks_like_seconds, prune_limit, sweep_time
from recolva.arrays import score_batch
from recolva.decisions import Decision, decide
from recolva.errors import InvalidArgumentType, PartialPruneError, Refused
from recolva.models import build_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from recolva.models import Model

__all__ = [
    "Decision",
    "MemoryRecord",
    "MemoryStore",
    "PartialPruneError",
    "looks_like_seconds",
    "prune_memories",
    "score_memories",
]

_ACTIONS = ("archive", "delete")


@dataclass(frozen=True)
class MemoryRecord:
    """One memory, as far as scoring needs it. Checked when it is made.

    ``id`` is a string that is not blank and has no lone surrogate. ``last_accessed_ms`` is a Unix
    time in milliseconds, an int64. ``importance`` is from 0 to 1; the exponential model ignores it.

    Raises InvalidArgument (a ValueError), or InvalidArgumentType (a TypeError too).
    """

    id: str
    last_accessed_ms: int
    importance: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", record_id("id", self.id))
        last_accessed = integer("last_accessed_ms", self.last_accessed_ms)
        object.__setattr__(self, "last_accessed_ms", last_accessed)
        object.__setattr__(self, "importance", number("importance", self.importance, 0.0, 1.0))


@runtime_checkable
class MemoryStore(Protocol):
    """What recolva needs of a store. Inherit from it, or just have the three methods."""

    def get_memories(self) -> Iterable[MemoryRecord]:
        """Return the memories, each id once. Called exactly once in a prune, before any effect.

        Memories that must never be pruned are simply left out.
        """
        ...

    def archive_memories(self, memory_ids: Sequence[str]) -> None:
        """Move these memories out of the live store, so that they can be found again.

        Called at most once in a prune, never with an empty list, with ids that `get_memories` has
        just given, in its order, each once. Do all of it or nothing, and raise if it fails; where
        that is impossible, raise `PartialPruneError` with what was done and what was not. To
        archive an id that is archived already should succeed, so that a prune can be repeated.
        """
        ...

    def delete_memories(self, memory_ids: Sequence[str]) -> None:
        """Remove these memories for good. The same promises as for `archive_memories`."""
        ...


def score_memories(
    memories: Iterable[MemoryRecord],
    *,
    model: str,
    now: int,
    threshold: float,
    half_life_millis: int | None = None,
    scale_millis: int | None = None,
    exponent: float | None = None,
) -> list[Decision]:
    """Score memories and decide on each, in their order; nothing is changed.

    model is ``"exponential"``, with half_life_millis from 1000 to 315576000000, or ``"power-law"``,
    with scale_millis in the same range and exponent from 0.1 to 10. now is a Unix time in
    milliseconds. A memory is to be pruned if its score is below the threshold, from 0 to 1; one
    that equals it is retained.

    >>> memories = [MemoryRecord("new", 87_400_000), MemoryRecord("old", -85_400_000)]
    >>> for d in score_memories(memories, model="exponential", now=87_400_000, threshold=0.5,
    ...                         half_life_millis=86_400_000):
    ...     print(d.id, d.score, d.prune)
    new 1.0 False
    old 0.25 True

    Raises InvalidArgument (a ValueError), for a value of the wrong type InvalidArgumentType (a
    TypeError too).
    """
    built = build_model(
        model,
        half_life_millis=half_life_millis,
        scale_millis=scale_millis,
        exponent=exponent,
    )
    now, threshold = integer("now", now), number("threshold", threshold, 0.0, 1.0)
    return _decide_all(_records("memories", memories), built, now, threshold)


def prune_memories(
    store: MemoryStore,
    *,
    model: str,
    now: int,
    threshold: float,
    half_life_millis: int | None = None,
    scale_millis: int | None = None,
    exponent: float | None = None,
    action: str = "archive",
    time_unit: str | None = None,
    max_prune: int | str | None = None,
) -> list[Decision]:
    """Score the memories of a store and archive or delete those below the threshold.

    Takes the arguments of `score_memories`, and action ``"archive"`` or ``"delete"``. Returns the
    decisions on all memories. Everything is checked before the store is asked to change anything;
    then it is called once, with all ids to prune, and not at all if there are none.

    Raises InvalidArgument, or InvalidArgumentType, for an argument or a memory that is not valid.
    Raises Refused if an id occurs twice, for then the wrong memory could go; if a time looks
    like seconds, for then everything would: time_unit="ms" insists that it is in milliseconds;
    if now is later than the store's own clock, where it has one as its attribute now_ms; and if
    more than max_prune would go, a number like 1000 or a share of all like ``"20%"``.
    What the store raises, `PartialPruneError` for instance, reaches the caller as it is.
    """
    built = build_model(
        model,
        half_life_millis=half_life_millis,
        scale_millis=scale_millis,
        exponent=exponent,
    )
    now, threshold = sweep_time("now", now, 2), number("threshold", threshold, 0.0, 1.0)
    action = choice("action", action, _ACTIONS)
    if time_unit is not None:
        choice("time_unit", time_unit, ("ms",))
    limit = None if max_prune is None else prune_limit("max_prune", max_prune)
    effect = f"{action}_memories"
    _method(store, effect)
    records = _records("get_memories()", _call(store, "get_memories"))
    _refuse_other_clock(store, now)
    _refuse_duplicates(records)
    if time_unit is None:
        _refuse_seconds(records, now)
    decisions = _decide_all(records, built, now, threshold)
    ids = [decision.id for decision in decisions if decision.prune]
    guard = limit and limit.check(len(ids), len(decisions))
    if guard:
        raise Refused(f"{guard.text}: {guard.advice}")
    if ids:
        _call(store, effect, ids)
    return decisions


def _decide_all(
    records: list[MemoryRecord],
    model: Model,
    now: int,
    threshold: float,
) -> list[Decision]:
    times = array("q", [record.last_accessed_ms for record in records])
    weights = array("d", [record.importance for record in records])
    scores = score_batch(model, times, weights, now)
    return [Decision(record.id, score, *decide(score, threshold)) for record, score in zip(records, scores)]


def _records(name: str, memories: Any) -> list[MemoryRecord]:
    """Return memories as a list; all of them must be MemoryRecords."""
    try:
        iterator = iter(memories)
    except TypeError:
        kind = type(memories).__name__
        raise InvalidArgumentType(f"{name} must be an iterable of MemoryRecord, got {kind}") from None
    records = list(iterator)
    for i, record in enumerate(records):
        if not isinstance(record, MemoryRecord):
            kind = type(record).__name__
            raise InvalidArgumentType(f"{name}[{i}] must be a MemoryRecord, got {kind}")
    return records


def _method(store: Any, name: str) -> Any:
    method = getattr(store, name, None)
    if not callable(method):
        raise InvalidArgumentType(f"store must have a method {name}, got {type(store).__name__}")
    return method


def _call(store: Any, name: str, *arguments: Any) -> Any:
    """Call a method of the store; one that is async has done nothing yet, and never would."""
    result = _method(store, name)(*arguments)
    if isinstance(result, CoroutineType):
        result.close()
        raise InvalidArgumentType(f"store must have a method {name} that is not async, got {type(store).__name__}")
    return result


def _refuse_other_clock(store: Any, now: int) -> None:
    """Refuse a time that the store has not reached, if it keeps a clock of its own."""
    own = getattr(store, "now_ms", None)
    if type(own) is int and now > own:
        raise Refused(f"now {now} is later than the clock of the store itself, {own}: pass its now_ms")


def _refuse_duplicates(records: list[MemoryRecord]) -> None:
    seen: set[str] = set()
    for record in records:
        if record.id in seen:
            raise Refused(f"id {quoted(record.id)} occurs twice: which memory is meant is unclear")
        seen.add(record.id)


def _refuse_seconds(records: list[MemoryRecord], now: int) -> None:
    suspects = [r for r in records if looks_like_seconds(r.last_accessed_ms, now)]
    if suspects:
        first = suspects[0]
        raise Refused(
            f"memory {quoted(first.id)}: last_accessed_ms {first.last_accessed_ms} looks like "
            f"seconds, not milliseconds ({len(suspects)} such records); multiply by 1000 to "
            'convert, or pass time_unit="ms" if the times really are milliseconds',
        )
