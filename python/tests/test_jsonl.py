"""The JSONL functions: what they decide, keep, move and drop, byte for byte."""

from __future__ import annotations

import inspect
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from recolva import jsonl
from recolva.decisions import Decision
from recolva.errors import InvalidArgument, InvalidArgumentType, InvalidRecord, Refused

if TYPE_CHECKING:
    from pathlib import Path

NOW, DAY = 87_400_000, 86_400_000
EXPONENTIAL: dict[str, Any] = {"now": NOW, "half_life_millis": DAY, "threshold": 0.5}
POWER_LAW: dict[str, Any] = {"now": NOW, "scale_millis": DAY, "exponent": 1.0, "threshold": 0.25}
NEW, OLD = NOW, NOW - 2 * DAY


def line(identity: str, time: int = NEW, more: str = "") -> bytes:
    """Return a record's line; by default one that stays."""
    return f'{{"id":"{identity}","last_accessed_ms":{time},"importance":1{more}}}\n'.encode()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store of an old, a new and an old record."""
    path = tmp_path / "memories.jsonl"
    path.write_bytes(line("a", OLD) + line("b", NEW) + line("c", OLD))
    return path


def names(directory: Path) -> list[str]:
    """List a directory, to show that nothing was left there."""
    return sorted(path.name for path in directory.iterdir())


def test_documented_example_scans(tmp_path: Path) -> None:
    """A record of one half-life scores 0.5 and stays: equality retains."""
    store = tmp_path / "memories.jsonl"
    store.write_bytes(line("a", 1_000_000) + line("b", OLD))
    decisions = jsonl.scan_exponential_jsonl(str(store), **EXPONENTIAL)
    assert decisions == [Decision("a", 0.5, False), Decision("b", 0.25, True)]
    assert [decision.line for decision in decisions] == [1, 2]
    assert [decision.reason for decision in decisions] == ["score_at_or_above_threshold", "score_below_threshold"]
    assert names(tmp_path) == ["memories.jsonl"]


def test_documented_example_archives(store: Path, tmp_path: Path) -> None:
    """Pruned lines move to the archive, in order and byte for byte; the rest stays."""
    archive = tmp_path / "archive.jsonl"
    decisions = jsonl.archive_exponential_jsonl(store, archive, **EXPONENTIAL)
    assert [(d.id, d.prune) for d in decisions] == [("a", True), ("b", False), ("c", True)]
    assert store.read_bytes() == line("b", NEW)
    assert archive.read_bytes() == line("a", OLD) + line("c", OLD)
    assert names(tmp_path) == ["archive.jsonl", "memories.jsonl"]


def test_documented_example_deletes(store: Path, tmp_path: Path) -> None:
    """Pruned lines are dropped."""
    decisions = jsonl.delete_exponential_jsonl(store, **EXPONENTIAL)
    assert decisions.pruned == 2
    assert store.read_bytes() == line("b", NEW)
    assert names(tmp_path) == ["memories.jsonl"]


def test_power_law_forms(tmp_path: Path) -> None:
    """The power-law functions need and use the importance."""
    store, archive = tmp_path / "m.jsonl", tmp_path / "a.jsonl"
    content = b'{"id":"a","last_accessed_ms":1000000,"importance":0.5}\n' + line("b", OLD - DAY)
    store.write_bytes(content)
    low = {**POWER_LAW, "threshold": 0.26}
    expected = [Decision("a", 0.25, True), Decision("b", 0.25, True)]
    assert jsonl.scan_power_law_jsonl(store, **POWER_LAW) == [Decision(d.id, d.score, False) for d in expected]
    assert jsonl.archive_power_law_jsonl(store, archive, **low) == expected
    assert (store.read_bytes(), archive.read_bytes()) == (b"", content)
    store.write_bytes(content)
    assert jsonl.delete_power_law_jsonl(store, **low) == expected
    store.write_bytes(b'{"id":"a","last_accessed_ms":1}\n')
    with pytest.raises(InvalidRecord, match=r"^line 1: importance is missing$"):
        jsonl.scan_power_law_jsonl(store, **POWER_LAW)


def test_archiving_twice_keeps_the_first_archive(store: Path, tmp_path: Path) -> None:
    """A later sweep adds to the archive, and one that prunes nothing does not touch it."""
    archive = tmp_path / "archive.jsonl"
    jsonl.archive_exponential_jsonl(store, archive, **EXPONENTIAL)
    later = {**EXPONENTIAL, "now": NOW + 2 * DAY}
    jsonl.archive_exponential_jsonl(store, archive, **later)
    assert archive.read_bytes() == line("a", OLD) + line("c", OLD) + line("b", NEW)
    before = archive.stat(), store.stat()
    jsonl.archive_exponential_jsonl(store, archive, **later)
    assert (archive.stat(), store.stat()) == before


def test_replace_mode_replaces_the_archive(store: Path, tmp_path: Path) -> None:
    """archive_mode="replace" drops what the archive held, and keeps its mode."""
    archive = tmp_path / "archive.jsonl"
    archive.write_bytes(b"earlier\n")
    archive.chmod(0o640)
    jsonl.archive_exponential_jsonl(store, archive, archive_mode="replace", **EXPONENTIAL)
    assert archive.read_bytes() == line("a", OLD) + line("c", OLD)
    assert archive.stat().st_mode & 0o777 == 0o640
    assert names(tmp_path) == ["archive.jsonl", "memories.jsonl"]


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_only_lf_ends_a_line(tmp_path: Path, character: str) -> None:
    """Characters that Unicode calls line ends are data: no line is cut, none is lost."""
    store, archive = tmp_path / "m.jsonl", tmp_path / "a.jsonl"
    escaped = character if ord(character) > 0x20 else f"\\u{ord(character):04x}"
    lines = [line("k1"), line("text", NEW, f',"text":"one{escaped}two"'), line("o", OLD), line("k2"), line("k3")]
    store.write_bytes(b"".join(lines))
    decisions = jsonl.archive_exponential_jsonl(store, archive, **EXPONENTIAL)
    assert [d.id for d in decisions if d.prune] == ["o"]
    assert store.read_bytes() == lines[0] + lines[1] + lines[3] + lines[4]
    assert archive.read_bytes() == lines[2]


@pytest.mark.parametrize(
    ("content", "retained", "pruned"),
    [
        (b"", b"", b""),
        (b"\xef\xbb\xbf", b"\xef\xbb\xbf", b""),
        (b"\n \t\r\n", b"\n \t\r\n", b""),
        (line("a", OLD)[:-1], b"", line("a", OLD)[:-1]),
        (line("a", OLD) + line("b")[:-1], line("b")[:-1], line("a", OLD)),
        (b"\xef\xbb\xbf" + line("a", OLD) + line("b"), b"\xef\xbb\xbf" + line("b"), line("a", OLD)),
        (b"\n" + line("a", OLD)[:-1] + b"\r\n\r\n " + line("b"), b"\n\r\n " + line("b"), line("a", OLD)[:-1] + b"\r\n"),
        (line("a", OLD) * 2 + line("a", NEW), line("a", NEW), line("a", OLD) * 2),
    ],
    ids=["empty", "mark only", "blanks", "no newline", "no newline stays", "mark", "CRLF and blanks", "same id"],
)
def test_every_byte_is_kept(tmp_path: Path, content: bytes, retained: bytes, pruned: bytes) -> None:
    """Line ends, blank lines, a byte order mark and repeated ids stay as they are."""
    store, archive = tmp_path / "m.jsonl", tmp_path / "a.jsonl"
    store.write_bytes(content)
    jsonl.archive_exponential_jsonl(store, archive, **EXPONENTIAL)
    assert store.read_bytes() == retained
    assert archive.exists() == bool(pruned)
    assert not pruned or archive.read_bytes() == pruned


def test_archive_without_final_newline_gets_one(store: Path, tmp_path: Path) -> None:
    """Only where something is appended after a last line without newline is one added."""
    archive = tmp_path / "archive.jsonl"
    archive.write_bytes(b'{"id":"earlier"}')
    jsonl.archive_exponential_jsonl(store, archive, **EXPONENTIAL)
    assert archive.read_bytes() == b'{"id":"earlier"}\n' + line("a", OLD) + line("c", OLD)


BAD_LINES = [  # what an earlier program accepted, or refused without naming the line
    (
        b'{"id":"x","last_accessed_ms":18446744073709551616}',
        "last_accessed_ms must be between -9223372036854775808 and 9223372036854775807, got 18446744073709551616",
    ),
    (b'{"id":"x","last_accessed_ms":1,"last_accessed_ms":0}', "last_accessed_ms occurs twice"),
    (b'{"id":"x","last_accessed_ms":1,"extra":NaN}', "invalid JSON at byte 40: expected a value"),
    (b'{"ID":"x","last_accessed_ms":1}', "id is missing"),
    (b'{"id":"x"}', "last_accessed_ms is missing"),
    (b'{"id":"\xff","last_accessed_ms":1}', "invalid UTF-8 at byte 8"),
    (b'{"id":" ","last_accessed_ms":1}', "id must not be blank"),
    (b"null", "a record must be a JSON object, got null"),
    (b'{"id":"x","last_accessed_ms":1,"x":' + b"[" * 11_000, "nesting is deeper than 512 at byte 547"),
    (b'\xef\xbb\xbf{"id":"x","last_accessed_ms":1}', "invalid JSON at byte 1: expected a value"),
]


@pytest.mark.parametrize(("bad", "text"), BAD_LINES, ids=[text[:30] for _, text in BAD_LINES])
def test_invalid_line_stops_everything(store: Path, tmp_path: Path, bad: bytes, text: str) -> None:
    """A line that is no record is named, and no file changes; kept, it stays where it is."""
    content = line("a", OLD) + b"\n" + bad + b"\n" + line("z", OLD)
    store.write_bytes(content)
    archive, audit = tmp_path / "archive.jsonl", tmp_path / "audit.jsonl"
    with pytest.raises(InvalidRecord) as caught:
        jsonl.archive_exponential_jsonl(store, archive, audit=audit, **EXPONENTIAL)
    assert (str(caught.value), caught.value.line) == (f"line 3: {text}", 3)
    assert store.read_bytes() == content
    assert names(tmp_path) == ["memories.jsonl"]
    decisions = jsonl.archive_exponential_jsonl(store, archive, on_invalid="keep", **EXPONENTIAL)
    assert (decisions.invalid, decisions.blank, [d.line for d in decisions]) == (1, 1, [1, 4])
    assert store.read_bytes() == b"\n" + bad + b"\n"


def test_torn_last_line_says_so(store: Path) -> None:
    """A last line that is cut is an error that tells what may have happened."""
    store.write_bytes(line("a") + b'{"id":"b","last_')
    text = "line 2: invalid JSON at byte 17: unexpected end of line"
    with pytest.raises(InvalidRecord) as caught:
        jsonl.scan_exponential_jsonl(store, **EXPONENTIAL)
    assert str(caught.value) == text + " (no newline at the end of the file: an interrupted append?)"


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_line_limit(store: Path, end: bytes) -> None:
    """A line may be as long as the limit without its line end; longer ones stop or stay."""
    record = line("a", OLD)[:-1]
    size = len(record)
    store.write_bytes(record + end)
    assert jsonl.scan_exponential_jsonl(store, max_line_bytes=size, **EXPONENTIAL).pruned == 1
    for limit in (size - 1, size - 3, 1):
        with pytest.raises(InvalidRecord, match=rf"^line 1: line is longer than {limit} bytes"):
            jsonl.scan_exponential_jsonl(store, max_line_bytes=limit, **EXPONENTIAL)
    store.write_bytes(line("o", OLD) + line("long", OLD, f',"x":"{"y" * 5_000_000}"') + line("p", OLD) + record + end)
    decisions = jsonl.delete_exponential_jsonl(store, max_line_bytes=size, on_invalid="keep", **EXPONENTIAL)
    assert ([(d.id, d.line) for d in decisions], decisions.invalid) == ([("o", 1), ("p", 3), ("a", 4)], 1)
    assert len(store.read_bytes()) > 5_000_000


def test_wrong_units_are_refused_where_records_would_go(store: Path, tmp_path: Path) -> None:
    """Times that look like seconds stop a mutation, unless the caller insists or converts."""
    now = 1_750_000_000_000
    content = line("a", now - DAY) + line("b", 1_749_999_999) + line("c", 1_740_000_000)
    store.write_bytes(content)
    options: dict[str, Any] = {**EXPONENTIAL, "now": now}
    text = "line 2: last_accessed_ms 1749999999 looks like seconds, not milliseconds (2 such records)"
    with pytest.raises(Refused) as caught:
        jsonl.delete_exponential_jsonl(store, audit=tmp_path / "audit.jsonl", **options)
    assert str(caught.value).startswith(text)
    assert store.read_bytes() == content
    assert names(tmp_path) == ["memories.jsonl"]
    assert jsonl.scan_exponential_jsonl(store, **options).pruned == 2
    store.write_bytes(line("b", 1_749_999_999) + line("c", 1_740_000_000))
    assert jsonl.delete_exponential_jsonl(store, time_unit="s", **options).pruned == 1
    assert jsonl.delete_exponential_jsonl(store, time_unit="ms", **options).pruned == 1


def test_more_than_may_go_does_not(store: Path, tmp_path: Path) -> None:
    """Beyond max_prune nothing goes, and a scan says so beforehand; up to it everything does."""
    before = store.read_bytes()
    text = "2 of 3 records would be pruned, more than the limit of 66%"
    assert jsonl.scan_exponential_jsonl(store, **EXPONENTIAL, max_prune="66%").would_refuse == (text,)
    with pytest.raises(Refused, match=text):
        jsonl.archive_exponential_jsonl(store, tmp_path / "archive.jsonl", **EXPONENTIAL, max_prune="66%")
    assert (store.read_bytes(), names(tmp_path)) == (before, ["memories.jsonl"])
    assert jsonl.scan_exponential_jsonl(store, **EXPONENTIAL, max_prune="67%").would_refuse == ()
    assert jsonl.delete_exponential_jsonl(store, **EXPONENTIAL, max_prune=2).pruned == 2


def test_the_time_of_a_sweep_in_seconds_is_warned_of(store: Path) -> None:
    """Taken for milliseconds it is in 1970, and nothing would ever be pruned."""
    with pytest.warns(
        RuntimeWarning, match="^now 1790000000 is in January 1970; a time in milliseconds has 13 digits"
    ) as caught:
        jsonl.scan_exponential_jsonl(store, **{**EXPONENTIAL, "now": 1_790_000_000})
    assert caught[0].filename == __file__


def test_a_scan_says_that_other_names_would_be_refused(store: Path, tmp_path: Path) -> None:
    """A store with a second hard link can be scanned; that it cannot be swept is said."""
    os.link(store, tmp_path / "second")
    (text,) = jsonl.scan_exponential_jsonl(store, **EXPONENTIAL).would_refuse
    assert text.endswith("has 2 hard links: the other names would keep the old content")
    with pytest.raises(Refused, match="has 2 hard links"):
        jsonl.delete_exponential_jsonl(store, **EXPONENTIAL)


def test_other_stores_fields(store: Path) -> None:
    """Fields may have other names, lie deeper, and be in other units."""
    store.write_bytes(b'{"meta":{"key":"k","seen":"1970-01-02T00:16:40+00:00","weight":0.5}}\n')
    fields: dict[str, Any] = {"id_field": "meta.key", "time_field": "meta.seen", "importance_field": "meta.weight"}
    assert jsonl.scan_power_law_jsonl(store, time_unit="rfc3339", **fields, **POWER_LAW) == [Decision("k", 0.5, False)]


def test_progress_reaches_the_size(store: Path) -> None:
    """The progress function is told how many bytes are done, up to all of them."""
    store.write_bytes(line("a", OLD) * 40_000)
    seen: list[tuple[int, int]] = []
    jsonl.scan_exponential_jsonl(store, progress=lambda done, total: seen.append((done, total)), **EXPONENTIAL)
    size = store.stat().st_size
    assert len(seen) > 1
    assert seen == sorted(seen)
    assert seen[-1] == (size, size)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"now": 1.0}, InvalidArgumentType, "now must be an integer, got float"),
        ({"half_life_millis": 5}, InvalidArgument, "half_life_millis must be between 1000 and 315576000000, got 5"),
        ({"threshold": float("nan")}, InvalidArgument, "threshold must be between 0 and 1, got NaN"),
        ({"on_invalid": "skip"}, InvalidArgument, 'on_invalid must be fail or keep, got "skip"'),
        ({"time_unit": "h"}, InvalidArgument, 'time_unit must be ms or s or us or ns or rfc3339, got "h"'),
        ({"audit_mode": "new"}, InvalidArgument, 'audit_mode must be append or replace, got "new"'),
        ({"lock_timeout": -1}, InvalidArgument, "lock_timeout must be between 0 and 1000000000, got -1"),
        ({"max_line_bytes": 0}, InvalidArgument, "max_line_bytes must be between 1 and 9223372036854775807, got 0"),
        ({"progress": 1}, InvalidArgumentType, "progress must be callable, got int"),
        ({"audit": 1}, InvalidArgumentType, "audit must be a path, got int"),
        (
            {"id_field": "a..b"},
            InvalidArgument,
            'id_field must be a name or a dotted path without empty parts, got "a..b"',
        ),
    ],
)
def test_arguments_are_checked_first(tmp_path: Path, options: Any, error: type[Exception], text: str) -> None:
    """A bad argument is named before any file is looked at."""
    with pytest.raises(error) as caught:
        jsonl.scan_exponential_jsonl(tmp_path / "missing.jsonl", **{**EXPONENTIAL, **options})
    assert str(caught.value) == text


def test_all_functions_take_the_same_keywords() -> None:
    """The shared keywords and their defaults are the same six times; all are keyword-only."""
    shared = []
    for name in jsonl.__all__:
        if not name.endswith("_jsonl"):
            continue
        parameters = inspect.signature(getattr(jsonl, name)).parameters
        assert ("archive_mode" in parameters) == name.startswith("archive")
        shared.append({p.name: p.default for p in parameters.values() if p.default is not p.empty})
        shared[-1].pop("archive_mode", None)
        positional = [p.name for p in parameters.values() if p.kind is not p.KEYWORD_ONLY]
        assert positional in (["path"], ["input"], ["input", "archive"])
    assert len(shared) == 6
    assert all(keywords == shared[0] for keywords in shared)


def test_unknown_keyword_is_an_error(store: Path) -> None:
    """Nothing is ignored silently."""
    with pytest.raises(TypeError, match="unexpected keyword"):
        jsonl.scan_exponential_jsonl(store, **{**EXPONENTIAL, "workers": 2})


def test_append_writes_one_line(tmp_path: Path) -> None:
    """A record becomes a line of its own, after a missing newline too."""
    store = tmp_path / "m.jsonl"
    jsonl.append(store, {"id": "é", "last_accessed_ms": 1, "x": [1.5, None]})
    store.write_bytes(store.read_bytes()[:-1])
    jsonl.append(store, b' {"id" : "raw"}\r\n')
    jsonl.append(store, b'{"id":"b"}')
    lines = ['{"id":"é","last_accessed_ms":1,"x":[1.5,null]}', ' {"id" : "raw"}\r', '{"id":"b"}', ""]
    assert store.read_bytes() == "\n".join(lines).encode()


@pytest.mark.parametrize(
    "record", [b"", b"[1]", b'{"id":1}\n{"id":2}', b'{"id":"\xff"}', {"x": {1}}, {"x": float("nan")}]
)
def test_append_refuses_what_is_no_record(tmp_path: Path, record: Any) -> None:
    """What is not one JSON object in one line is not appended."""
    with pytest.raises(InvalidArgument, match=r"^record must be "):
        jsonl.append(tmp_path / "m.jsonl", record)
    assert names(tmp_path) == []


def test_deleting_from_a_large_file_takes_little_memory(tmp_path: Path) -> None:
    """Memory grows with the decisions, not with the bytes of the file."""
    store = tmp_path / "big.jsonl"
    with store.open("wb") as out:
        for number in range(20_000):
            out.write(line(f"m{number}", OLD if number % 2 else NEW, f',"text":"{"x" * 2_000}"'))
    tracemalloc = pytest.importorskip("tracemalloc", reason="this Python counts no memory")
    tracemalloc.start()
    try:
        decisions = jsonl.delete_exponential_jsonl(store, **EXPONENTIAL)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert decisions.pruned == 10_000
    assert peak < 12 << 20 < store.stat().st_size


def test_decisions_behave_as_a_sequence(tmp_path: Path) -> None:
    """Decisions can be counted, indexed, sliced, compared and shown like a list."""
    store = tmp_path / "m.jsonl"
    ids = [f"m{number}" if number % 7 else f'\\u00e9\\n\\"{number}' for number in range(60_000)]
    store.write_bytes(b"".join(line(identity, OLD if identity < "m3" else NEW) for identity in ids))
    decisions = jsonl.scan_exponential_jsonl(store, **EXPONENTIAL)
    plain = list(decisions)
    assert len(decisions) == len(plain) == 60_000
    assert [d.id for d in plain] == [json.loads(f'"{identity}"') for identity in ids]
    assert decisions == plain
    assert plain == decisions
    assert decisions == tuple(plain)
    assert decisions != plain[:-1]
    assert decisions == jsonl.scan_exponential_jsonl(store, **EXPONENTIAL)
    assert [decisions[at] for at in (0, 7, 31_000, -1, -60_000)] == [plain[at] for at in (0, 7, 31_000, -1, -60_000)]
    assert decisions[59_990:] == plain[59_990:]
    assert decisions[::-9_999] == plain[::-9_999]
    assert decisions[31_000].line == 31_001
    assert decisions.pruned == sum(d.prune for d in plain)
    assert plain[5] in decisions
    assert decisions.index(plain[40_001]) == 40_001
    assert repr(decisions).startswith("<Decisions: 60000 decisions, ")
    assert repr(plain[-1]) in repr(decisions)
    for at in (60_000, -60_001):
        with pytest.raises(IndexError):
            decisions[at]
    with pytest.raises(TypeError):
        hash(decisions)
