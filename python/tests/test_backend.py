"""The library is loaded at first use, and pure Python takes over where it cannot be."""

from __future__ import annotations

import re
import shutil
import sys
import threading

import pytest

import recolva
from recolva import _backend, _ffi
from recolva._native import LIBRARY_NAME, library_path
from recolva.errors import InvalidArgument, Refused

STAGED = library_path()
POLICY = {"model": "exponential", "now": 87_400_000, "half_life_millis": 86_400_000}

needs_library = pytest.mark.skipif(
    not STAGED.is_file(),
    reason="no native library is staged: scripts/stage_native.py",
)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch, fresh_backend):
    """Return the place of a library in an empty folder, where the backend now looks for it."""
    path = tmp_path / LIBRARY_NAME
    monkeypatch.setattr(fresh_backend, "library_path", lambda: path)
    monkeypatch.setattr(fresh_backend, "_tried_by", None)
    return path


def scores_anyway():
    assert recolva.score_array([1_000_000], **POLICY)[0] == 0.5


def test_the_library_lies_in_the_package():
    """The library belongs beside the package's own file, under the name of its platform."""
    suffix = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
    assert STAGED.parent.name == "_native"
    assert STAGED.suffix == suffix


def test_no_library(elsewhere):
    """A pure installation says so."""
    assert str(recolva.backend()) == "pure (this installation has no native library)"
    assert recolva.backend().library is None
    scores_anyway()


@pytest.mark.usefixtures("elsewhere")
def test_no_library_where_one_is_insisted_on(monkeypatch):
    """RECOLVA_NATIVE=1 raises, each time."""
    monkeypatch.setenv("RECOLVA_NATIVE", "1")
    for _ in range(2):
        with pytest.raises(Refused) as caught:
            recolva.score_array([], **POLICY)
        assert str(caught.value) == (
            "RECOLVA_NATIVE=1, but the library cannot be used: this installation has no native library"
        )


@needs_library
def test_the_library(fresh_backend):
    """The staged library is loaded, and says from where."""
    backend = fresh_backend.backend()
    assert (backend.name, backend.library) == ("native", str(STAGED))
    assert str(backend).endswith(f"{STAGED})")
    assert recolva.backend() is backend
    scores_anyway()


@needs_library
def test_the_library_not_wanted(fresh_backend, monkeypatch):
    """RECOLVA_NATIVE=0 never loads it."""
    monkeypatch.setenv("RECOLVA_NATIVE", "0")
    monkeypatch.setattr(fresh_backend, "NativeLibrary", None)
    assert str(recolva.backend()) == "pure (RECOLVA_NATIVE=0)"
    scores_anyway()


def test_another_wish(fresh_backend, monkeypatch):
    """Any other value of RECOLVA_NATIVE is an error, not silently ignored."""
    monkeypatch.setenv("RECOLVA_NATIVE", "yes")
    with pytest.raises(InvalidArgument, match='^RECOLVA_NATIVE must be 0 or 1, got "yes"$'):
        fresh_backend.backend()


def test_a_corrupt_library(elsewhere):
    """A file that is no library is not used."""
    elsewhere.write_bytes(b"\x7fELF, but not really")
    assert recolva.backend().name == "pure"
    assert str(elsewhere) in recolva.backend().reason
    scores_anyway()


def test_a_directory_for_a_library(elsewhere):
    """A directory in its place is no library."""
    elsewhere.mkdir()
    assert recolva.backend().name == "pure"


@needs_library
@pytest.mark.skipif(sys.platform != "linux", reason="other loaders check this themselves")
@pytest.mark.parametrize("part", [0.001, 0.5, 0.999])
def test_a_truncated_library(elsewhere, part):
    """An interrupted copy of the library is not used; the loader would crash on it."""
    content = STAGED.read_bytes()
    elsewhere.write_bytes(content[: int(len(content) * part)])
    assert recolva.backend().name == "pure"
    assert recolva.backend().reason == f"{elsewhere}: file is cut short"
    scores_anyway()


@pytest.mark.skipif(
    sys.platform != "linux" or sys.implementation.name != "cpython",
    reason="takes an extension module for the foreign library",
)
def test_a_foreign_library(elsewhere):
    """A library that is not ours is not used."""
    import _ctypes

    shutil.copy(_ctypes.__file__, elsewhere)
    assert recolva.backend().name == "pure"
    assert "RecolvaAbiVersion" in recolva.backend().reason
    scores_anyway()


