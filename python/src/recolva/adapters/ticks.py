"""The tick engine as a store: prune it, archive from it, write it as records and read it back.

Ticks become times by a factor: tick t is the time ``t * ms_per_tick``. A memory becomes a record

    {"id": KEY, "last_accessed_ms": …, "importance": 1, "memory_half_life": {…its other fields…}}

so that recolva can sweep the file, and nothing is lost on the way back. A record from elsewhere
becomes a memory whose content is the rest of the record, with the tag "jsonl"; written again, it is
a record with the same fields, and one more for what the engine knows.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from memoryhalflife.memory import Memory
from memoryhalflife.state import memory_fields, memory_from_fields
from recolva._append import append_all
from recolva._arguments import INT64_MAX, id_fault, integer, quoted
from recolva.errors import InvalidArgument, InvalidArgumentType, InvalidRecord, Refused
from recolva.records import Layout, RecordFault, is_blank, parse
from recolva.store import MemoryRecord, looks_like_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memoryhalflife import MemoryEngine

    FilePath = Union[str, os.PathLike[str]]

__all__ = ["EXTRA_FIELD", "RECORD_TAG", "TickStore", "export_jsonl", "import_jsonl"]

#: The field of a record that holds what only an engine knows of a memory.
EXTRA_FIELD = "memory_half_life"

#: The tag of memories that came from records of another store.
RECORD_TAG = "jsonl"

_LAYOUT = Layout()
_BOM = b"\xef\xbb\xbf"


class TickStore:
    """A `recolva.MemoryStore` around a `memoryhalflife.MemoryEngine`.

    ``ms_per_tick`` says how many milliseconds a tick is worth, an integer from 1 on. ``archive`` is
    a JSONL file: `archive_memories` appends the memories to it, safely on the disk before the
    engine forgets them; without one it raises. A memory whose key is nothing but blanks can't be a
    record: it is left out, and expires by itself.
    """

    def __init__(self, engine: MemoryEngine, *, ms_per_tick: int, archive: FilePath | None = None) -> None:
        self.engine = engine
        self.ms_per_tick = integer("ms_per_tick", ms_per_tick, 1)
        self.archive = archive

    @property
    def now_ms(self) -> int:
        """The time of the engine's tick: what to pass as ``now``."""
        return _time(self.engine.now, self.ms_per_tick)

    def get_memories(self) -> list[MemoryRecord]:
        """Return the living memories as records, by key; looking at them refreshes nothing."""
        return [
            MemoryRecord(memory.key, _last_accessed_ms(memory, self.ms_per_tick), _importance(memory))
            for memory in self.engine.memories()
            if id_fault(memory.key) is None
        ]

    def archive_memories(self, memory_ids: Sequence[str]) -> None:
        """Append the memories to the archive, then forget them; all or none leave the engine."""
        if self.archive is None:
            raise InvalidArgument("archive must name a file to archive memories in, got None")
        _refuse_own_file(self.engine, self.archive)
        keys = _keys(memory_ids)
        with self.engine.batch():
            memories = [memory for memory in map(self.engine.peek, keys) if memory is not None]
            if memories:
                append_all(self.archive, [_record(memory, self.ms_per_tick) for memory in memories])
                _sync(Path(self.archive))
            for memory in memories:
                self.engine.forget(memory.key)

    def delete_memories(self, memory_ids: Sequence[str]) -> None:
        """Forget the memories, all or none."""
        with self.engine.batch():
            for key in _keys(memory_ids):
                self.engine.forget(key)


def _keys(memory_ids: Sequence[str]) -> list[str]:
    """Return the keys, each once."""
    if isinstance(memory_ids, str):  # else its characters would pass for keys
        raise InvalidArgumentType(f"memory_ids must be a list of keys, got {type(memory_ids).__name__}")
    return list(dict.fromkeys(memory_ids))


def _refuse_own_file(engine: MemoryEngine, archive: FilePath) -> None:
    """Refuse to write into the file of the engine, under whatever name."""
    if engine.path is None or not Path(archive).exists():
        return
    for own in (Path(engine.path + suffix) for suffix in ("", "-wal", "-shm", "-journal")):
        if own.exists() and own.samefile(archive):
            raise Refused(f"archive {os.fspath(archive)} is the file in which the engine is kept")


def export_jsonl(engine: MemoryEngine, path: FilePath, *, ms_per_tick: int) -> int:
    """Write the living memories as records into a new file, by key; return how many.

    The file appears when it is complete and on the disk. A file that exists is not replaced.
    """
    ms_per_tick = integer("ms_per_tick", ms_per_tick, 1)
    memories = engine.memories()
    for memory in memories:
        fault = id_fault(memory.key)
        if fault:
            raise InvalidArgument(f"key {quoted(memory.key)} can't be the id of a record: it {fault}")
    _write_new(Path(path), [_line(_record(memory, ms_per_tick)) for memory in memories])
    return len(memories)


