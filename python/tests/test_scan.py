"""The scan of a file: its cutting into stretches, and native against pure."""

from __future__ import annotations

import dataclasses
import random
from array import array
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recolva import _scan
from recolva._audit import Policy
from recolva._backend import native_library
from recolva._columns import Batch
from recolva._lines import Kind, stretches
from recolva._scan import NativeScanner, PureScanner, make_scanner
from recolva.decisions import Decision
from recolva.errors import InvalidRecord
from recolva.models import Exponential, Model, PowerLaw
from recolva.records import Layout, Parser, RecordFault, is_blank

if TYPE_CHECKING:
    from recolva._ffi import Block

NOW = 1_750_000_000_000
MODELS: list[Model] = [Exponential(86_400_000), PowerLaw(86_400_000, 1.5)]
BIG = 1 << 30


def cut(content: bytes, sizes: list[int], limit: int) -> list[tuple[Kind, bytes]]:
    """Cut content that is read in pieces of the given sizes."""
    rest = bytearray(content)
    pieces = iter(sizes)

    def read(size: int) -> bytes:
        count = min(size, next(pieces, size))
        data = bytes(rest[:count])
        del rest[:count]
        return data

    return [(kind, data) for kind, data in stretches(read, limit)]


FILES = st.lists(st.sampled_from([b"\xef\xbb\xbf", b"a", b"bb\n", b"\n", b"\r\n", b"cccccccc"])).map(b"".join)


@given(FILES, st.lists(st.integers(1, 9)), st.integers(1, 9))
@example(b"\xef\xbb\xbf", [1, 1, 1], 5)
@example(b"\xef\xbb\xbfab\n", [3], 1)
def test_stretches_are_the_file(content: bytes, sizes: list[int], limit: int) -> None:
    """Joined, the stretches are the file; each holds what its kind says, for any sizes of reads."""
    found = cut(content, sizes, limit)
    assert b"".join(data for _, data in found) == content
    assert ([kind for kind, _ in found][:1] == [Kind.MARK]) == content.startswith(b"\xef\xbb\xbf")
    inside_long_line = False
    for kind, data in found:
        assert data
        assert (kind is Kind.REST) == inside_long_line
        if kind is Kind.LINES:
            assert data.endswith(b"\n")
        elif kind in (Kind.LAST, Kind.TOO_LONG):
            assert b"\n" not in data
        assert kind is not Kind.TOO_LONG or len(data) > limit + 1
        if kind in (Kind.TOO_LONG, Kind.REST):
            inside_long_line = not data.endswith(b"\n")


class Twin:
    """The native scan as its header describes it, in Python: a stand-in where none is staged."""

    def scan_block(  # noqa: PLR0917 - the arguments of the library
        self, data: Any, length: int, at_end: Any, model: Model, now: int, threshold: float, block: Block
    ) -> None:
        assert not at_end
        parser = Parser(Layout(need_importance=model.needs_importance))
        block.records = block.blanks = block.consumed = block.bad_line = 0
        for line in bytes(data[:length]).split(b"\n")[:-1]:
            if block.records == block.capacity:
                return
            start, end, at = block.consumed, block.consumed + len(line) + 1, block.records
            if is_blank(line):
                block.blanks += 1
                block.consumed = end
                continue
            try:
                identity, time, importance = parser(line)
            except RecordFault:
                block.bad_line = block.records + block.blanks + 1
                return
            raw = line.index(identity.encode(), line.index(b'"id"') + 4)
            block.line_start[at], block.line_end[at] = start, end
            block.id_start[at], block.id_end[at] = start + raw, start + raw + len(identity.encode())
            block.last_accessed[at], block.score[at] = time, model.score(time, now, importance)
            block.prune[at] = block.score[at] < threshold
            block.records += 1
            block.consumed = end


def native(pure: PureScanner) -> list[NativeScanner]:
    """Return the native scanners that can be tried: on the stand-in, and on the library if staged."""
    library = native_library()
    return [NativeScanner(lib, pure) for lib in (Twin(), library) if lib is not None]  # type: ignore[arg-type]


