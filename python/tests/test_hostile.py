"""Whatever surrounds it, recolva neither hangs, nor kills its host, nor returns other bits.

Forks and pools are in test_fork.py, libraries that are corrupt or foreign in test_backend.py.
"""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

import recolva
from recolva._native import library_path
from recolva.models import Exponential

LIBRARY = library_path()
SOURCE = str(Path(__file__).parents[1] / "src")
PATIENCE_S = 120  # on a busy machine; every process here is done in a second or two

needs_library = pytest.mark.skipif(not LIBRARY.is_file(), reason="no native library is staged: scripts/stage_native.py")
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="written for Linux")

SCORE = """
import recolva
def score():
    scores = recolva.score_array([0, -10**12], model="exponential", now=1000, half_life_millis=1000)
    assert list(scores) == [0.5, 0.0], scores
    return recolva.backend().name
"""


@pytest.fixture(params=["native", "pure"])
def wish(request):
    """Return RECOLVA_NATIVE for either backend."""
    if request.param == "native" and not LIBRARY.is_file():
        pytest.skip("no native library is staged: scripts/stage_native.py")
    return {"RECOLVA_NATIVE": "1" if request.param == "native" else "0"}


@pytest.fixture
def shared_object(tmp_path):
    """Return a function that compiles C source text into a shared object."""

    def compile_source(name, source, *options):
        file = tmp_path / f"{name}.so"
        command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-x", "none", *options, "-o", str(file)]
        subprocess.run(command, input=source, text=True, check=True)
        return file

    return compile_source


# Limits


def limited(fresh_interpreter, limit, room, code="print(score(), recolva.backend())"):
    """Run code in an interpreter that may use only so many bytes more than at its start."""
    setting = f"""
import resource
pages = int(open("/proc/self/statm").read().split()[{0 if limit == "RLIMIT_AS" else 5}])
bytes = pages * resource.getpagesize() + {room}
resource.setrlimit(resource.{limit}, (bytes, bytes))
"""
    return fresh_interpreter(SCORE + setting + code, "-Wignore")


@needs_library
@linux_only
@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
@pytest.mark.parametrize("megabytes", [30, 100, 700])
def test_a_small_limit(fresh_interpreter, limit, megabytes):
    """Where the Go runtime would not find the memory it wants, and end the process, it is not loaded."""
    printed = limited(fresh_interpreter, limit, megabytes << 20)
    assert printed.startswith(f"pure pure ({limit} of ")
    assert printed.endswith(" leaves the native library no room)")


@needs_library
@linux_only
@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_a_generous_limit(fresh_interpreter, limit):
    """A limit that leaves the room that is asked for does not stand in the way, nor kill."""
    room = (4 << 30 if limit == "RLIMIT_AS" else 1 << 30) + (16 << 20)
    assert limited(fresh_interpreter, limit, room).startswith("native native (loaded from ")


@needs_library
@linux_only
def test_a_small_limit_and_an_insisting_user(fresh_interpreter):
    """RECOLVA_NATIVE=1 raises where the limit is too small."""
    code = """
import os
os.environ["RECOLVA_NATIVE"] = "1"
try:
    recolva.backend()
except recolva.Refused as error:
    print(error)
"""
    printed = limited(fresh_interpreter, "RLIMIT_AS", 100 << 20, code)
    assert printed.startswith("RECOLVA_NATIVE=1, but the library cannot be used: RLIMIT_AS of ")


@needs_library
def test_no_more_threads(fresh_backend, monkeypatch):
    """Where the runtime could not start its threads, and would end the process, it is not loaded."""
    start, room = threading.Thread.start, [5]

    def start_or_fail(thread):
        if room[0] == 0:
            raise RuntimeError("can't start new thread")
        room[0] -= 1
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_or_fail)
    before = threading.active_count()
    assert str(fresh_backend.backend()) == "pure (the native library could not start its threads)"
    assert threading.active_count() == before


# Signals


