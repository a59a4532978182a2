"""The C library as Python sees it: signatures, statuses, and the same bits."""

from __future__ import annotations

import ctypes
import re
from array import array
from pathlib import Path

import pytest

from recolva import _ffi
from recolva._native import library_path
from recolva.models import MODELS, Exponential, PowerLaw

HEADER = Path(__file__).parents[2] / "native" / "recolva.h"
DAY = 86_400_000
C_TYPES = {"int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "double": ctypes.c_double}


@pytest.fixture(scope="module")
def header():
    """Text of the header without its comments."""
    text = HEADER.read_text(encoding="utf-8")
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)


@pytest.fixture(scope="module")
def library():
    if not library_path().is_file():
        pytest.skip("no native library is staged: scripts/stage_native.py")
    return _ffi.NativeLibrary(str(library_path()))


def prototypes(header):
    """Return name -> parameter types of every function that the header declares."""
    found = {}
    for name, parameters in re.findall(r"int32_t\s+(\w+)\s*\(([^)]*)\)\s*;", header):
        types = [re.sub(r"\s*\w+$", "", " ".join(p.split())) for p in parameters.split(",")]
        found[name] = [] if parameters.strip() in ("void", "") else types
    return found


def fits(c_type, ctypes_type):
    """Say whether ctypes passes what C expects."""
    if "*" in c_type:
        target = C_TYPES.get(re.sub(r"const|\*|\s", "", c_type))
        return ctypes_type is ctypes.c_void_p or ctypes_type is ctypes.POINTER(target)
    return ctypes_type is C_TYPES[c_type]


def test_statuses_are_those_of_the_header(header):
    """The statuses have the numbers that the header gives them."""
    numbers = {int(n) for n in re.findall(r"RECOLVA_\w+\s*=?\s*(\d+)\b", header) if int(n) < 3}
    assert numbers == {int(status) for status in _ffi.Status} == {0, 1, 2}
    for status in _ffi.Status:
        pattern = rf"\bRECOLVA_(?:STATUS_)?{status.name}\s*=?\s*{int(status)}\b"
        assert re.search(pattern, header), status


def test_signatures_are_those_of_the_header(header):
    """What Python passes is what the header declares, for every function of the header."""
    expected = {"RecolvaAbiVersion": [], "RecolvaScanBlock": _ffi._SCAN_SIGNATURE}
    for model in MODELS:
        expected[_ffi._name(model)] = _ffi._scalar_signature(model)
        expected[_ffi._name(model) + "Batch"] = _ffi._batch_signature(model)
    declared = prototypes(header)
    assert set(declared) == set(expected)
    for name, types in declared.items():
        assert len(types) == len(expected[name]), name
        assert all(map(fits, types, expected[name])), name


@pytest.mark.parametrize(
    ("model", "importance", "score"),
    [(Exponential(DAY), 1.0, 0.5), (PowerLaw(DAY, 1.0), 0.5, 0.25)],
)
def test_scalar_calls(library, model, importance, score):
    """The scalar functions return the documented scores."""
    assert library.score(model, 1_000_000, 87_400_000, importance) == score


def test_every_age_of_int64(library):
    """Differences of times that overflow int64 are exact in the library too."""
    ends = (-(2**63), -1, 0, 1, 2**63 - 1)
    for model in (Exponential(1000), PowerLaw(1000, 0.1)):
        for last_accessed in ends:
            for now in ends:
                native = library.score(model, last_accessed, now, 1.0)
                assert native == model.score(last_accessed, now, 1.0)


def test_every_golden_vector_to_the_bit(library, golden):
    """The library returns the bits of every golden vector."""
    strays = []
    for model, arguments, expected in golden:
        importance, age, span, exponent = arguments if model == "P" else (1.0, *arguments, None)
        now = min(age, 2**63 - 1)
        built = Exponential(span) if exponent is None else PowerLaw(span, exponent)
        score = library.score(built, now - age, now, importance)
        if score.hex() != expected.hex():
            strays.append((built, arguments, score, expected))
    assert strays == []