LINES = [
    *(b'{"id":"%d","last_accessed_ms":%d,"importance":0.%d}' % (n, NOW - n * 40_000_000, n) for n in range(1, 8)),
    b'{"last_accessed_ms":1749999999,"x":[{"id":3}],"importance":1,"id":"\xc3\xa9"}\r',
    b'{"importance":0,"last_accessed_ms":-9223372036854775808,"id":"far"}',
    *(b"", b" \t\r", b"{}", b'{"id":"bad","last_accessed_ms":1.5}', b"\xff", b'{"id":"x","last_accessed_ms":1'),
]


def outcome(scanner: Any, data: bytes) -> list[Any]:
    """Return all that a scan of the data finds, or how it ends."""
    rows: list[Any] = []
    lines = blank = bad = 0
    try:
        for found in scanner.scan(data, 11):
            rows += [(d.id, d.score.hex(), d.prune, d.reason, d.line) for d in found.batch]
            rows += [("pruned", data[start:end]) for start, end in found.pruned]
            rows += found.suspects
            lines, blank, bad = lines + found.lines, blank + found.blank, bad + found.invalid
    except InvalidRecord as error:
        return [str(error), error.line]
    return [*sorted(map(repr, rows)), lines, blank, bad]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@pytest.mark.parametrize("on_invalid", ["fail", "keep"])
@pytest.mark.parametrize("limit", [BIG, 50])
def test_native_equals_pure(monkeypatch: pytest.MonkeyPatch, model: Model, on_invalid: str, limit: int) -> None:
    """Blocks of any lines give the same decisions, spans, line numbers, counts and texts."""
    monkeypatch.setattr(_scan, "_CAPACITY", 3)
    policy = Policy(model, 0.4, Layout(need_importance=model.needs_importance), on_invalid)
    pure = PureScanner(policy, NOW, limit)
    rng = random.Random(2)
    whole = LINES[:9] + LINES[:9] + [b"", b""]
    for _ in range(300):
        lines = rng.choices(LINES if on_invalid == "keep" else whole, k=rng.randrange(1, 14))
        lines += rng.choices(LINES, k=rng.randrange(2))
        data = b"\n".join(lines) + rng.choice([b"\n", b"\n", b'\n{"id":"last","last_accessed_ms":5,"importance":1}'])
        expected = outcome(pure, data)
        for scanner in native(pure):
            assert outcome(scanner, data) == expected, data


def test_spans_are_left_out_where_nothing_is_pruned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scan that changes no file needs no places of pruned lines; the decisions are the same."""
    monkeypatch.setattr(_scan, "native_library", Twin)
    data = b"\n".join(LINES[:7]) + b"\n"
    policy = Policy(MODELS[0], 0.4, Layout())
    (whole,) = make_scanner(policy, NOW, BIG).scan(data, 1)
    (found,) = make_scanner(policy, NOW, BIG, spans=False).scan(data, 1)
    assert whole.pruned
    assert not found.pruned
    assert list(found.batch) == list(whole.batch)


def test_decisions_of_a_batch_are_frozen() -> None:
    """A decision that a batch makes is one like any other: of its class, equal, immutable, whole."""
    batch = Batch(b"a", array("d", [0.25]), b"\x01", range(7, 8))
    (decision,) = batch
    other = Decision("a", 0.25, prune=True, reason="score_below_threshold", line=7)
    assert type(decision) is Decision
    assert (decision, repr(decision)) == (other, repr(other))
    with pytest.raises(dataclasses.FrozenInstanceError):
        decision.prune = False  # type: ignore[misc]


def test_only_the_default_layout_is_native(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other fields and units take the pure path, whatever is staged."""
    monkeypatch.setattr(_scan, "native_library", Twin)
    for model in MODELS:
        layout = Layout(need_importance=model.needs_importance)
        assert isinstance(make_scanner(Policy(model, 0.5, layout), NOW, BIG), NativeScanner)
    for layout in (Layout(id_field="key"), Layout(time_unit="s"), Layout(time_field="a.b")):
        assert isinstance(make_scanner(Policy(MODELS[0], 0.5, layout), NOW, BIG), PureScanner)