@pytest.mark.skipif(sys.platform == "win32", reason="this platform has no such signals")
@pytest.mark.parametrize("before", [True, False], ids=["set before", "set after"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGALRM", "SIGPIPE", "SIGURG", "SIGCHLD"])
def test_a_handler_of_the_host(fresh_interpreter, wish, name, before):
    """A signal handler of the host is called, whether it was set before or after the library came."""
    if before and name == "SIGURG" and wish["RECOLVA_NATIVE"] == "1":
        pytest.skip("the library uses SIGURG itself: recolva.h says to set a handler after loading")
    code = f"""
import os, signal
seen = []
set_handler = lambda: signal.signal(signal.{name}, lambda number, frame: seen.append(number))
if {before}:
    set_handler()
score()
if not {before}:
    set_handler()
for _ in range(3):
    os.kill(os.getpid(), signal.{name})
    score()
print(seen == [signal.{name}] * 3)
"""
    assert fresh_interpreter(SCORE + code, **wish) == "True"


@pytest.mark.skipif(sys.platform == "win32", reason="this platform has no such signals")
def test_an_interrupt_without_a_handler(fresh_interpreter, wish):
    """Control-C raises KeyboardInterrupt, also between native calls in a loop."""
    code = """
import os, signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started this may ignore it
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while True:
        score()
except KeyboardInterrupt:
    print("interrupted")
"""
    assert fresh_interpreter(SCORE + code, **wish) == "interrupted"


@pytest.mark.skipif(sys.platform == "win32", reason="this platform has no such signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGPIPE", "SIGUSR1", "SIGKILL"])
def test_a_signal_that_kills(name, wish):
    """A signal that nobody handles ends the process as it would without the library."""
    code = f"""
{SCORE}
import os, signal, time
if signal.{name} == signal.SIGPIPE:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it
score()
os.kill(os.getpid(), signal.{name})
time.sleep({PATIENCE_S})
"""
    environment = {**os.environ, "PYTHONPATH": SOURCE, **wish}
    result = subprocess.run([sys.executable, "-c", code], env=environment, check=False, timeout=PATIENCE_S)
    assert result.returncode == -getattr(signal, name)


@linux_only
def test_faulthandler_still_reports(wish):
    """A crash of the host's own is reported by its own handler, and kills it."""
    code = f"import faulthandler\nfaulthandler.enable()\n{SCORE}\nscore()\nfaulthandler._sigsegv()"
    environment = {**os.environ, "PYTHONPATH": SOURCE, **wish}
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert result.returncode in (-signal.SIGSEGV, -signal.SIGABRT, 2)
    assert "Fatal Python error: Segmentation fault" in result.stderr


# Floating point modes

# Sets flush-to-zero and denormals-are-zero for the thread that loads it, as code from -ffast-math does.
FLUSHES = """
#if defined(__x86_64__)
#include <xmmintrin.h>
__attribute__((constructor)) static void flush(void) { _mm_setcsr(_mm_getcsr() | 0x8040); }
#elif defined(__aarch64__)
__attribute__((constructor)) static void flush(void) {
    unsigned long word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    __asm__ volatile("msr fpcr, %0" : : "r"(word | 1ul << 24));
}
#endif
"""

SUBNORMAL = """
import ctypes, struct
from array import array
from recolva.arrays import score_batch
from recolva.models import Exponential, PowerLaw

def bits(values):
    return struct.pack(f"<{len(values)}d", *values)

cases = [
    (Exponential(1000), array("q", range(-1_080_000, -1_000_000, 517)), None),
    (PowerLaw(1000, 10.0), array("q", range(0, 10**9, 9_999_991)), array("d", [2.0**-1000]) * 101),
    (PowerLaw(1000, 0.1), array("q", range(0, 10**9, 9_999_991)), array("d", [5e-324 * 7]) * 101),
]
def score():
    return b"".join(
        bits(score_batch(model, times, weights, 10**9 if weights else 0))
        for model, times, weights in cases
    )
before = score()
THRESHOLDS = (-0.0, 5e-324, 2.0**-1060, 2.0**-1060 + 5e-324, 1e-300)
ctypes.CDLL(LIBRARY)
import recolva
tiny = struct.unpack("<d", struct.pack("<q", 1))[0]
assert tiny * 1.0 == 0.0 or tiny + tiny == tiny, "the library has not set what it is to set"
after = score()
assert before == after
words = struct.unpack(f"<{len(after) // 8}Q", after)
print(recolva.backend().name, sum(0 < word < 1 << 52 for word in words) > 100)

import recolva.jsonl
policy = {"now": 1_060_000, "half_life_millis": 1000}  # scores 2^-1060
with open(STORE, "w") as file:
    file.write('{"id":"a","last_accessed_ms":0}\\n')
prune = lambda threshold: [d.prune for d in recolva.jsonl.scan_exponential_jsonl(STORE, threshold=threshold, **policy)]
print(*map(prune, THRESHOLDS))
"""


@needs_gcc
@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="the mode is set by a machine's own means")
def test_subnormals_where_a_library_flushes_them(fresh_interpreter, shared_object, wish, tmp_path):
    """Scores and decisions keep their bits in a thread for which a library has switched subnormal numbers off."""
    library = shared_object("flushes", FLUSHES)
    code = SUBNORMAL.replace("LIBRARY", repr(str(library))).replace("STORE", repr(str(tmp_path / "store.jsonl")))
    scores, decisions = fresh_interpreter(code, **wish).splitlines()
    assert scores == f"{'native' if wish['RECOLVA_NATIVE'] == '1' else 'pure'} True"
    assert decisions == "[False] [False] [False] [True] [True]"


