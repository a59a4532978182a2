"""Stores: everything is checked first, then the store is called once, or not at all."""

from __future__ import annotations

import dataclasses

import pytest

import recolva
from recolva import Decision, MemoryRecord, MemoryStore, prune_memories, score_memories
from recolva.errors import InvalidArgument, InvalidArgumentType, PartialPruneError, Refused

DAY = 86_400_000
NOW = 1_750_000_000_000
POLICY = {"model": "exponential", "now": NOW, "half_life_millis": DAY, "threshold": 0.5}
DOCUMENTED = {
    "model": "power-law",
    "now": 87_400_000,
    "scale_millis": 86_400_000,
    "exponent": 1.0,
    "threshold": 0.25,
}

OLD = MemoryRecord("old", NOW - 10 * DAY)
EDGE = MemoryRecord("edge", NOW - DAY)
NEW = MemoryRecord("new", NOW)


class Store(MemoryStore):
    """Notes what is asked of it."""

    def __init__(self, memories, error=None):
        self.memories = memories
        self.error = error
        self.calls = []

    def get_memories(self):
        self.calls.append("get")
        return self.memories

    def archive_memories(self, memory_ids):
        self.calls.append(("archive", memory_ids))
        if self.error:
            raise self.error

    def delete_memories(self, memory_ids):
        self.calls.append(("delete", memory_ids))


class Uniterable:
    __iter__ = None


@pytest.mark.usefixtures("backend")
def test_documented_memories():
    """The example of the documentation, with both backends."""
    memories = [
        MemoryRecord(id="msg-1", last_accessed_ms=87_400_000, importance=0.8),
        MemoryRecord(id="msg-2", last_accessed_ms=-85_400_000, importance=0.5),
    ]
    decisions = score_memories(
        memories,
        model="power-law",
        now=87_400_000,
        scale_millis=86_400_000,
        exponent=1.0,
        threshold=0.25,
    )
    lines = [f"{d.id}: score={d.score:.4f} prune={d.prune}" for d in decisions]
    assert lines == ["msg-1: score=0.8000 prune=False", "msg-2: score=0.1667 prune=True"]


def test_documented_store_adapter():
    """The adapter of the documentation, its three methods filled in."""
    archived = []

    class MyMemoryStore(MemoryStore):
        def get_memories(self):
            return [
                MemoryRecord(id="msg-1", last_accessed_ms=87_400_000, importance=0.8),
                MemoryRecord(id="msg-2", last_accessed_ms=-85_400_000, importance=0.5),
            ]

        def archive_memories(self, memory_ids):
            archived.extend(memory_ids)

        def delete_memories(self, memory_ids):
            raise AssertionError(memory_ids)

    decisions = prune_memories(
        MyMemoryStore(),
        model="power-law",
        now=87_400_000,
        scale_millis=86_400_000,
        exponent=1.0,
        threshold=0.25,
        action="archive",
    )
    assert archived == ["msg-2"]
    assert [d.prune for d in decisions] == [False, True]


@pytest.mark.usefixtures("backend")
def test_decisions_come_in_order_with_reasons():
    """Decisions are in the order of the memories; equality retains."""
    decisions = score_memories(iter([OLD, EDGE, NEW]), **POLICY)
    assert decisions == [
        Decision("old", 2.0**-10, prune=True),
        Decision("edge", 0.5, prune=False),
        Decision("new", 1.0, prune=False),
    ]
    assert [(d.reason, d.line) for d in decisions] == [
        ("score_below_threshold", None),
        ("score_at_or_above_threshold", None),
        ("score_at_or_above_threshold", None),
    ]


@pytest.mark.parametrize("action", ["archive", "delete"])
def test_a_store_is_called_once(action):
    """The memories are fetched once and the store is told once, of all ids in order."""
    store = Store([NEW, OLD, EDGE, MemoryRecord("older", 0)])
    decisions = prune_memories(store, action=action, **POLICY)
    assert store.calls == ["get", (action, ["old", "older"])]
    assert len(decisions) == 4


def test_archive_is_the_default():
    """Without an action nothing is deleted."""
    store = Store([OLD])
    prune_memories(store, **POLICY)
    assert store.calls == ["get", ("archive", ["old"])]


@pytest.mark.parametrize("memories", [[], [NEW, EDGE]])
def test_a_store_is_not_called_for_nothing(memories):
    """With nothing to prune only the memories are fetched."""
    store = Store(memories)
    prune_memories(store, action="delete", **POLICY)
    assert store.calls == ["get"]


