"""Answers of an engine as JSON values, to be compared with the naive engine and the traces."""

from __future__ import annotations

from memoryhalflife import Expired, Memory

FIELDS = (
    "key",
    "content",
    "half_life",
    "created_at",
    "last_accessed_at",
    "access_count",
    "tags",
    "threshold",
)


def plain(value):
    """Return a memory as a dict, an event as a pair, and lists of them as lists."""
    if isinstance(value, Memory):
        return {name: list(value.tags) if name == "tags" else getattr(value, name) for name in FIELDS}
    if isinstance(value, Expired):
        return [value.key, value.tick]
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value