# Several libraries


@needs_library
@linux_only
def test_two_copies_in_one_process(fresh_interpreter, tmp_path):
    """Two copies of the library, each with its own runtime, work side by side in many threads."""
    other = shutil.copy(LIBRARY, tmp_path / "other.so")
    code = f"""
import threading
from recolva._ffi import NativeLibrary
from recolva.models import PowerLaw
from recolva.reference import power_law_score
libraries = [NativeLibrary(path) for path in ({str(LIBRARY)!r}, {str(other)!r})]
assert libraries[0]._library._handle != libraries[1]._library._handle
model = PowerLaw(86_400_000, 1.3)
wanted = [model.score(-10**6 * i, 10**9, 0.7) for i in range(200)]
faults = []
def work():
    for _ in range(5):
        for library in libraries:
            if [library.score(model, -10**6 * i, 10**9, 0.7) for i in range(200)] != wanted:
                faults.append(library.path)
threads = [threading.Thread(target=work) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(faults)
"""
    assert fresh_interpreter(code) == "[]"


@needs_library
@linux_only
def test_an_attempt_to_unload(fresh_interpreter):
    """The library can't be unloaded: dlclose leaves it in place, and it goes on to work."""
    code = f"""
import ctypes
library = ctypes.CDLL({str(LIBRARY)!r})
assert library.RecolvaAbiVersion() == 1
ctypes.CDLL(None).dlclose(ctypes.c_void_p(library._handle))
print("librecolva" in open("/proc/self/maps").read(), library.RecolvaAbiVersion())
again = ctypes.CDLL({str(LIBRARY)!r})
print(again.RecolvaAbiVersion())
"""
    assert fresh_interpreter(code) == "True 1\n1"


@pytest.fixture
def elsewhere(tmp_path, monkeypatch, fresh_backend):
    """Return the place in an empty folder where the backend now looks for a library."""
    path = tmp_path / LIBRARY.name
    monkeypatch.setattr(fresh_backend, "library_path", lambda: path)
    return path


def pure_because(text):
    assert recolva.backend().name == "pure"
    assert text in recolva.backend().reason
    assert list(recolva.score_array([0], model="exponential", now=1000, half_life_millis=1000)) == [0.5]


TOO_NEW = "int RecolvaAbiVersion(void) { return 2; }\n" + "".join(
    f"int {name}(void) {{ return 1; }}\n"
    for name in (
        *("DecayScoreExponential", "DecayScorePowerLaw"),
        *("DecayScoreExponentialBatch", "DecayScorePowerLawBatch", "RecolvaScanBlock"),
    )
)


@needs_gcc
@linux_only
def test_a_library_that_is_too_new(elsewhere, shared_object):
    """A library of a later ABI, with all the functions, is not used."""
    shared_object("later", TOO_NEW).replace(elsewhere)
    pure_because(f"{elsewhere}: ABI version must be 1, got 2")


@needs_library
@linux_only
@pytest.mark.parametrize("machine", [0, 8, 0xF3, 0x16])
def test_a_library_of_another_processor(elsewhere, machine):
    """A library for another processor is not used, as in a wheel that was unpacked by hand."""
    content = bytearray(LIBRARY.read_bytes())
    content[18:20] = machine.to_bytes(2, "little")
    elsewhere.write_bytes(content)
    pure_because("")


@linux_only
def test_a_library_that_needs_another(elsewhere, shared_object):
    """A library whose own library is missing is not used."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    needed = shared_object("needed", "int needed(void) { return 1; }")
    user = "int needed(void); int RecolvaAbiVersion(void) { return needed(); }"
    shared_object("user", user, "-Wl,--no-as-needed", str(needed)).replace(elsewhere)
    needed.unlink()
    pure_because("needed.so")


# Interpreters and threads


def subinterpreters():
    """Return the module that makes interpreters within this process, whatever its name is."""
    try:
        import _interpreters
    except ImportError:
        return pytest.importorskip("_xxsubinterpreters")
    return _interpreters


def test_subinterpreters(fresh_interpreter):
    """An interpreter within the process scores, natively where it may load ctypes, and so does its parent."""
    subinterpreters()
    code = f"""
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
{SCORE}
name = score()
for _ in range(2):
    inner = interpreters.create()
    failure = interpreters.run_string(inner, {SCORE + "score()"!r})
    assert failure is None, failure
    interpreters.destroy(inner)
    assert score() == name