def test_any_object_with_the_methods_is_a_store():
    """MemoryStore is a protocol; inheriting from it is not needed."""

    class Plain:
        get_memories = archive_memories = delete_memories = lambda self: []

    assert isinstance(Plain(), MemoryStore)
    assert prune_memories(Plain(), **POLICY) == []


def test_the_time_of_a_prune_in_seconds_is_warned_of():
    """Taken for milliseconds it is in 1970, and nothing would ever be pruned; scoring alone takes any clock."""
    with pytest.warns(RuntimeWarning, match="^now 4102444799 is in February 1970") as caught:
        prune_memories(Store([]), **{**POLICY, "now": 4_102_444_799})
    assert caught[0].filename == __file__
    assert score_memories([], **{**POLICY, "now": 4_102_444_799}) == []


def test_no_more_goes_than_may():
    """Beyond max_prune the store is not asked to change anything."""
    store = Store([OLD, EDGE, NEW])
    with pytest.raises(Refused, match="1 of 3 records would be pruned, more than the limit of 33%"):
        prune_memories(store, **POLICY, max_prune="33%")
    assert store.calls == ["get"]
    prune_memories(store, **POLICY, max_prune=1)
    assert store.calls[2:] == [("archive", ["old"])]


@pytest.mark.parametrize(
    ("limit", "error", "text"),
    [
        (-1, InvalidArgument, "max_prune must be between 0 and 9223372036854775807, got -1"),
        (True, InvalidArgumentType, 'max_prune must be an integer or a string like "20%", got bool'),
        (0.2, InvalidArgumentType, 'max_prune must be an integer or a string like "20%", got float'),
        ("101%", InvalidArgument, 'a percentage like 20%, got "101%"'),
        ("0.5%", InvalidArgument, 'a percentage like 20%, got "0.5%"'),
        ("-1", InvalidArgument, 'a percentage like 20%, got "-1"'),
        ("9223372036854775808", InvalidArgument, 'a percentage like 20%, got "9223372036854775808"'),
        ("", InvalidArgument, 'a percentage like 20%, got ""'),
    ],
)
def test_limits_are_checked(limit, error, text):
    """max_prune is a whole number of records, or whole percents."""
    store = Store([OLD])
    with pytest.raises(error) as caught:
        prune_memories(store, **POLICY, max_prune=limit)
    assert (str(caught.value).endswith(text), store.calls) == (True, [])


def test_ids_that_occur_twice_are_refused():
    """One of two memories of the same id is old: the store could not know which."""
    store = Store([OLD, NEW, MemoryRecord("old", NOW)])
    with pytest.raises(Refused) as caught:
        prune_memories(store, action="delete", **POLICY)
    assert str(caught.value) == 'id "old" occurs twice: which memory is meant is unclear'
    assert store.calls == ["get"]


def test_ids_are_compared_as_text():
    """A subclass of str can't hide that its id occurs twice: a record keeps the plain string."""

    class Unequal(str):
        __slots__ = ()

        def __eq__(self, other):
            return False

        def __hash__(self):
            return id(self)

    store = Store([MemoryRecord(Unequal("old"), 0), MemoryRecord(Unequal("old"), NOW)])
    with pytest.raises(Refused, match='id "old" occurs twice'):
        prune_memories(store, **POLICY)


@pytest.mark.parametrize("method", ["get_memories", "archive_memories"])
def test_a_store_with_coroutines_is_refused(method):
    """An async method would be called and do nothing: the caller must hear of it."""
    store = Store([OLD])

    async def never(*_):
        raise AssertionError

    setattr(store, method, never)
    with pytest.raises(InvalidArgumentType) as caught:
        prune_memories(store, **POLICY)
    assert str(caught.value) == f"store must have a method {method} that is not async, got Store"
    assert store.calls in ([], ["get"])


@pytest.mark.parametrize("last_accessed", [978_307_200, 1_750_000_000, 4_102_444_799])
def test_times_in_seconds_are_refused(last_accessed):
    """Times that are dates from 2001 to 2100 in seconds would all be pruned."""
    store = Store([NEW, MemoryRecord("s\n", last_accessed), MemoryRecord("t", last_accessed)])
    with pytest.raises(Refused) as caught:
        prune_memories(store, action="delete", **POLICY)
    assert str(caught.value) == (
        f'memory "s\\u000a": last_accessed_ms {last_accessed} looks like seconds, not milliseconds '
        '(2 such records); multiply by 1000 to convert, or pass time_unit="ms" if the times really '
        "are milliseconds"
    )
    assert store.calls == ["get"]


@pytest.mark.parametrize("last_accessed", [978_307_199, 4_102_444_800, 0, -1])
def test_other_times_are_not_suspected(last_accessed):
    """Outside those dates a time is taken as it is."""
    store = Store([MemoryRecord("a", last_accessed)])
    prune_memories(store, **POLICY)
    assert store.calls == ["get", ("archive", ["a"])]