def import_jsonl(
    engine: MemoryEngine,
    path: FilePath,
    *,
    ms_per_tick: int,
    half_life: int | None = None,
    threshold: float | None = None,
    time_unit: str | None = None,
) -> int:
    """Read records into an engine and return how many; all or none of them.

    Memories that `export_jsonl` or an archive wrote come back as they were. Records of other stores
    get ``half_life`` and ``threshold``, or the engine's defaults, and count as accessed at the tick
    of their time, rounded down. The engine's clock must have reached all of their times: let it tick
    first. A record is refused if its key is in use or it would have expired by now, and, as
    everywhere in recolva, if its time looks like seconds (``time_unit="ms"`` insists).

    Raises InvalidRecord with the number of the line, or Refused; nothing has changed then.
    """
    ms_per_tick = integer("ms_per_tick", ms_per_tick, 1)
    if time_unit not in (None, "ms"):
        raise InvalidArgument(f"time_unit must be ms, got {time_unit!r}")
    data = Path(path).read_bytes()
    lines = (data.removeprefix(_BOM)).split(b"\n")
    count = 0
    with engine.batch():
        now = engine.now
        settings = (
            engine.default_half_life if half_life is None else half_life,
            engine.default_threshold if threshold is None else threshold,
        )
        for number, line in enumerate(lines, start=1):
            if is_blank(line):
                continue
            try:
                memory, millis = _memory(line, ms_per_tick, now, settings)
                if time_unit is None and looks_like_seconds(millis, _time(now, ms_per_tick)):
                    raise Refused(f"line {number}: last_accessed_ms {millis} looks like seconds, not milliseconds")
                engine.restore(memory)
            except (RecordFault, InvalidArgument) as error:
                raise InvalidRecord(f"line {number}: {error}", number) from None
            count += 1
    return count


def _time(tick: int, ms_per_tick: int) -> int:
    if tick * ms_per_tick > INT64_MAX:
        raise InvalidArgument(f"ms_per_tick must keep tick {tick} at or below {INT64_MAX} ms, got {ms_per_tick}")
    return tick * ms_per_tick


def _is_record(memory: Memory) -> bool:
    """Say whether a memory came from a record of another store: then its content is the record."""
    content = memory.content
    return (
        RECORD_TAG in memory.tags
        and isinstance(content, dict)
        and type(content.get("last_accessed_ms")) is int
        and not {"id", EXTRA_FIELD} & set(content)
    )


def _last_accessed_ms(memory: Memory, ms_per_tick: int) -> int:
    """Return the time of the last access: that of the record it came from, until it is accessed."""
    if _is_record(memory):
        millis: int = memory.content["last_accessed_ms"]  # type: ignore[index,call-overload,assignment]
        if millis // ms_per_tick == memory.last_accessed_at:
            return millis
    return _time(memory.last_accessed_at, ms_per_tick)


def _importance(memory: Memory) -> float:
    """Return the importance of the record that a memory came from, if there is a valid one, else 1."""
    value = memory.content.get("importance", 1.0) if _is_record(memory) else 1.0  # type: ignore[union-attr]
    return float(value) if type(value) in (int, float) and 0 <= value <= 1 else 1.0


def _record(memory: Memory, ms_per_tick: int) -> dict[str, Any]:
    millis = _last_accessed_ms(memory, ms_per_tick)
    fields = memory_fields(memory)
    if not _is_record(memory):
        return {"id": memory.key, "last_accessed_ms": millis, "importance": 1, EXTRA_FIELD: fields}
    content = fields.pop("content")
    if content["last_accessed_ms"] != millis:  # accessed since: what the content says is kept as well
        fields["last_accessed_ms"] = content["last_accessed_ms"]
    return {"id": memory.key, **content, "last_accessed_ms": millis, EXTRA_FIELD: fields}


def _memory(line: bytes, ms_per_tick: int, now: int, settings: tuple[int, float]) -> tuple[Memory, int]:
    """Return the memory of a line, and the time of its record."""
    key, millis, _ = parse(line, _LAYOUT)
    try:
        record = json.loads(line, object_pairs_hook=_names_once)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(str(error)) from None
    tick = millis // ms_per_tick
    if not 0 <= tick <= now:
        raise InvalidArgument(f"last_accessed_ms {millis} is tick {tick}, and the engine is at tick {now}")
    del record["id"]
    fields = record.pop(EXTRA_FIELD, None)
    if fields is None:
        return Memory(key, record, settings[0], tick, tick, 0, (RECORD_TAG,), settings[1]), millis
    if not isinstance(fields, dict):
        raise InvalidArgument(f"{EXTRA_FIELD} must be an object, got {type(fields).__name__}")
    if fields.get("last_accessed_at") != tick:
        raise InvalidArgument(f"last_accessed_ms {millis} is tick {tick}, not {fields.get('last_accessed_at')}")
    if "content" not in fields:
        record["last_accessed_ms"] = fields.get("last_accessed_ms", millis)
        fields["content"] = record
    return memory_from_fields(key, fields), millis


def _names_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; the second of two equal names would be lost."""
    names = dict(pairs)
    if len(names) != len(pairs):
        seen: set[str] = set()
        repeated = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InvalidArgument(f"{repeated} occurs twice")
    return names


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _write_new(path: Path, lines: Iterable[bytes]) -> None:
    """Write a new file that is there as a whole or not at all."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        with temporary.open("xb") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path)
    except FileExistsError as error:
        raise Refused(f"{error.filename2 or error.filename} exists") from None
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path)


def _sync(path: Path) -> None:
    """Wait until a file, and its name, are on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
    _sync_folder(path)


def _sync_folder(path: Path) -> None:
    if os.name == "posix":
        folder = os.open(path.absolute().parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