def test_an_unexpected_status_is_an_error(library):
    """A value that was not checked is caught, and nothing is written."""
    model = Exponential(DAY)
    object.__setattr__(model, "half_life_ms", 5)
    with pytest.raises(RuntimeError, match="^native library: unexpected status 1$"):
        library.score(model, 0, 0, 1.0)
    times, scores = array("q", [0]), array("d", [7.0])
    with pytest.raises(RuntimeError, match="^native library: unexpected status 1$"):
        library.score_batch(model, 1, times.buffer_info()[0], None, 0, scores.buffer_info()[0])
    assert scores == array("d", [7.0])


LINES = (
    b'{"id":"a","last_accessed_ms":1000000,"importance":0.5}\n'
    b"\n"
    b'{"last_accessed_ms": 87400000, "importance": 1, "id": "b\\n"}\r\n'
    b'{"id":"c","last_accessed_ms":0,"importance":0.5}'
)
LINE_STARTS = [0, LINES.index(b'{"last'), LINES.index(b'{"id":"c"')]


@pytest.mark.parametrize("kind", [bytes, bytearray])
@pytest.mark.parametrize(
    ("model", "scores"),
    [(Exponential(DAY), [0.5, 1.0]), (PowerLaw(DAY, 1.0), [0.25, 1.0])],
)
def test_a_block_of_lines(library, kind, model, scores):
    """A scan finds the whole lines, their ids, scores and decisions."""
    block = _ffi.Block(8)
    library.scan_block(kind(LINES), len(LINES), False, model, 87_400_000, 0.5, block)
    count = block.records
    assert (count, block.blanks, block.consumed, block.bad_line) == (2, 1, LINE_STARTS[2], 0)
    assert block.line_start[:count].tolist() == LINE_STARTS[:2]
    assert block.line_end[:count].tolist() == [LINES.index(b"\n") + 1, LINE_STARTS[2]]
    ids = [LINES[s:e] for s, e in zip(block.id_start[:count], block.id_end[:count])]
    assert ids == [b"a", b"b\\n"]
    assert block.last_accessed[:count].tolist() == [1_000_000, 87_400_000]
    assert block.score[:count].tolist() == scores
    assert block.prune[:count].tolist() == [int(score < 0.5) for score in scores]


def test_a_block_at_the_end_of_the_file(library):
    """With at_end a last line without newline belongs to the block."""
    block = _ffi.Block(8)
    library.scan_block(LINES, len(LINES), True, Exponential(DAY), 87_400_000, 0.5, block)
    assert (block.records, block.consumed) == (3, len(LINES))


def test_a_full_block(library):
    """A scan stops when the block is full, and says how far it came."""
    block = _ffi.Block(1)
    library.scan_block(LINES, len(LINES), True, Exponential(DAY), 87_400_000, 0.5, block)
    assert block.records == 1
    assert LINES.index(b"\n") + 1 <= block.consumed <= LINE_STARTS[1]


def test_a_bad_line(library):
    """A line that is no record ends the scan; its number counts blank lines."""
    data = LINES + b"\n{}\n"
    block = _ffi.Block(8)
    library.scan_block(data, len(data), False, Exponential(DAY), 87_400_000, 0.5, block)
    assert (block.records, block.blanks, block.bad_line) == (3, 1, 5)
    assert block.consumed == data.index(b"{}")


@pytest.mark.parametrize("data", [b"", bytearray()])
def test_an_empty_block(library, data):
    """No data is no record."""
    block = _ffi.Block(1)
    library.scan_block(data, 0, True, Exponential(DAY), 0, 0.5, block)
    assert (block.records, block.blanks, block.consumed, block.bad_line) == (0, 0, 0, 0)


@pytest.mark.parametrize("length", [-1, 3])
def test_a_block_within_its_data(library, length):
    """A length beyond the data is refused before the library could read there."""
    with pytest.raises(ValueError, match=f"^length must be between 0 and 2, got {length}$"):
        library.scan_block(b"ab", length, True, Exponential(DAY), 0, 0.5, _ffi.Block(1))
