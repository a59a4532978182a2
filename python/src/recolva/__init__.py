"""Deterministic, local memory retention: score the memories of an agent, let the weak ones go.

    >>> from recolva import MemoryRecord, exponential_score, score_memories
    >>> exponential_score(last_accessed=1_000_000, now=87_400_000, half_life_millis=86_400_000)
    0.5
    >>> memories = [MemoryRecord("msg-1", 87_400_000), MemoryRecord("msg-2", -85_400_000)]
    >>> decisions = score_memories(
    ...     memories, model="exponential", now=87_400_000, threshold=0.5,
    ...     half_life_millis=86_400_000)
    >>> [(d.id, d.score, d.prune) for d in decisions]
    [('msg-1', 1.0, False), ('msg-2', 0.25, True)]

Times are Unix times in milliseconds. A score is the double nearest to the exact value of its
formula, the same on every machine and in every language; nothing reads a clock, a file or the
network to compute it. A score below the threshold prunes, equality retains.

    exponential_score, power_law_score    one score
    score_array                           many scores, from and to arrays
    score_memories, MemoryRecord          decisions on memories of your own
    prune_memories, MemoryStore           … carried out in a store of your own
    recolva.jsonl                         … in JSONL files, safe against crashes
    recolva.errors                        what can go wrong
    backend()                             native library or pure Python, and why
"""

from __future__ import annotations

from recolva._forks import held_off as _held_off

TYPE_CHECKING = False  # as good as typing's for a type checker, without the cost of its import

if TYPE_CHECKING:
    from typing import Any

    from recolva._backend import backend
    from recolva.arrays import score_array
    from recolva.decisions import Decision
    from recolva.errors import (
        CommittedUncertain,
        InvalidArgument,
        InvalidArgumentType,
        InvalidRecord,
        NeedsRecovery,
        PartialPruneError,
        RecolvaError,
        Refused,
    )
    from recolva.reference import exponential_score, power_law_score
    from recolva.store import MemoryRecord, MemoryStore, prune_memories, score_memories

    __version__: str

__all__ = [
    "CommittedUncertain",
    "Decision",
    "InvalidArgument",
    "InvalidArgumentType",
    "InvalidRecord",
    "MemoryRecord",
    "MemoryStore",
    "NeedsRecovery",
    "PartialPruneError",
    "RecolvaError",
    "Refused",
    "backend",
    "exponential_score",
    "power_law_score",
    "prune_memories",
    "score_array",
    "score_memories",
]

# Names are fetched when they are first used, so that importing the package costs next to nothing.
_HOMES = {
    "recolva._backend": ("backend",),
    "recolva.arrays": ("score_array",),
    "recolva.decisions": ("Decision",),
    "recolva.errors": (
        "CommittedUncertain",
        "InvalidArgument",
        "InvalidArgumentType",
        "InvalidRecord",
        "NeedsRecovery",
        "PartialPruneError",
        "RecolvaError",
        "Refused",
    ),
    "recolva.reference": ("exponential_score", "power_law_score"),
    "recolva.store": ("MemoryRecord", "MemoryStore", "prune_memories", "score_memories"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_SUBMODULES = ("arrays", "decisions", "errors", "jsonl", "models", "reference", "store")


def __getattr__(name: str) -> Any:
    """Fetch a public name, a submodule, or the version, at its first use."""
    if name not in _HOME_OF and name not in _SUBMODULES and name != "__version__":
        raise AttributeError(f"module 'recolva' has no attribute '{name}'")
    with _held_off:
        from importlib import import_module  # noqa: PLC0415 - not needed to import the package

        if name in _SUBMODULES:
            return import_module(f"recolva.{name}")
        value = _version() if name == "__version__" else getattr(import_module(_HOME_OF[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES, "__version__"})


def _version() -> str:
    """Return the version of the installed package, or a placeholder where it is not installed."""
    from importlib import metadata  # noqa: PLC0415 - slow, and seldom asked for

    try:
        return metadata.version("recolva") or "0+unknown"
    except Exception:  # noqa: BLE001 - no state of an installation may make this fail
        return "0+unknown"