print("done")
"""
    assert fresh_interpreter(code, "-Wignore") == "done"


def test_no_ctypes(fresh_interpreter):
    """A Python that was built without ctypes scores, scans files and says why it is pure."""
    code = "import sys\nsys.modules['_ctypes'] = None\n" + SCORE + "import recolva.jsonl\nprint(score())"
    assert fresh_interpreter(code) == "pure"


@needs_library
def test_threads_that_come_and_go(fresh_interpreter):
    """Hundreds of short-lived threads use the library; it keeps neither threads nor memory for them."""
    code = """
import threading
score()
def threads_now():
    return int(next(l for l in open("/proc/self/status") if l.startswith("Threads")).split()[1])
for _ in range(20):
    group = [threading.Thread(target=score) for _ in range(20)]
    for thread in group: thread.start()
    for thread in group: thread.join()
print(threads_now() < 40)
"""
    if sys.platform != "linux":
        pytest.skip("counts threads as Linux tells")
    assert fresh_interpreter(SCORE + code) == "True"


@needs_library
def test_a_thread_with_a_small_stack(fresh_interpreter):
    """A thread whose stack is small can call the library."""
    code = """
import threading
threading.stack_size(64 * 1024)
seen = []
thread = threading.Thread(target=lambda: seen.append(score()))
score()
thread.start()
thread.join()
print(seen)
"""
    assert fresh_interpreter(SCORE + code) == "['native']"


def test_free_threads():
    """Without the interpreter's lock threads score alike."""
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        pytest.skip("this interpreter has a global lock")
    wanted = [Exponential(1000).score(-i, 0) for i in range(1000)]
    results = []
    arguments = {"model": "exponential", "now": 0, "half_life_millis": 1000}

    def work():
        results.append(list(recolva.score_array([-i for i in range(1000)], **arguments)) == wanted)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 8


# Servers that load the application, then fork

APPLICATION = """
import recolva
def score():
    scores = recolva.score_array([0] * 1000, model="power-law", now=10**9, scale_millis=10**9, exponent=1.0, importance=1.0)
    assert list(scores) == [0.5] * 1000
    return recolva.backend().name
score()  # what --preload loads, it loads with the library
def application(environment, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [score().encode()]
"""


@needs_library
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
def test_a_server_that_forks_workers(fresh_interpreter):
    """Workers forked from a process that has used the library answer, and the server ends them."""
    code = f"""{APPLICATION}
import os, signal, socket
door = socket.create_server(("127.0.0.1", 0))
workers = []
for _ in range(3):
    worker = os.fork()
    if worker == 0:
        signal.alarm({PATIENCE_S})
        while True:
            caller, _ = door.accept()
            with caller:
                caller.recv(100)
                caller.sendall(score().encode())
    workers.append(worker)
answers = []
for _ in range(12):
    with socket.create_connection(door.getsockname(), timeout={PATIENCE_S}) as caller:
        caller.sendall(b"score, please")
        answers.append(caller.recv(100))
for worker in workers:
    os.kill(worker, signal.SIGTERM)
ends = [os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) for worker in workers]
print(answers == [b"native"] * 12, ends == [-signal.SIGTERM] * 3)
"""
    assert fresh_interpreter(code, "-Wignore") == "True True"


@needs_library
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
def test_gunicorn_preload(tmp_path):
    """With --preload, gunicorn's workers answer though the application has used the library, and they stop."""
    pytest.importorskip("gunicorn", reason="gunicorn is not installed")
    (tmp_path / "app.py").write_text(APPLICATION, encoding="utf-8")
    log = tmp_path / "log"
    options = ["--preload", "--workers", "3", "--timeout", "30", "--bind", "127.0.0.1:0", "--log-file", str(log)]
    environment = {**os.environ, "PYTHONPATH": SOURCE, "RECOLVA_NATIVE": "1"}
    command = [sys.executable, "-Wignore", "-m", "gunicorn", *options, "app:application"]
    server = subprocess.Popen(command, cwd=tmp_path, env=environment)
    try:
        address = _address(log)
        for _ in range(20):
            with urllib.request.urlopen(address, timeout=PATIENCE_S) as response:  # noqa: S310 - an address of this machine
                assert response.read() == b"native"
    finally:
        server.terminate()
        assert server.wait(timeout=PATIENCE_S) == 0


def _address(log):
    """Return the address that gunicorn has written to its log."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for line in log.read_text().splitlines() if log.exists() else ():
            if "Listening at: " in line:
                return line.split("Listening at: ")[1].split()[0]
        time.sleep(0.05)
    raise AssertionError(log.read_text() if log.exists() else "gunicorn wrote no log")
