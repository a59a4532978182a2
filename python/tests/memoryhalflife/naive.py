"""A second engine, as plain as can be: a dict, and a loop over every tick that passes.

It shares no code with memoryhalflife: expiry is decided by whole-number powers, confidence by
decimals of 60 digits. The property tests and the golden traces compare the engine with it.
"""

from __future__ import annotations

import copy
from decimal import Decimal, localcontext
from functools import cache


def is_expired(elapsed, half_life, threshold):
    """Say whether 2^(-elapsed/half_life) <= threshold = m/2^k, as 2^(k half_life) <= m^half_life 2^elapsed."""
    m, power = threshold.as_integer_ratio()
    return power**half_life <= m**half_life << elapsed


@cache
def first_expired(half_life, threshold):
    """Return the first elapsed at which it is expired, found by trying them one after the other."""
    elapsed = 0
    while not is_expired(elapsed, half_life, threshold):
        elapsed += 1
    return elapsed


@cache
def confidence(elapsed, half_life):
    """Return the double nearest to 2^(-elapsed/half_life)."""
    with localcontext() as context:
        context.prec = 60
        return float(Decimal(2) ** (Decimal(-elapsed) / half_life))


class Naive:
    """The same operations as MemoryEngine; a memory is a dict of its fields."""

    def __init__(self, default_half_life=10, default_threshold=0.1, grace_ticks=0):
        self.defaults = {"half_life": default_half_life, "threshold": default_threshold}
        self.grace_ticks = grace_ticks
        self.now = self.expired = self.forgotten = 0
        self.living, self.resting = {}, {}

    def store(self, key, content, half_life=None, tags=(), threshold=None):
        self.resting.pop(key, None)
        self.living[key] = {
            "key": key,
            "content": copy.deepcopy(content),
            "half_life": half_life or self.defaults["half_life"],
            "created_at": self.now,
            "last_accessed_at": self.now,
            "access_count": 0,
            "tags": list(tags),
            "threshold": threshold or self.defaults["threshold"],
        }
        return copy.deepcopy(self.living[key])

    def recall(self, key):
        if key in self.living:
            self.living[key]["last_accessed_at"] = self.now
            self.living[key]["access_count"] += 1
        return self.peek(key)

    def peek(self, key):
        return copy.deepcopy(self.living.get(key))

    def revive(self, key):
        if key not in self.resting:
            return None
        memory = self.resting.pop(key)
        del memory["expired_at"]
        memory["last_accessed_at"] = self.now
        self.living[key] = memory
        return self.peek(key)

    def forget(self, key):
        self.forgotten += key in self.living
        return self.living.pop(key, None) is not None or self.resting.pop(key, None) is not None

    def tick(self, n=1):
        events = []
        for _ in range(n):
            self.now += 1
            for key in sorted(self.resting):
                if self.now >= self.resting[key]["expired_at"] + self.grace_ticks:
                    del self.resting[key]
            for key in sorted(self.living):
                memory = self.living[key]
                elapsed = self.now - memory["last_accessed_at"]
                if elapsed >= first_expired(memory["half_life"], memory["threshold"]):
                    events.append([key, self.now])
                    del self.living[key]
                    if self.grace_ticks:
                        self.resting[key] = {**memory, "expired_at": self.now}
        self.expired += len(events)
        return events

    def memories(self, tag=None):
        chosen = (self.living[key] for key in sorted(self.living))
        return [copy.deepcopy(memory) for memory in chosen if tag is None or tag in memory["tags"]]

    def _confidence(self, memory):
        return confidence(self.now - memory["last_accessed_at"], memory["half_life"])

    def fading(self, threshold=0.5):
        return [memory for memory in self.memories() if self._confidence(memory) < threshold]

    def entropy_score(self):
        mass = len(self.living)
        # the exact sum of doubles, rounded once
        lost = [Decimal(1.0 - self._confidence(memory)) for memory in self.living.values()]
        with localcontext() as context:
            context.prec = 1200
            pressure = float(sum(lost, Decimal(0)))
        return {
            "mass": mass,
            "pressure": pressure,
            "score": pressure / mass if mass else 0.0,
            "living": mass,
            "fading": len(self.fading()),
            "expired": self.expired,
            "forgotten": self.forgotten,
        }

    def to_dict(self):
        def without_key(memory):
            return {name: value for name, value in memory.items() if name != "key"}

        return {
            "schema": 1,
            "now": self.now,
            "expired": self.expired,
            "forgotten": self.forgotten,
            "defaults": self.defaults,
            "grace_ticks": self.grace_ticks,
            "memories": {key: without_key(memory) for key, memory in self.living.items()},
            "grace": {key: without_key(memory) for key, memory in self.resting.items()},
        }
