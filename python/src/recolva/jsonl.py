"""Score, archive and delete records of JSONL files, safely.

    >>> import os, tempfile
    >>> store = os.path.join(tempfile.mkdtemp(), "memories.jsonl")
    >>> append(store, {"id": "new", "last_accessed_ms": 87_400_000})
    >>> append(store, {"id": "old", "last_accessed_ms": -85_400_000})
    >>> for decision in scan_exponential_jsonl(
    ...     store, now=87_400_000, half_life_millis=86_400_000, threshold=0.5
    ... ):
    ...     print(decision.id, decision.score, decision.prune)
    new 1.0 False
    old 0.25 True

A record is one JSON object a line: `id`, `last_accessed_ms` and, for the power law,
`importance`. All lines keep every byte. `scan` changes nothing, `archive` appends the
pruned lines to a second file before they leave the first, `delete` drops them. All or
nothing: on an error no file has changed.

All six functions take the same further keywords:

    audit             file that gets one line for each decision and one for the run
    max_prune         1000, or "20%": archive and delete refuse to prune more records, or
                      more of all; a scan says so in `.would_refuse`
    on_invalid        "fail": a line that is no record stops everything (default);
                      "keep": it stays where it is, and is counted
    time_unit         ms, s, us, ns or rfc3339; if not given, ms is assumed, and times
                      that look like seconds are refused where records would go
    id_field, time_field, importance_field
                      names, or dotted paths, of the fields
    lock_timeout      seconds to wait for another process that uses the files
    progress          called with (bytes done, bytes in all) now and then
    audit_mode, archive_mode
                      "append" (default), or "replace" what the file held
    max_line_bytes    longest line that is read, its line end not counted
    allow_network_fs  True: change files on network file systems too, where locks may not hold

They return the decisions in the order of the file, each made when it is asked for; so
the memory needed is that of the ids and ten bytes a record. Raised are InvalidArgument,
InvalidRecord (with `.line`), Refused, NeedsRecovery, CommittedUncertain, and OSError as
the system gives it.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, Optional

from recolva import _restore
from recolva._append import append
from recolva._arguments import INT64_MAX, choice, integer, number
from recolva._audit import Policy
from recolva._columns import Decisions
from recolva._engine import Engine
from recolva._guards import prune_limit, sweep_time
from recolva._lines import MAX_LINE_BYTES
from recolva._places import Files
from recolva._recover import Recovery, recover_at
from recolva._restore import Restored, RestoreJob
from recolva._sweep import Job, sweep
from recolva._transaction import Options
from recolva.decisions import Decision
from recolva.errors import InvalidArgument, InvalidArgumentType
from recolva.models import build_model
from recolva.records import Layout, check_field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from recolva._places import Path

    Progress = Callable[[int, int], object]

__all__ = [
    "Decision",
    "Decisions",
    "Recovery",
    "Restored",
    "append",
    "archive_exponential_jsonl",
    "archive_power_law_jsonl",
    "delete_exponential_jsonl",
    "delete_power_law_jsonl",
    "recover",
    "restore",
    "scan_exponential_jsonl",
    "scan_power_law_jsonl",
]

LOCK_TIMEOUT = 10.0
"""Seconds to wait for another process, unless the caller chose otherwise."""

_LONGEST_WAIT = 10.0**9


def scan_exponential_jsonl(
    path: Path,
    *,
    now: int,
    half_life_millis: int,
    threshold: float,
    audit: Optional[Path] = None,
    max_prune: int | str | None = None,
    on_invalid: str = "fail",
    time_unit: Optional[str] = None,
    id_field: str = "id",
    time_field: str = "last_accessed_ms",
    importance_field: str = "importance",
    lock_timeout: float = LOCK_TIMEOUT,
    progress: Optional[Progress] = None,
    audit_mode: str = "append",
    max_line_bytes: int = MAX_LINE_BYTES,
    allow_network_fs: bool = False,
) -> Decisions:
    """Decide every record by the exponential model; change no file but the audit."""
    return _run("dry-run", "exponential", **locals())


def archive_exponential_jsonl(
    input: Path,  # noqa: A002 - the documented name
    archive: Path,
    *,
    now: int,
    half_life_millis: int,
    threshold: float,
    audit: Optional[Path] = None,
    max_prune: int | str | None = None,
    on_invalid: str = "fail",
    time_unit: Optional[str] = None,
    id_field: str = "id",
    time_field: str = "last_accessed_ms",
    importance_field: str = "importance",
    lock_timeout: float = LOCK_TIMEOUT,
    progress: Optional[Progress] = None,
    archive_mode: str = "append",
    audit_mode: str = "append",
    max_line_bytes: int = MAX_LINE_BYTES,
    allow_network_fs: bool = False,
) -> Decisions:
    """Move the records that the exponential model prunes from `input` to the end of `archive`."""
    return _run("archive", "exponential", **locals())


def delete_exponential_jsonl(
    input: Path,  # noqa: A002 - the documented name
    *,
    now: int,
    half_life_millis: int,
    threshold: float,
    audit: Optional[Path] = None,
    max_prune: int | str | None = None,
    on_invalid: str = "fail",
    time_unit: Optional[str] = None,
    id_field: str = "id",
    time_field: str = "last_accessed_ms",
    importance_field: str = "importance",
    lock_timeout: float = LOCK_TIMEOUT,
    progress: Optional[Progress] = None,
    audit_mode: str = "append",
    max_line_bytes: int = MAX_LINE_BYTES,
    allow_network_fs: bool = False,
) -> Decisions:
    """Drop the records that the exponential model prunes."""
    return _run("delete", "exponential", **locals())


def scan_power_law_jsonl(
    path: Path,
    *,
    now: int,
    scale_millis: int,
    exponent: float,
    threshold: float,
    audit: Optional[Path] = None,
    max_prune: int | str | None = None,
    on_invalid: str = "fail",
    time_unit: Optional[str] = None,
    id_field: str = "id",
    time_field: str = "last_accessed_ms",
    importance_field: str = "importance",
    lock_timeout: float = LOCK_TIMEOUT,
    progress: Optional[Progress] = None,
    audit_mode: str = "append",
    max_line_bytes: int = MAX_LINE_BYTES,
    allow_network_fs: bool = False,
) -> Decisions:
    """Decide every record by the power-law model; change no file but the audit."""
    return _run("dry-run", "power-law", **locals())


def archive_power_law_jsonl(
    input: Path,  # noqa: A002 - the documented name
    archive: Path,
    *,
    now: int,
    scale_millis: int,
    exponent: float,
    threshold: float,
    audit: Optional[Path] = None,
    max_prune: int | str | None = None,
    on_invalid: str = "fail",
    time_unit: Optional[str] = None,
    id_field: str = "id",
    time_field: str = "last_accessed_ms",
    importance_field: str = "importance",
    lock_timeout: float = LOCK_TIMEOUT,
    progress: Optional[Progress] = None,
    archive_mode: str = "append",
    audit_mode: str = "append",
    max_line_bytes: int = MAX_LINE_BYTES,
    allow_network_fs: bool = False,
) -> Decisions:
    """Move the records that the power-law model prunes from `input` to the end of `archive`."""
    return _run("archive", "power-law", **locals())


def delete_power_law_jsonl(
    input: Path,  # noqa: A002 - the documented name
    *,
    now: int,
    scale_millis: int,
    exponent: float,
    threshold: float,
    audit: Optional[Path] = None,
    max_prune: int | str | None = None,
    on_invalid: str = "fail",
    time_unit: Optional[str] = None,
    id_field: str = "id",
    time_field: str = "last_accessed_ms",
    importance_field: str = "importance",
    lock_timeout: float = LOCK_TIMEOUT,
    progress: Optional[Progress] = None,
    audit_mode: str = "append",
    max_line_bytes: int = MAX_LINE_BYTES,
    allow_network_fs: bool = False,
) -> Decisions:
    """Drop the records that the power-law model prunes."""
    return _run("delete", "power-law", **locals())


def recover(path: Path, *, lock_timeout: float = LOCK_TIMEOUT) -> Recovery:
    """Settle what an interrupted sweep left at a store, archive or audit; say what was done.

    Every sweep does this by itself before it begins. What is returned is true if there was
    anything, and says how many runs were completed and undone. Raises NeedsRecovery where
    only a person can tell what to do, and CommittedUncertain while a writer still holds an
    old file open.
    """
    engine = Engine(number("lock_timeout", lock_timeout, 0, _LONGEST_WAIT))
    try:
        return recover_at(engine, _path("path", path))
    finally:
        for text in engine.warnings:
            warnings.warn(text, RuntimeWarning, stacklevel=2)


def restore(
    store: Path,
    archive: Path,
    *,
    run_id: Optional[str] = None,
    audit: Optional[Path] = None,
    ids: Optional[Iterable[str]] = None,
    id_field: str = "id",
    lock_timeout: float = LOCK_TIMEOUT,
    audit_mode: str = "append",
    allow_network_fs: bool = False,
) -> Restored:
    """Move records from `archive` back to `store`: those of a run, or all with certain ids.

    With `run_id`, which needs the `audit` of the run: if the store has not changed since the
    run, every record goes back to where it was, else they are appended in the order of the
    archive. With `ids` they are appended. Each record is in exactly one place at the end; a
    second call finds nothing to do. The next sweep with the same policy prunes them again.

    Raises InvalidArgument for a run that is not in the audit or deleted its records, Refused
    where audit and archive are no longer what the run wrote, and what the sweeps raise.
    """
    if (run_id is None) == (ids is None):
        raise InvalidArgument("restore needs either run_id or ids")
    if run_id is not None and audit is None:
        raise InvalidArgument("audit is required with run_id")
    if isinstance(ids, (str, bytes)):
        raise InvalidArgumentType(f"ids must be several strings, got {type(ids).__name__}")
    wanted = tuple(sorted(set(ids or ())))
    if not all(isinstance(identity, str) for identity in wanted):
        raise InvalidArgumentType("ids must be strings")
    check_field("id_field", id_field)
    job = RestoreJob(
        _path("store", store),
        _path("archive", archive),
        None if audit is None else _path("audit", audit),
        run_id or "",
        wanted,
        id_field,
        choice("audit_mode", audit_mode, ("append", "replace")),
        _options(lock_timeout, allow_network_fs),
    )
    return _restore.restore(job)


def _options(lock_timeout: Any, allow_network_fs: Any) -> Options:
    if not isinstance(allow_network_fs, bool):
        raise InvalidArgumentType(f"allow_network_fs must be a bool, got {type(allow_network_fs).__name__}")
    return Options(number("lock_timeout", lock_timeout, 0, _LONGEST_WAIT), allow_network_fs)


def _run(mode: str, model: str, **given: Any) -> Decisions:
    """Check every argument of a function, then sweep."""
    source = "path" if mode == "dry-run" else "input"
    own = {name: given[name] for name in ("half_life_millis", "scale_millis", "exponent") if name in given}
    built = build_model(model, **own)
    unit = given["time_unit"]
    policy = Policy(
        built,
        number("threshold", given["threshold"], 0, 1),
        Layout(
            given["id_field"],
            given["time_field"],
            given["importance_field"],
            "ms" if unit is None else unit,
            built.needs_importance,
        ),
        choice("on_invalid", given["on_invalid"], ("fail", "keep")),
    )
    files = Files(
        input=_path(source, given[source]),
        archive=_path("archive", given["archive"]) if "archive" in given else None,
        audit=None if given["audit"] is None else _path("audit", given["audit"]),
        archive_mode=choice("archive_mode", given.get("archive_mode", "append"), ("append", "replace")),
        audit_mode=choice("audit_mode", given["audit_mode"], ("append", "replace")),
        mutate=mode != "dry-run",
    )
    job = Job(
        mode,
        files,
        policy,
        sweep_time("now", given["now"], 3),
        unit_given=unit is not None,
        options=_options(given["lock_timeout"], given["allow_network_fs"]),
        max_prune=None if given["max_prune"] is None else prune_limit("max_prune", given["max_prune"]),
        max_line_bytes=integer("max_line_bytes", given["max_line_bytes"], 1, INT64_MAX),
        progress=_callable("progress", given["progress"]),
    )
    return sweep(job)


def _callable(name: str, value: Any) -> Any:
    if value is not None and not callable(value):
        raise InvalidArgumentType(f"{name} must be callable, got {type(value).__name__}")
    return value


def _path(name: str, value: object) -> str:
    """Return a path as a string."""
    if not isinstance(value, (str, os.PathLike)):
        raise InvalidArgumentType(f"{name} must be a path, got {type(value).__name__}")
    path = os.fsdecode(value)
    if not path or "\0" in path:
        raise InvalidArgument(f"{name} must be a path, got {path!r}")
    return path
