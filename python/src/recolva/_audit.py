"""What a run leaves in its audit, and the digests that name a policy and a run.

Every line is canonical JSON in a fixed order of names, so that each implementation
writes the same bytes. Digests are SHA-256 in hex.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import recolva
from recolva import _canon
from recolva.decisions import RETAINED, SCORE_BELOW

if TYPE_CHECKING:
    from recolva.models import Model
    from recolva.records import Layout

NO_PREVIOUS = "0" * 64
"""`prev` of the first run of an audit."""

RUN_PREFIX = b'{"event":"run",'
"""How a run line begins; decision lines never do."""


class Digest(NamedTuple):
    """SHA-256 in hex, and length, of some bytes."""

    sha256: str
    bytes: int


NOTHING = Digest(hashlib.sha256().hexdigest(), 0)


class Counts(NamedTuple):
    """How many records a run decided, and how many of them it pruned."""

    scanned: int
    pruned: int


@dataclass(frozen=True)
class Policy:
    """Everything but the time that decides: the same policy, the same decisions."""

    model: Model
    threshold: float
    layout: Layout
    on_invalid: str = "fail"

    @cached_property
    def text(self) -> str:
        """Canonical JSON of the normalised form, names sorted."""
        form: dict[str, _canon.Value] = {
            "model": self.model.name,
            "threshold": self.threshold,
            "on_invalid": self.on_invalid,
            "id_field": self.layout.id_field,
            "time_field": self.layout.time_field,
            "time_unit": self.layout.time_unit,
        }
        for parameter in fields(self.model):
            form[parameter.name] = getattr(self.model, parameter.name)
        if self.model.needs_importance:
            form["importance_field"] = self.layout.importance_field
        return _canon.text(dict(sorted(form.items())))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the normalised form."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def run_id(policy: Policy, mode: str, now_ms: int, input_bytes: int, prev: str) -> str:
    """Name a run by what it was asked to do and what it follows: 16 hex digits."""
    mode, prev = _canon.string(mode), _canon.string(prev)
    head = f'{{"input_bytes":{input_bytes},"mode":{mode},"now_ms":{now_ms}'
    form = f'{head},"policy":{policy.text},"prev":{prev}}}'
    return hashlib.sha256(form.encode()).hexdigest()[:16]


class Audit:
    """Writes the lines of one run."""

    def __init__(self, policy: Policy, mode: str, now_ms: int, run: str, prev: str) -> None:
        self._policy, self._mode, self._now_ms, self._run, self._prev = policy, mode, now_ms, run, prev
        self._before_id = f'{{"mode":{_canon.string(mode)},"id":'
        self._actions = (
            f',"action":"retained","reason":"{RETAINED}","line":',
            f',"action":"pruned","reason":"{SCORE_BELOW}","line":',
        )
        self._end = f',"run_id":"{run}"}}\n'

    def decision(self, identity: str, score: float, prune: int, line: int) -> str:
        """Return the line of one decision; `prune` is 0 or 1."""
        head = f'{self._before_id}{_canon.string(identity)},"score":{_canon.number(score)}'
        return f"{head}{self._actions[prune]}{line}{self._end}"

    def run_line(self, counts: Counts, before: Digest, after: Digest, archived: Digest, audited: Digest) -> bytes:
        """Return the line that closes the block of this run."""
        form: dict[str, _canon.Value] = {
            "event": "run",
            "run_id": self._run,
            "mode": self._mode,
            "policy": self._policy.digest,
            "now_ms": self._now_ms,
            "scanned": counts.scanned,
            "pruned": counts.pruned,
            "before": before._asdict(),
            "after": after._asdict(),
            "archived": archived._asdict(),
            "audited": audited._asdict(),
            "version": recolva.__version__,
            "prev": self._prev,
        }
        return _canon.text(form).encode() + b"\n"