def test_old_clocks_are_not_suspected():
    """While now itself is before 2001 a small time is nothing strange."""
    store = Store([MemoryRecord("a", 978_307_200)])
    prune_memories(store, **{**POLICY, "now": 978_307_199_999})
    assert store.calls == ["get", ("archive", ["a"])]


def test_time_unit_insists():
    """time_unit="ms" says that the times are milliseconds indeed."""
    store = Store([MemoryRecord("a", 1_750_000_000)])
    prune_memories(store, time_unit="ms", **POLICY)
    assert store.calls == ["get", ("archive", ["a"])]


def test_what_the_store_raises_reaches_the_caller():
    """A store that did part of the work says which."""
    error = PartialPruneError(["old"], ["older"])
    store = Store([OLD, MemoryRecord("older", 0)], error)
    with pytest.raises(PartialPruneError) as caught:
        prune_memories(store, **POLICY)
    assert caught.value is error
    assert (error.done, error.failed) == (("old",), ("older",))
    assert str(error) == "pruned 1 of 2 memories, 1 failed"


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"action": "drop"}, InvalidArgument, 'action must be archive or delete, got "drop"'),
        ({"action": None}, InvalidArgumentType, "action must be a string, got NoneType"),
        ({"time_unit": "s"}, InvalidArgument, 'time_unit must be ms, got "s"'),
        ({"threshold": 1.5}, InvalidArgument, "threshold must be between 0 and 1, got 1.5"),
        ({"threshold": float("nan")}, InvalidArgument, "threshold must be between 0 and 1, got NaN"),
        ({"now": 0.5}, InvalidArgumentType, "now must be an integer, got float"),
        ({"model": "typo"}, InvalidArgument, 'model must be exponential or power-law, got "typo"'),
        ({"exponent": 1.0}, InvalidArgument, "exponent is not a parameter of the exponential model"),
    ],
)
def test_arguments_are_checked_before_the_store_is_touched(changes, error, text):
    """A wrong argument is an error even if there would be nothing to do."""
    store = Store([])
    with pytest.raises(error) as caught:
        prune_memories(store, **{**POLICY, **changes})
    assert str(caught.value) == text
    assert store.calls == []


@pytest.mark.parametrize(
    ("memories", "text"),
    [
        (None, "get_memories() must be an iterable of MemoryRecord, got NoneType"),
        (Uniterable(), "get_memories() must be an iterable of MemoryRecord, got Uniterable"),
        ([OLD, {"id": "b"}], "get_memories()[1] must be a MemoryRecord, got dict"),
    ],
)
def test_memories_are_checked_before_the_first_effect(memories, text):
    """A store that returns something else is told so, and nothing is pruned."""
    store = Store(memories)
    with pytest.raises(InvalidArgumentType) as caught:
        prune_memories(store, **POLICY)
    assert str(caught.value) == text
    assert store.calls == ["get"]


def test_a_store_without_the_method_is_refused_first():
    """A store that cannot delete is not asked for its memories."""

    class ReadOnly:
        def get_memories(self):
            raise AssertionError

    with pytest.raises(InvalidArgumentType) as caught:
        prune_memories(ReadOnly(), action="delete", **POLICY)
    assert str(caught.value) == "store must have a method delete_memories, got ReadOnly"


def test_scoring_checks_its_arguments_even_for_no_memories():
    """score_memories([], model="typo") is an error."""
    with pytest.raises(InvalidArgument):
        score_memories([], **{**POLICY, "model": "typo"})
    assert score_memories([], **POLICY) == []


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("", 0), "id must not be blank"),
        (("\u3000", 0), "id must not be blank"),
        (("\ud83d", 0), "id must not contain a lone surrogate"),
        ((5, 0), "id must be a string, got int"),
        (("a", 1.0), "last_accessed_ms must be an integer, got float"),
        (("a", 0, 1.5), "importance must be between 0 and 1, got 1.5"),
        (("a", 0, None), "importance must be a number, got NoneType"),
    ],
)
def test_records_are_checked(arguments, text):
    """A MemoryRecord that exists is valid."""
    with pytest.raises(InvalidArgument) as caught:
        MemoryRecord(*arguments)
    assert str(caught.value) == text


def test_records_are_frozen_values():
    """Records are frozen; a missing importance is 1."""
    record = MemoryRecord("a", 5)
    assert record.importance == 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.importance = 0.5
    assert recolva.score_memories([record], **DOCUMENTED)[0].id == "a"
