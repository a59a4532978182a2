"""Python settles what the killed program left, and the program what killed Python left.

RECOLVA_CROSS_KILLS says how many sweeps are killed, half of them on each side.
"""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from recolva import jsonl
from recolva.errors import CommittedUncertain
from tests.crashes import Scenario, World, calls_of, record
from tests.faults import Fault
from tests.restores import Scene
from tests.test_crashes import SCENARIOS
from tests.twin import (
    build,
    command,
    kill_at_call,
    kill_at_random,
    python_command,
    recover_by_program,
)

RUNS = int(os.environ.get("RECOLVA_CROSS_KILLS", "60"))

pytestmark = pytest.mark.crosskill


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    """The program, built once."""
    return build(tmp_path_factory.mktemp("program"))


class Killed:
    """Kills one side, settles by the other, judges, and counts what was found."""

    def __init__(self, program: str, root: Path, seed: int) -> None:
        self.program, self.choose = program, random.Random(seed)
        names = [name for name in SCENARIOS if "replaced" not in name or self.choose.random() < 0.6]
        scenario = SCENARIOS[self.choose.choice(names)]
        if self.choose.random() < 0.3 and scenario.mode != "dry-run":
            scenario = replace(scenario, agent="held")
        elif self.choose.random() < 0.4 and scenario.mode == "archive" and not scenario.replace:
            scenario = replace(scenario, agent=self.choose.choice(("archiver", "keeper")))
        self.scenario: Scenario = scenario
        root.mkdir()
        self.root = root
        self.world = World(scenario, root)

    def kill_python(self) -> str:
        """End a sweep at one of its calls, within this process."""
        calls = calls_of(self.scenario)
        at, kind = self.choose.randint(1, len(calls)), self.choose.choice(("kill", "kill", "torn"))
        if self.scenario.agent:
            self.world.scenario = replace(self.scenario, agent_at=self.choose.randint(1, len(calls)))
        self.world.sweep(Fault(at, kind))
        return "python killed"

    def kill_program(self) -> str:
        """End a sweep of the program, or of Python as a process, at a system call or a time."""
        if self.scenario.agent == "held":
            self.world.held = self.world.disk.process(9).open(self.world.store, os.O_RDWR | os.O_APPEND)
        python = self.choose.random() < 0.1
        words = (
            python_command(self.scenario, self.world) if python else command(self.program, self.scenario, self.world)
        )
        if shutil.which("strace") and self.choose.random() < 0.8 and not python:
            kill_at_call(words, self.choose)
        else:
            kill_at_random(words, self.choose, longest=0.3 if python else 0.03)
        return "python process killed" if python else "program killed"

    def state(self) -> str:
        """Say how far the sweep had come."""
        names = [Path(name).name for name in self.world.disk.names if ".recolva-" in name]
        if self.world.disk.read(self.world.journal) is not None or ".u.recolva-journal" in names:
            return "in its commit"
        return "before" if names else "at an end"

    def settle(self, *, by_program: bool) -> None:
        """Recover, with a line more from a writer that holds the store; the last time it has closed it."""
        world = self.world
        home = world.audit if self.scenario.mode == "dry-run" else world.store
        start = self.choose.choice((home, home, world.store, world.archive, world.audit))
        if world.scenario.agent in ("archiver", "keeper"):
            world.note(1)
            if world.held is not None:
                self.recover(start, by_program=self.choose.random() < 0.5, busy=True)
                world.note(2)
                world.held.close()
        elif world.held is not None:
            self.recover(start, by_program=self.choose.random() < 0.5, busy=True)
            world.write(world.held, record("last", old=False))
            world.held.close()
        self.recover(start, by_program=by_program)
        self.recover(home, by_program=by_program)
        world.check_left(all_of_it=True)
        world.check()

    def recover(self, path: str, *, by_program: bool, busy: bool = False) -> None:
        if not by_program:
            try:
                jsonl.recover(path, lock_timeout=0)
            except CommittedUncertain:
                assert busy
            return
        done = recover_by_program(self.program, path)
        assert done.returncode in ((0, 3, 5) if busy else (0,)), done.stderr


def test_each_settles_the_other(program, tmp_path):
    """Whoever is killed wherever, the other finds each record in one place, and leaves nothing over."""
    met: Counter[tuple[str, str, str]] = Counter()
    for seed in range(RUNS):
        case = Killed(program, tmp_path / str(seed), seed)
        try:
            killed = case.kill_python() if seed % 2 else case.kill_program()
            state, by_program = case.state(), killed != "program killed"
            case.settle(by_program=by_program)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}, {case.scenario}") from error
        met[killed, state, "program settled" if by_program else "python settled"] += 1
        shutil.rmtree(tmp_path / str(seed))
    print(*(f"{count:5} {', '.join(key)}" for key, count in sorted(met.items())), sep="\n")  # noqa: T201
    assert met["program killed", "in its commit", "python settled"] > RUNS // 40
    assert met["python killed", "in its commit", "program settled"] > RUNS // 40


def test_each_settles_the_others_restore(program, tmp_path):
    """So it is with a restore, whose store somebody appends to without the lock before it is settled."""
    choose = random.Random(1)
    for seed in range(RUNS // 2):
        scene = Scene(tmp_path / str(seed), by_run=seed % 4 < 2)
        if seed % 2:
            scene.restore(Fault(choose.randint(1, 60), choose.choice(("kill", "torn"))), choose.randint(1, 60), 2)
        else:
            words = ["--run", scene.words["run_id"]] if "run_id" in scene.words else ["--id", *scene.words["ids"][:1]]
            if shutil.which("strace") is None:
                pytest.skip("the program is killed by strace")
            files = ["--input", str(scene.store), "--archive", str(scene.archive), "--audit", str(scene.audit)]
            kill_at_call([program, "restore", *files, *words], choose)
        scene.append()
        for path in (choose.choice((scene.store, scene.archive, scene.audit)), scene.archive, scene.store):
            if seed % 2:
                done = recover_by_program(program, str(path))
                assert done.returncode == 0, f"seed {seed}: {done.stderr}"
            else:
                scene.recover(path)
        scene.check()
        shutil.rmtree(tmp_path / str(seed))
