"""A sweep may be stopped at any of its calls, and its recovery too: nothing is lost, nothing twice."""

from __future__ import annotations

import itertools
import os
import random
from dataclasses import replace

import pytest

from tests.crashes import Scenario, World, calls_of, trial
from tests.faults import Fault

SCENARIOS = {
    "archive": Scenario(),
    "archive to new files": Scenario(prior=False, apart=True),
    "archive, no last newline": Scenario(open_end=True),
    "archive without audit": Scenario(audit=False),
    "archive replaced": Scenario(replace=True),
    "archive replaced, new": Scenario(replace=True, prior=False),
    "delete": Scenario("delete"),
    "delete to new audit": Scenario("delete", prior=False),
    "delete without audit": Scenario("delete", audit=False),
    "delete, audit replaced": Scenario("delete", replace=True),
    "dry-run": Scenario("dry-run"),
    "dry-run to new audit": Scenario("dry-run", prior=False),
    "dry-run, audit replaced": Scenario("dry-run", replace=True),
}
KINDS = ("kill", "torn", "error", "late", "short")
CUTS = ("", "none", "all", "some")

EFFORT = int(os.environ.get("RECOLVA_CRASH_EFFORT", "1"))
"""How many of the combinations at each call are tried; more are other ones."""


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_call(name):
    """At every call: a kill, a torn write, an error, before or after; then power may be lost."""
    scenario = SCENARIOS[name]
    combinations = list(itertools.product(KINDS, CUTS, (False, True)))
    for at in range(1, len(calls_of(scenario)) + 1):
        for effort in range(2 * EFFORT):
            kind, cut, nested = combinations[(at * 7 + effort * 11) % len(combinations)]
            seed = at + 1000 * effort
            trial(scenario, Fault(at, kind), cut, seed % 13 if nested else 0, seed)


@pytest.mark.parametrize("agent", ["reopen", "held", "lock"])
@pytest.mark.parametrize("name", ["archive", "delete", "archive, no last newline", "dry-run"])
def test_every_call_beside_a_writer(name, agent):
    """Somebody appends at some call, and the sweep dies at another: each line is there once."""
    scenario, choose = SCENARIOS[name], random.Random(name + agent)
    calls = len(calls_of(scenario))
    for at in range(1, calls + 1):
        for _ in range(EFFORT):
            beside = replace(scenario, agent=agent, agent_at=choose.randint(1, min(calls, at + 2)))
            cut = choose.choice(CUTS) if agent == "lock" else ""
            kind = choose.choice(("kill", "torn", "error"))
            trial(beside, Fault(at, kind), cut, choose.choice((0, 0, at % 13)), at)


def test_a_writer_at_every_call():
    """A sweep that nobody stops carries over what is appended at any of its calls."""
    for agent, name in itertools.product(("reopen", "held", "lock"), ("archive", "delete")):
        for at in range(1, len(calls_of(SCENARIOS[name])) + 3):
            trial(replace(SCENARIOS[name], agent=agent, agent_at=at), Fault(), "", 0, at)


def test_success_is_durable():
    """What a sweep reported as done is done after a power cut that loses all it may."""
    for scenario, cut in itertools.product(SCENARIOS.values(), ("none", "some")):
        trial(scenario, Fault(), cut, 0, 4)


def test_the_judge_sees():
    """The judge is not blind: a lost, repeated or half done sweep fails its check."""
    world = World(Scenario())
    world.sweep(Fault())
    world.check()
    for path, content in ((world.archive, b""), (world.audit, b""), (world.store, b"")):
        world = World(Scenario())
        world.sweep(Fault())
        world.disk.put(path, content)
        with pytest.raises(AssertionError):
            world.check()
