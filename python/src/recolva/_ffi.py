"""The C library as Python calls it; ``native/recolva.h`` is the description of its functions.

Signatures are derived from the fields of the models, so a new model needs nothing here. Callers
have checked every value: ctypes would wrap an integer that is too large without a word.
"""

from __future__ import annotations

import ctypes
from array import array
from ctypes import POINTER, byref, c_double, c_int32, c_int64, c_void_p
from enum import IntEnum
from pathlib import Path
from typing import Any

from recolva._native import Unusable
from recolva.models import MODELS, Model, parameters

__all__ = ["ABI_VERSION", "Block", "NativeLibrary", "Status"]

ABI_VERSION = 1


class Status(IntEnum):
    """What the functions return; the same as in ``native/recolva.h``."""

    OK = 0
    INVALID_ARGUMENT = 1
    NULL_OUTPUT = 2


class Block:
    """What a scan of one block of lines found. Make it once, use it for every block.

    For each of the ``records`` first elements: ``line_start`` and ``line_end`` (past the line end),
    ``id_start`` and ``id_end`` (the raw string content between the quotes), all offsets into the
    data; ``last_accessed``, ``score`` and ``prune`` (1 or 0).
    """

    def __init__(self, capacity: int) -> None:
        """Allocate room for capacity >= 1 records."""
        self.capacity = capacity
        self.line_start = array("q", bytes(8 * capacity))
        self.line_end = array("q", bytes(8 * capacity))
        self.id_start = array("q", bytes(8 * capacity))
        self.id_end = array("q", bytes(8 * capacity))
        self.last_accessed = array("q", bytes(8 * capacity))
        self.score = array("d", bytes(8 * capacity))
        self.prune = array("B", bytes(capacity))
        self.records = 0
        self.blanks = 0
        self.consumed = 0
        """Bytes of the whole lines that were dealt with."""
        self.bad_line = 0
        """Number of the line within the block that is no record, or 0; it is not consumed."""

    def addresses(self) -> tuple[int, ...]:
        """Return the addresses of the arrays in the order of the C function."""
        arrays = (self.line_start, self.line_end, self.id_start, self.id_end)
        values = (self.last_accessed, self.score, self.prune)
        return tuple(a.buffer_info()[0] for a in (*arrays, *values))


class NativeLibrary:
    """A loaded library. Safe to use from several threads; the calls release the GIL."""

    def __init__(self, path: str) -> None:
        """Load the library at path, or raise Unusable."""
        self.path = path
        try:
            _refuse_cut(path)
            self._library = ctypes.CDLL(path)
            self._check_version()
            self._scalar = {m: self._function(_name(m), _scalar_signature(m)) for m in MODELS}
            self._batch = {m: self._function(_name(m) + "Batch", _batch_signature(m)) for m in MODELS}
            self._scan = self._function("RecolvaScanBlock", _SCAN_SIGNATURE)
        except (OSError, AttributeError) as error:
            raise Unusable(str(error)) from None

    def _check_version(self) -> None:
        version = self._function("RecolvaAbiVersion", [])()
        if version != ABI_VERSION:
            raise Unusable(f"{self.path}: ABI version must be {ABI_VERSION}, got {version}")

    def _function(self, name: str, signature: list[Any]) -> Any:
        function = getattr(self._library, name)
        function.argtypes = signature
        function.restype = c_int32
        return function

    def score(self, model: Model, last_accessed: int, now: int, importance: float) -> float:
        """Return one score."""
        out = c_double()
        weight = (importance,) if model.needs_importance else ()
        function = self._scalar[model.name]
        _check(function(last_accessed, now, *_values(model), *weight, byref(out)))
        return out.value

    def score_batch(  # noqa: PLR0917 - the arguments of the C function
        self,
        model: Model,
        count: int,
        last_accessed: int,
        importance: int | None,
        now: int,
        scores: int,
    ) -> None:
        """Write count scores. Arrays are given by address: int64 times, doubles for the others.

        importance may be None for a model that does not need it. The caller keeps the arrays alive.
        """
        weights = (importance,) if model.needs_importance else ()
        function = self._batch[model.name]
        _check(function(last_accessed, *weights, count, now, *_values(model), scores))

    def scan_block(  # noqa: PLR0917 - the arguments of the C function
        self,
        data: bytes | bytearray,
        length: int,
        at_end: bool,  # noqa: FBT001 - the arguments of the C function
        model: Model,
        now: int,
        threshold: float,
        block: Block,
    ) -> None:
        """Scan the whole lines in data[:length], with at_end also a last line without newline.

        Stops when block is full, at the end of the whole lines, or at a line that is no record.
        """
        if not 0 <= length <= len(data):
            raise ValueError(f"length must be between 0 and {len(data)}, got {length}")
        values = _values(model)
        found = [c_int64() for _ in range(4)]
        status = self._scan(
            _address(data),
            length,
            at_end,
            _NUMBER[model.name],
            (c_double * len(values))(*values),
            len(values),
            now,
            threshold,
            block.capacity,
            *block.addresses(),
            *map(byref, found),
        )
        _check(status)
        block.records, block.blanks, block.consumed, block.bad_line = (n.value for n in found)


def _refuse_cut(path: str) -> None:
    """Raise Unusable for an ELF file that is cut short: the loader would die of it, not refuse it.

    The table of sections, to which the header points, is the last thing in the file.
    """
    with Path(path).open("rb") as file:
        header = file.read(64)
    if len(header) == 64 and header.startswith(b"\x7fELF\x02\x01"):  # 64 bits, little-endian
        table = int.from_bytes(header[40:48], "little")
        entry, count = header[58] | header[59] << 8, header[60] | header[61] << 8
        if table + entry * count > Path(path).stat().st_size:
            raise Unusable(f"{path}: file is cut short")


def _check(status: int) -> None:
    """Raise if a call failed; as every value was checked before, that would be a defect."""
    if status != Status.OK:
        raise RuntimeError(f"native library: unexpected status {status}")


def _address(data: bytes | bytearray) -> Any:
    """Return what ctypes passes as the address of data; it keeps data alive and unmoved."""
    if isinstance(data, bytes):
        return data
    return ctypes.byref(ctypes.c_char.from_buffer(data)) if data else None


def _values(model: Model) -> tuple[float, ...]:
    return tuple([getattr(model, name) for name in _FIELDS[model.name]])


def _name(model: str) -> str:
    return f"DecayScore{MODELS[model].__name__}"


def _parameter_types(model: str) -> list[Any]:
    return [c_int64 if p.integer else c_double for p in parameters(MODELS[model])]


def _scalar_signature(model: str) -> list[Any]:
    weight = [c_double] if MODELS[model].needs_importance else []
    return [c_int64, c_int64, *_parameter_types(model), *weight, POINTER(c_double)]


def _batch_signature(model: str) -> list[Any]:
    weights = [c_void_p] if MODELS[model].needs_importance else []
    return [c_void_p, *weights, c_int64, c_int64, *_parameter_types(model), c_void_p]


_FIELDS = {name: [p.name for p in parameters(model)] for name, model in MODELS.items()}
_NUMBER = {name: number for number, name in enumerate(MODELS)}

_COUNTER = POINTER(c_int64)
_SCAN_SIGNATURE = [
    *(c_void_p, c_int64, c_int32),  # data, length, at_end
    *(c_int32, POINTER(c_double), c_int32),  # model, parameters, parameter_count
    *(c_int64, c_double, c_int64),  # now, threshold, capacity
    *([c_void_p] * 7),  # the arrays of a Block
    *([_COUNTER] * 4),  # records, blanks, consumed, bad_line
]
