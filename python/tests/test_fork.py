"""A forked child neither hangs nor lies: it never calls the library that its parent loaded."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading

import pytest

import recolva
from recolva import _backend
from recolva._native import library_path

POLICY = {"model": "power-law", "now": 10**12, "scale_millis": 10**9, "exponent": 1.3}
TIMES = [0, 10**9, 10**11, 10**12, -(2**63)]
FORKS = 100
PATIENCE_S = 60  # for a child on a busy machine; a healthy one takes well under a second

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork"),
    pytest.mark.skipif(
        not library_path().is_file(),
        reason="no native library is staged: scripts/stage_native.py",
    ),
    # Python warns of exactly what is tested here
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]


def scores():
    return recolva.score_array(TIMES, importance=[0.9] * len(TIMES), **POLICY)


@pytest.fixture(scope="module")
def expected():
    """The right scores, from pure Python."""
    model = recolva.models.PowerLaw(10**9, 1.3)
    return [model.score(t, 10**12, 0.9) for t in TIMES]


@pytest.fixture
def busy_library(fresh_backend):
    """Keep three threads inside the library while the test forks."""
    assert fresh_backend.backend().name == "native"
    stop = threading.Event()

    def work():
        while not stop.is_set():
            recolva.score_array(TIMES * 200, importance=0.9, **POLICY)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    yield
    stop.set()
    for thread in threads:
        thread.join()


def in_child(check):
    """Run check in a forked child and return its exit status: 0 if check() is true."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            signal.alarm(PATIENCE_S)  # a child that hangs is killed, and so fails the test
            status = 0 if check() else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.usefixtures("busy_library")
def test_forks_while_other_threads_score(expected):
    """100 children, forked while other threads are in the library, score natively and rightly."""

    def check():
        return list(scores()) == expected and recolva.backend().name == "native"

    assert [in_child(check) for _ in range(FORKS)] == [0] * FORKS


@pytest.mark.usefixtures("busy_library")
def test_children_of_children(expected):
    """A grandchild loads its own copy too, never that of its parent."""

    def grandchild():
        return list(scores()) == expected and recolva.backend().name == "native"

    def child():
        return grandchild() and in_child(grandchild) == 0 and grandchild()

    assert [in_child(child) for _ in range(5)] == [0] * 5
    assert list(scores()) == expected


FIRST_USES = """
import os, signal, sys, threading
signal.alarm(60)

def use():
    import recolva
    kept = recolva.score_array([0], model="exponential", now=1000, half_life_millis=1000)
    assert list(kept) == [0.5]
    assert recolva.backend().name == "native"

import recolva
threads = [threading.Thread(target=use) for _ in range(3)]
for thread in threads:
    thread.start()
child = os.fork()
use()
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
for thread in threads:
    thread.join()
print("done")
"""


@pytest.mark.parametrize("attempt", range(5))
def test_forks_during_the_first_use(fresh_interpreter, attempt):
    """A fork while other threads import the package and load the library waits for them."""
    assert fresh_interpreter(FIRST_USES, "-Wignore", RECOLVA_NATIVE="1") == "done", attempt


@pytest.mark.usefixtures("busy_library")
def test_without_memory_files(expected, monkeypatch):
    """Where memfd_create is not there, or not allowed, a temporary copy serves."""

    def denied(name):
        raise PermissionError(name)

    def check():
        return list(scores()) == expected and recolva.backend().name == "native"

    monkeypatch.delattr(os, "memfd_create", raising=False)
    assert in_child(check) == 0
    monkeypatch.setattr(os, "memfd_create", denied, raising=False)
    assert in_child(check) == 0


@pytest.mark.usefixtures("busy_library")
def test_without_any_copy(expected, monkeypatch):
    """Where no copy can be loaded, pure Python takes over."""

    def denied(content, suffix=""):
        raise PermissionError("not allowed")

    monkeypatch.setattr(_backend, "_load_from_memory", denied)
    monkeypatch.setattr(_backend, "_load_from_temporary", denied)

    def check():
        return list(scores()) == expected and str(recolva.backend()) == "pure (not allowed)"

    assert in_child(check) == 0


@pytest.mark.usefixtures("busy_library")
def test_forks_that_python_did_not_see(expected, monkeypatch):
    """A fork from C code runs no hooks; the number of the process gives it away."""
    state, tried_by = _backend._state, _backend._tried_by

    def check():
        _backend._state, _backend._tried_by = state, tried_by  # undo what the hook did
        return list(scores()) == expected and "forked" in str(recolva.backend())

    assert in_child(check) == 0


def test_a_pure_parent_has_pure_children(fresh_backend, monkeypatch):
    """What a parent could not load, its children do not try again."""
    monkeypatch.setenv("RECOLVA_NATIVE", "0")
    assert fresh_backend.backend().name == "pure"
    monkeypatch.delenv("RECOLVA_NATIVE")
    assert in_child(lambda: str(recolva.backend()) == "pure (RECOLVA_NATIVE=0)") == 0


def test_no_trace_of_the_copies(tmp_path, expected, monkeypatch, fresh_backend):
    """A child leaves neither a temporary file nor an open one behind."""
    assert fresh_backend.backend().name == "native"
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def copies():
        """Return the open files that are copies; the Go runtime keeps some files of its own open."""
        links = [f"/dev/fd/{number}" for number in os.listdir("/dev/fd")]
        return [link for link in links if os.path.islink(link) and "librecolva" in os.readlink(link)]

    def check():
        return list(scores()) == expected and "copy" in str(recolva.backend()) and copies() == []

    assert in_child(check) == 0
    monkeypatch.delattr(os, "memfd_create", raising=False)
    assert in_child(check) == 0
    assert list(tmp_path.iterdir()) == []


def pool_scores(_):
    return recolva.backend().name, list(scores())


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_pools(method, expected, fresh_backend):
    """Pools of every start method score natively after the parent has."""
    assert fresh_backend.backend().name == "native"
    with multiprocessing.get_context(method).Pool(2) as pool:
        results = pool.map_async(pool_scores, range(6)).get(timeout=PATIENCE_S)
    assert results == [("native", expected)] * 6
