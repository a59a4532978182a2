"""Engines before and after os.fork: both processes go on, and neither hangs."""

from __future__ import annotations

import os
import threading

import pytest

from memoryhalflife import MemoryEngine, _guard
from recolva.errors import Refused

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
MANY_FORKS = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@MANY_FORKS
def test_the_file_can_be_used_after_a_fork(path):
    """Parent and child go on with the same file, and both see what both did."""
    with MemoryEngine.open(path) as engine:
        engine.store("a", 1)
        child = os.fork()
        if child == 0:
            good = engine.recall("a").access_count == 1
            engine.close()
            os._exit(0 if good else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert engine.recall("a").access_count == 2


@MANY_FORKS
def test_a_batch_is_not_inherited(path):
    """A child that was forked inside a batch is told so; the batch goes on in the parent."""
    with MemoryEngine.open(path) as engine:
        with engine.batch():
            engine.store("a", 1)
            child = os.fork()
            if child == 0:
                try:
                    engine.recall("a")
                except Refused as error:
                    os._exit(0 if "was in use when this process was forked" in str(error) else 2)
                os._exit(1)
            assert os.waitpid(child, 0)[1] == 0
            engine.store("b", 1)
        assert len(engine.memories()) == 2


@MANY_FORKS
def test_forks_beside_threads_do_not_hang(path):
    """A fork waits until no thread is inside an engine, so the child finds no lock held."""
    engines = [MemoryEngine(), MemoryEngine.open(path, synchronous="OFF")]
    stop = threading.Event()

    def work(engine):
        while not stop.is_set():
            engine.store("a", 1)
            engine.recall("a")

    threads = [threading.Thread(target=work, args=(engine,)) for engine in engines]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                for engine in engines:
                    engine.store("b", 1)
                    engine.tick(0)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    for engine in engines:
        assert engine.peek("b" if engine is engines[1] else "a") is not None
        engine.close()


@MANY_FORKS
@pytest.mark.parametrize("inside", ["an engine is made", "another fork"])
def test_forks_do_not_wait_for_each_other(inside):
    """While one thread forks, another makes an engine or forks inside a batch: both get on."""
    engine, in_batch = MemoryEngine(), threading.Event()

    def work():
        with engine.batch():
            in_batch.set()
            waiting.wait(0.2)  # never set: the other thread is in its fork meanwhile
            if inside == "an engine is made":
                MemoryEngine()
            else:
                forked()

    def forked():
        child = os.fork()
        if child == 0:
            os._exit(0)
        statuses.append(os.waitpid(child, 0)[1])

    waiting, statuses = threading.Event(), []
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    in_batch.wait()
    forked()
    thread.join(60)
    assert not thread.is_alive()
    assert set(statuses) == {0}


@MANY_FORKS
def test_a_fork_does_not_wait_for_ever(path, monkeypatch):
    """If a batch waits for the thread that forks, the child goes without its engine, and the parent goes on."""
    monkeypatch.setattr(_guard, "_PATIENCE_S", 0.05)
    other = MemoryEngine()
    statuses = []

    def fork():
        child = os.fork()
        if child == 0:
            other.store("a", 1)
            try:
                engine.peek("a")
            except Refused as error:
                os._exit(0 if "was in use by another thread when this process was forked" in str(error) else 2)
            os._exit(1)
        statuses.append(os.waitpid(child, 0)[1])

    with MemoryEngine.open(path) as engine:
        with engine.batch():
            engine.store("a", 1)
            thread = threading.Thread(target=fork)
            thread.start()
            thread.join()
        assert statuses == [0]
        assert engine.peek("a").content == 1
