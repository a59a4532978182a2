"""A directory with a store of one old and one new record, and how the tests sweep it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recolva import jsonl

if TYPE_CHECKING:
    from pathlib import Path

NOW, DAY = 87_400_000, 86_400_000
ARGUMENTS: dict[str, Any] = {"now": NOW, "half_life_millis": DAY, "threshold": 0.5, "lock_timeout": 0.05}
OLD = b'{"id":"old","last_accessed_ms":-85400000}\n'
NEW = b'{"id":"new","last_accessed_ms":87400000}\n'
LATE = b'{"id":"late","last_accessed_ms":-85400000}\n'


def contents(home: Path) -> dict[str, bytes]:
    """Return all files of a directory with their contents."""
    return {path.name: path.read_bytes() for path in sorted(home.iterdir()) if path.is_file()}


def archive(home: Path, **more: Any) -> jsonl.Decisions:
    """Archive from the store of a home, with an audit."""
    options = {**ARGUMENTS, "audit": home / "audit.jsonl", **more}
    return jsonl.archive_exponential_jsonl(home / "store.jsonl", home / "archive.jsonl", **options)
