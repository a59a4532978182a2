"""The state of an engine as JSON values: what `to_dict` writes and `from_dict` reads.

Schema 1, names sorted at every level that is ours:

    {"schema": 1, "now": 6, "expired": 0, "forgotten": 0,
     "defaults": {"half_life": 10, "threshold": 0.1}, "grace_ticks": 0,
     "memories": {KEY: {"content": …, "half_life": …, "threshold": …, "tags": […],
                        "created_at": …, "last_accessed_at": …, "access_count": …}},
     "grace": {KEY: {… the same, and "expired_at"}}}

Also read: dumps of memory-half-life 0.1, which have "state" in place of "schema". Their keys stand
in the values; what had expired or been forgotten is still in them and is left behind; the defaults
are not in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memoryhalflife._checks import (
    DEFAULT_HALF_LIFE,
    DEFAULT_THRESHOLD,
    MAX_TICK,
    Settings,
    checked_settings,
    integer,
    quoted,
)
from memoryhalflife._runtime import Clock
from memoryhalflife.memory import Memory
from memoryhalflife.values import copied
from recolva.errors import InvalidArgument, InvalidArgumentType

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["SCHEMA", "Loaded", "from_dict", "memory_fields", "memory_from_fields", "to_dict"]

#: Number of the layout described above.
SCHEMA = 1

_FIELDS = ("access_count", "content", "created_at", "half_life", "last_accessed_at", "tags", "threshold")


class Loaded(NamedTuple):
    """What a dump holds: entries are memories, the ticks at which they are due and expired."""

    settings: Settings
    clock: Clock
    entries: list[tuple[Memory, int, int | None]]


def to_dict(settings: Settings, clock: Clock, entries: Iterable[tuple[Memory, int | None]]) -> dict[str, Any]:
    """Return the state as JSON values that share nothing with the engine."""
    living: dict[str, Any] = {}
    grace: dict[str, Any] = {}
    for memory, expired_at in sorted(entries, key=lambda entry: entry[0].key):
        fields = memory_fields(memory)
        if expired_at is None:
            living[memory.key] = fields
        else:
            grace[memory.key] = dict(sorted({**fields, "expired_at": expired_at}.items()))
    return {
        "defaults": {
            "half_life": settings.default_half_life,
            "threshold": settings.default_threshold,
        },
        "expired": clock.expired,
        "forgotten": clock.forgotten,
        "grace": grace,
        "grace_ticks": settings.grace_ticks,
        "memories": living,
        "now": clock.now,
        "schema": SCHEMA,
    }


def memory_fields(memory: Memory) -> dict[str, Any]:
    """Return a memory as JSON values, without its key."""
    fields = {name: getattr(memory, name) for name in _FIELDS}
    fields["content"] = copied(memory.content)
    fields["tags"] = list(memory.tags)
    return fields


def memory_from_fields(key: str, fields: dict[str, Any]) -> Memory:
    """Return the memory of `memory_fields`, checked."""
    return Memory(key, **{name: _field(fields, name) for name in _FIELDS})


def from_dict(state: dict[str, Any]) -> Loaded:
    """Read a dump of either layout; an error names the memory and the value at fault."""
    if not isinstance(state, dict):
        raise InvalidArgumentType(f"state must be a dict, got {type(state).__name__}")
    if "schema" not in state and "state" in state:
        return _from_first_version(state)
    schema = integer("schema", _field(state, "schema"))
    if schema != SCHEMA:
        raise InvalidArgument(f"schema must be {SCHEMA}, got {schema}")
    defaults = _dict(state, "defaults")
    settings = checked_settings(
        _field(defaults, "half_life"), _field(defaults, "threshold"), _field(state, "grace_ticks")
    )
    clock = Clock(*(integer(name, _field(state, name), 0, MAX_TICK) for name in Clock._fields))
    entries = [_living(key, fields, clock.now) for key, fields in _dict(state, "memories").items()]
    for key, fields in _dict(state, "grace").items():
        if key in state["memories"]:
            raise InvalidArgument(f"key {quoted(key)} is both in memories and in grace")
        entries.append(_resting(key, fields, clock.now, settings.grace_ticks))
    return Loaded(settings, clock, entries)


def _living(key: str, fields: Any, now: int) -> tuple[Memory, int, int | None]:
    memory = _memory(key, fields, now)
    due = memory.last_accessed_at + memory.ttl()
    if due <= now:
        raise InvalidArgument(f"memory {quoted(key)} expired at tick {due}, and now is {now}")
    return memory, due, None


def _resting(key: str, fields: Any, now: int, grace: int) -> tuple[Memory, int, int | None]:
    memory = _memory(key, fields, now)
    expired_at = integer("expired_at", _field(fields, "expired_at"), 0, now)
    if expired_at != memory.last_accessed_at + memory.ttl():
        due = memory.last_accessed_at + memory.ttl()
        raise InvalidArgument(f"memory {quoted(key)} expired at tick {due}, got expired_at {expired_at}")
    if expired_at + grace <= now:
        raise InvalidArgument(f"memory {quoted(key)} was gone at tick {expired_at + grace}, and now is {now}")
    return memory, expired_at + grace, expired_at


def _memory(key: str, fields: Any, now: int) -> Memory:
    """Build a memory from a dump, naming it in what may be wrong with it."""
    try:
        if not isinstance(fields, dict):
            raise InvalidArgumentType(f"must be a dict, got {type(fields).__name__}")
        memory = memory_from_fields(key, fields)
        integer("last_accessed_at", memory.last_accessed_at, 0, now)
    except InvalidArgument as error:
        shown = quoted(key) if isinstance(key, str) else repr(key)
        raise type(error)(f"memory {shown}: {error}") from None
    return memory


def _from_first_version(state: dict[str, Any]) -> Loaded:
    """Read a dump of memory-half-life 0.1."""
    now = integer("tick", _field(state, "tick"), 0, MAX_TICK)
    entries: list[tuple[Memory, int, int | None]] = []
    expired = forgotten = 0
    for outer in _dict(state, "state").values():
        fields = _dict(outer, "value") if isinstance(outer, dict) else None
        if fields is None:
            raise InvalidArgumentType(f"state must hold dicts, got {type(outer).__name__}")
        if not fields:  # what forget() left behind
            forgotten += 1
            continue
        half_life = fields.get("half_life")
        if half_life is True:  # accepted by 0.1 as 1
            fields = {**fields, "half_life": 1}
        memory = _memory(_field(fields, "key"), fields, now)
        due = memory.last_accessed_at + memory.ttl()
        if due <= now:
            expired += 1
        else:
            entries.append((memory, due, None))
    settings = checked_settings(DEFAULT_HALF_LIFE, DEFAULT_THRESHOLD, 0)
    return Loaded(settings, Clock(now, expired, forgotten), entries)


def _field(values: dict[str, Any], name: str) -> Any:
    if name not in values:
        raise InvalidArgument(f"{name} is missing")
    return values[name]


def _dict(values: dict[str, Any], name: str) -> dict[str, Any]:
    value = _field(values, name)
    if not isinstance(value, dict):
        raise InvalidArgumentType(f"{name} must be a dict, got {type(value).__name__}")
    return value
