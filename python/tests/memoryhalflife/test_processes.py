"""Several processes on one file: no lost update, and nothing acknowledged is lost in a kill.

RECOLVA_ENGINE_KILLS sets how many processes are killed for each way of committing.
"""

from __future__ import annotations

import inspect
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from memoryhalflife import MemoryEngine

KILLS = int(os.environ.get("RECOLVA_ENGINE_KILLS", "8"))

RECALL = """
import sys
from memoryhalflife import MemoryEngine
with MemoryEngine.open(sys.argv[1], synchronous="NORMAL", timeout=60) as engine:
    for i in range(int(sys.argv[3])):
        engine.recall("shared")
        engine.store(f"{sys.argv[2]}-{i}", i)
        engine.tick()
"""


def operate(engine, turn):
    """Do the operation of a turn, or the batch of several, which must not be kept in part."""
    key = f"k{turn % 7}"
    if turn % 5 == 0:
        engine.tick()
    elif turn % 5 == 1:
        engine.forget(key)
    elif turn % 5 == 2:
        engine.recall(key)
    elif turn % 5 == 3:
        engine.store(key, turn)
    else:
        with engine.batch():
            engine.store(key, turn)
            engine.tick()
            engine.store(f"batch {turn % 3}", turn)
            engine.forget("k0")


# Each line acknowledges a turn that is over.
WRITE = f"""
import sys
from memoryhalflife import MemoryEngine
{inspect.getsource(operate)}
engine = MemoryEngine.open(sys.argv[1], synchronous=sys.argv[2], grace_ticks=5, default_half_life=3, timeout=60)
turn = int(sys.argv[3])
print("ready", flush=True)
while True:
    operate(engine, turn)
    print(turn, flush=True)
    turn += 1
"""


def run(source, *arguments, **keywords):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", source, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, **keywords)


def test_two_processes_lose_no_update(tmp_path):
    """Recalls, stores and ticks of two processes at once add up."""
    path = tmp_path / "agent.db"
    with MemoryEngine.open(path, default_half_life=10**6) as engine:
        engine.store("shared", 0)
        children = [run(RECALL, path, name, 150) for name in "ab"]
        for child in children:
            assert child.wait(120) == 0
        assert engine.peek("shared").access_count == 300
        assert engine.now == 300
        assert len(engine.memories()) == 301


def test_processes_that_make_the_same_file(tmp_path):
    """Several processes opening a file that is not there make one file."""
    path = tmp_path / "agent.db"
    children = [run(RECALL.replace('engine.recall("shared")', "pass"), path, name, 5) for name in "abcd"]
    for child in children:
        assert child.wait(120) == 0
    with MemoryEngine.open(path) as engine:
        assert engine.now == 20
        assert len(engine.memories()) == 20


def expected_states(turns):
    """Return the states that a file may have after the acknowledged turns: with or without the next."""
    engine = MemoryEngine(grace_ticks=5, default_half_life=3)
    states = []
    for turn in range(turns + 1):
        if turn == turns:
            states.append(engine.to_dict())
        operate(engine, turn)
    states.append(engine.to_dict())
    return states


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
@pytest.mark.parametrize("synchronous", ["FULL", "NORMAL"])
def test_nothing_acknowledged_is_lost_in_a_kill(tmp_path, synchronous):
    """After SIGKILL at any moment the file holds all operations that returned, at most one more; a batch is one."""
    rng = random.Random(synchronous)
    path = tmp_path / "agent.db"
    turns = 0
    for _ in range(KILLS):
        if turns > 2_000:  # keep the replay short
            path.unlink()
            turns = 0
        writer = run(WRITE, path, synchronous, turns, stdout=subprocess.PIPE)
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(rng.random() * 0.1)
        writer.send_signal(signal.SIGKILL)
        lines = writer.stdout.read().split(b"\n")
        writer.wait()
        writer.stdout.close()
        acknowledged = [int(line) for line in lines[:-1]]
        assert acknowledged == list(range(turns, turns + len(acknowledged)))
        turns += len(acknowledged)
        with MemoryEngine.open(path, synchronous="OFF") as engine:
            state = engine.to_dict()
        without, one_more = expected_states(turns)
        assert state in (without, one_more)
        turns += state == one_more and state != without


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_kill_while_the_file_is_made(tmp_path):
    """A process killed while it makes the file leaves one that can be opened, or made anew."""
    rng = random.Random(3)
    for number in range(KILLS):
        path = tmp_path / f"{number}.db"
        writer = run(WRITE, path, "FULL", 0, stdout=subprocess.PIPE)
        deadline = time.monotonic() + 30
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.0005)
        time.sleep(rng.random() * 0.01)
        writer.send_signal(signal.SIGKILL)
        writer.stdout.read()
        writer.wait()
        writer.stdout.close()
        with MemoryEngine.open(path, default_half_life=3, grace_ticks=5) as engine:
            engine.store("a", 1)