@needs_library
@pytest.mark.skipif(sys.platform != "linux", reason="patches an ELF file")
@pytest.mark.parametrize(("at", "value"), [(18, 243), (18, 22), (4, 1)], ids=["riscv64", "s390x", "32 bits"])
def test_a_library_of_a_foreign_processor(elsewhere, at, value):
    """The library of another processor, or of the other word size, is not used."""
    content = bytearray(STAGED.read_bytes())
    if content[at] == value:
        pytest.skip("this machine is one of those")
    content[at] = value
    elsewhere.write_bytes(content)
    assert recolva.backend().name == "pure"
    assert str(elsewhere) in recolva.backend().reason
    scores_anyway()


@pytest.mark.parametrize("magic", [b"\xcf\xfa\xed\xfe", b"MZ", b"\x7fELF"], ids=["macOS", "Windows", "ELF"])
def test_a_library_of_a_foreign_system(elsewhere, magic):
    """A file in the format of another system, or the start of one in our own, is not used."""
    elsewhere.write_bytes(magic + bytes(4096))
    assert recolva.backend().name == "pure"
    scores_anyway()


@needs_library
@pytest.mark.skipif(sys.platform != "linux", reason="glibc names its versions")
def test_a_library_for_a_newer_system(elsewhere):
    """A library that asks for a newer C library than there is, is not used."""
    content = STAGED.read_bytes()
    found = re.search(rb"GLIBC_2\.[\d.]+\0", content)
    assert found
    newer = b"GLIBC_" + b"9" * (len(found[0]) - len(b"GLIBC_\0")) + b"\0"
    elsewhere.write_bytes(content.replace(found[0], newer))
    assert recolva.backend().name == "pure"
    assert newer[:-1].decode() in recolva.backend().reason
    scores_anyway()


@needs_library
def test_a_library_newer_than_the_package(elsewhere, monkeypatch):
    """A library whose ABI version is above ours is not used, whatever else it offers."""
    shutil.copy(STAGED, elsewhere)
    monkeypatch.setattr(_ffi, "ABI_VERSION", _ffi.ABI_VERSION - 1)
    assert recolva.backend().name == "pure"
    assert recolva.backend().reason == f"{elsewhere}: ABI version must be 0, got 1"
    scores_anyway()


@needs_library
def test_a_library_of_another_version(fresh_backend, monkeypatch):
    """A library with another ABI is not used: its functions could mean anything."""
    monkeypatch.setattr(_ffi, "ABI_VERSION", 2)
    assert fresh_backend.backend().name == "pure"
    assert fresh_backend.backend().reason == f"{STAGED}: ABI version must be 2, got 1"
    scores_anyway()


@needs_library
def test_a_library_without_one_of_the_functions(fresh_backend, monkeypatch):
    """A library that lacks a function is not used, not even for the others."""
    monkeypatch.setattr(_ffi, "_name", lambda model: f"Missing{model}")
    assert fresh_backend.backend().name == "pure"
    assert "Missingexponential" in fresh_backend.backend().reason


def test_first_use_from_many_threads(fresh_backend, monkeypatch):
    """Threads that meet at the first use load the library once and agree."""
    loads = []
    monkeypatch.setattr(
        fresh_backend,
        "_load",
        lambda process, wish: loads.append(wish) or pure_state(process),
    )
    barrier = threading.Barrier(8)
    seen = []

    def use():
        barrier.wait()
        seen.append(fresh_backend.backend())

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == [""]
    assert len(seen) == 8
    assert len({id(backend) for backend in seen}) == 1


def pure_state(process):
    return _backend._State(process, None, _backend.Backend("pure", "for a test"))


def test_a_short_write_is_continued(tmp_path, monkeypatch):
    """A copy of the library is complete, even if the system writes it in pieces."""
    write = _backend.os.write
    monkeypatch.setattr(_backend.os, "write", lambda file, data: write(file, bytes(data[:7])))
    with (tmp_path / "copy").open("wb") as file:
        _backend._write_all(file.fileno(), bytes(range(100)))
    monkeypatch.undo()
    assert (tmp_path / "copy").read_bytes() == bytes(range(100))


def test_import_does_not_load(fresh_interpreter):
    """Not even importing every module loads the library."""
    code = (
        "import recolva.store, recolva.arrays, recolva._backend as b;"
        "print(b._state, b._tried_by); import recolva; recolva.backend(); print(b._state is None)"
    )
    assert fresh_interpreter(code) == "None None\nFalse"
