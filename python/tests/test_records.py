"""The record parser: the shared table, and both of its paths held against each other."""

from __future__ import annotations

import base64
import json
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recolva import records
from recolva._lines import MAX_LINE_BYTES
from recolva.errors import InvalidArgument, InvalidRecord
from recolva.jsonl import scan_exponential_jsonl, scan_power_law_jsonl
from recolva.records import Layout, Parsed, Parser, RecordFault, is_blank, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recolva.jsonl import Decisions

LAYOUTS = [
    Layout(),
    Layout(need_importance=True),
    Layout(id_field="meta.id", time_field="meta.seen.at", time_unit="s"),
    Layout(importance_field="meta.importance", time_unit="us", need_importance=True),
    Layout(time_unit="ns"),
    Layout(time_unit="rfc3339", need_importance=True),
    Layout(time_unit="s", need_importance=True),
]


CASES = [
    json.loads(text)
    for text in (Path(__file__).parents[2] / "internal/conformance/testdata/records.jsonl").read_bytes().splitlines()
]


def case_file(case: dict[str, Any]) -> bytes:
    """Return the bytes of the file that a case is about."""
    if "data" in case:
        return str(case["data"]).encode()
    if "base64" in case:
        return base64.b64decode(case["base64"])
    parts = []
    for recipe in case["generate"]:
        text, counter, repeat = recipe["text"], recipe.get("counter"), max(recipe.get("repeat", 1), 1)
        parts += [text.replace(counter, str(at)) for at in range(repeat)] if counter else [text * repeat]
    return "".join(parts).encode()


def case_layout(case: dict[str, Any]) -> tuple[Layout, int]:
    """Return the layout and the line limit of a case; power-law is the model when none is named."""
    options = dict(case.get("options", {}))
    need_importance = options.pop("model", "power-law") != "exponential"
    limit = options.pop("max_line_bytes", MAX_LINE_BYTES)
    return Layout(**options, need_importance=need_importance), limit


def check_length(line: bytes, limit: int, *, ended: bool) -> None:
    """Raise the fault of a line that is too long without its line end."""
    if len(line) - (ended and line.endswith(b"\r")) > limit:
        raise RecordFault(f"line is longer than {limit} bytes")


def read_file(content: bytes, limit: int, read: Callable[[bytes], Parsed]) -> dict[str, Any]:
    """Read a file as a sweep does that stops at the first fault."""
    records: list[dict[str, Any]] = []
    blank = 0
    lines = content[3:].split(b"\n") if content.startswith(b"\xef\xbb\xbf") else content.split(b"\n")
    for number, line in enumerate(lines, 1):
        torn = " (no newline at the end of the file: an interrupted append?)" if number == len(lines) else ""
        if torn and not line:
            break
        try:
            check_length(line, limit, ended=not torn)
            if is_blank(line):
                blank += 1
                continue
            identity, time, importance = read(line)
        except RecordFault as fault:
            return {"error": f"line {number}: {fault.text}{torn}"}
        records.append({"line": number, "id": identity, "last_accessed_ms": time, "importance": importance})
    return {"records": records, **({"blank": blank} if blank else {})}


@pytest.mark.parametrize("path", ["as used", "slow"])
def test_shared_cases(path: str) -> None:
    """Every case of the table gives its records, or its text with the line number."""
    wrong = {}
    for case in CASES:
        layout, limit = case_layout(case)
        parser = Parser(layout)
        found = read_file(case_file(case), limit, parser if path == "as used" else parser.slow)
        expected = {name: case[name] for name in ("records", "blank", "error") if name in case}
        for record, wanted in zip(found.get("records", ()), expected.get("records", ())):
            if "id_bytes" in wanted:
                record["id_bytes"] = len(record.pop("id").encode())
            if not layout.need_importance:
                del record["importance"]
        if found != expected:
            wrong[case["name"]] = found, expected
    assert not wrong


def test_shared_cases_by_file(tmp_path: Path) -> None:
    """Scanned as a file, every case gives the same ids, line numbers and texts."""
    store = tmp_path / "store.jsonl"
    for case in CASES:
        store.write_bytes(case_file(case))
        layout, limit = case_layout(case)
        options: dict[str, Any] = {"max_line_bytes": limit, "now": 0, "threshold": 0, "id_field": layout.id_field}
        options.update(time_field=layout.time_field, time_unit=layout.time_unit)
        if layout.need_importance:
            options.update(scale_millis=86_400_000, exponent=1, importance_field=layout.importance_field)
        else:
            options.update(half_life_millis=86_400_000)
        scan: Callable[..., Decisions] = scan_power_law_jsonl if layout.need_importance else scan_exponential_jsonl
        if "error" in case:
            with pytest.raises(InvalidRecord) as caught:
                scan(store, **options)
            assert str(caught.value) == case["error"], case["name"]
            continue
        decisions = scan(store, **options)
        assert [d.line for d in decisions] == [record["line"] for record in case["records"]], case["name"]
        ids = [record["id"] for record in case["records"] if "id" in record]
        assert [d.id for d in decisions if len(d.id) < 1000] == ids, case["name"]
        assert decisions.blank == case.get("blank", 0), case["name"]


def test_there_are_shared_cases() -> None:
    """The cases are found, some good and some bad."""
    assert len([case for case in CASES if "error" in case]) > 300
    assert len([case for case in CASES if "records" in case]) > 200


def slow(parser: Parser, line: bytes) -> Parsed | str:
    """Return the authority's verdict: what it read, or the text of the fault."""
    try:
        return parser.slow(line)
    except RecordFault as fault:
        return fault.text


def check_paths(parser: Parser, line: bytes) -> bool:
    """Assert that the quick path, if it decides, says what the slow one says; tell if it did."""
    quick = parser.quick(line)
    if quick is None:
        return False
    verdict = slow(parser, line)
    assert repr(quick) == repr(verdict), line  # repr: the sign of zero and the types count
    assert [type(value) for value in quick] == [str, int, float]
    json.loads(line)  # the standard library is laxer: it must accept
    return True


SEEDS = [
    b'{"id":"a","last_accessed_ms":1000000,"importance":0.5}',
    b' {"importance" : 1e0, "tags":["x",[1,[2]],{}], "last_accessed_ms":-0 , "id":"\\u00e9\\n"}\r',
    b'{"id":"\xf0\x9f\x98\x80\\ud83d\\ude00","last_accessed_ms":9223372036854775807,"importance":-0.0}',
    b'{"meta":{"id":"m","seen":{"at":-1700000000.1239},"importance":0.25},"id":"a","last_accessed_ms":7}',
    b'{"\\u0069d":"b","x":[true,false,null,-1.5E-3,"\\"\\\\\\/\\b\\f\\n\\r\\t"],"last_accessed_ms":-9223372036854775808}',
    b'{"id":"deep","last_accessed_ms":"2026-02-28T23:59:60.9999+02:00"}',
    b'{"id":"c","last_accessed_ms":"2024-02-29 00:00:00z","importance":0}',
    b'{"id":"\xc2\xa0\xe2\x80\xa8","last_accessed_ms":1700000000.5,"importance":1.0000000000000001}',
    b'{"id":"a","last_accessed_ms":1,"importance":0.1,"a":{"id":"x","last_accessed_ms":2}}',
]
PIECES = [
    *(bytes([byte]) for byte in b'{}[]",:\\ \t\r\n\x00\x1f\x7f-+.eE0159tfnu'),
    *(b"\xff", b"\xc3\xa9", b"\xed\xa0\x80", b"\xc0\x80", b"\xe2\x80\xa8", b"\xef\xbb\xbf"),
    *(b"NaN", b"Infinity", b"true", b"null", b"01", b"1e400", b"1e-400", b"\\u0069", b"\\ud800"),
    *(b'"id":', b'"id":"z"', b'"last_accessed_ms":', b'"importance":2', b'"meta":{"id":"q"}'),
    *(b"1" * 30, b"[" * 600, b"9223372036854775808", b"0.0005", b"{}", b"[]", b",", b"12:00:00"),
]


def mutants(seed: int, count: int) -> Iterator[bytes]:
    """Yield lines made from good ones by a few edits each; the same for the same seed."""
    rng = random.Random(seed)
    for _ in range(count):
        line = rng.choice(SEEDS)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            at, end = rng.randrange(len(line) + 1), rng.choice((0, 0, 1, 1, 3, 12))
            line = line[:at] + rng.choice((b"", rng.choice(PIECES))) + line[at + end :]
        yield line


@pytest.mark.skipif(not records._HAS_C_SCANNER, reason="the quick path is not taken without the scanner in C")
@pytest.mark.parametrize("layout", LAYOUTS, ids=repr)
def test_quick_path_agrees_on_mutated_lines(layout: Layout) -> None:
    """The quick path accepts no mutated line that the slow one rejects, nor reads it otherwise."""
    parser = Parser(layout)
    decided = sum(check_paths(parser, line) for line in mutants(1, 30_000))
    assert decided > 300  # the mutation leaves enough good lines for the test to mean something


def json_text() -> st.SearchStrategy[str]:
    """Draw any JSON value, rendered with or without escapes."""
    leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
    values = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
    return st.builds(lambda value, raw: json.dumps(value, ensure_ascii=raw), values, st.booleans())


FIELDS = ("id", "\\u0069d", "last_accessed_ms", "importance", "meta", "x")


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(FIELDS), json_text()), max_size=6))
def test_quick_path_agrees_on_any_values(members: list[tuple[str, str]]) -> None:
    """Whatever values the fields have, both paths say the same."""
    line = "{" + ",".join(f'"{name}":{value}' for name, value in members) + "}"
    for layout in LAYOUTS:
        check_paths(Parser(layout), line.encode("utf-8", "surrogatepass"))


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_give_a_record_or_a_fault(line: bytes) -> None:
    """No bytes raise anything but RecordFault."""
    for layout in LAYOUTS:
        check_paths(Parser(layout), line)
        slow(Parser(layout), line)


def fault(line: bytes, **layout: Any) -> str:
    """Return the text of the fault of a line."""
    with pytest.raises(RecordFault) as caught:
        parse(line, Layout(**layout))
    return caught.value.text


def test_deep_nesting_is_a_fault_not_a_crash() -> None:
    """Depth 512 is read, 513 refused where it begins, 100,000 refused as quickly."""
    head = b'{"id":"a","last_accessed_ms":1,"x":'
    good = head + b"[" * 511 + b"]" * 511 + b"}"
    assert parse(good, Layout()).id == "a"
    text = f"nesting is deeper than 512 at byte {len(head) + 512}"
    assert fault(head + b"[" * 512 + b"]" * 512 + b"}") == text
    assert fault(head + b"[" * 100_000) == text
    text = f"nesting is deeper than 512 at byte {len(head) + 255 * 5 + 2}"
    assert fault(head + b'[{"":' * 100_000) == text


def test_deep_stack_of_the_caller_changes_nothing() -> None:
    """A caller near the recursion limit gets the same record: the slow path does not recurse."""
    line = b'{"id":"a","last_accessed_ms":1,"x":' + b"[" * 400 + b"]" * 400 + b"}"

    def descend(levels: int) -> Parsed:
        return parse(line, Layout()) if levels == 0 else descend(levels - 1)

    assert descend(sys.getrecursionlimit() - 300).id == "a"


def test_brackets_in_strings_are_not_nesting() -> None:
    """Brackets in strings and beside each other do not count as depth."""
    line = b'{"id":"a","last_accessed_ms":1,"x":[' + b'["[{\\\\","\\"[["],' * 600 + b"0]}"
    assert Parser(Layout()).quick(line) == ("a", 1, 1.0)
    assert Parser(Layout()).slow(line) == ("a", 1, 1.0)


@pytest.mark.parametrize("digits", [20, 4_301, 100_000])
def test_long_integers_are_data(digits: int) -> None:
    """An integer of any length may stand in a field that is not read."""
    line = b'{"id":"a","last_accessed_ms":1,"x":' + b"7" * digits + b"}"
    assert parse(line, Layout()) == ("a", 1, 1.0)
    shown = "7" * 20 if digits == 20 else "7" * 37 + "..."
    text = f"must be between -9223372036854775808 and 9223372036854775807, got {shown}"
    line = b'{"id":"a","last_accessed_ms":' + b"7" * digits + b"}"
    assert fault(line) == "last_accessed_ms " + text


def test_a_field_without_use_is_not_read() -> None:
    """The exponential model's layout ignores an importance of any kind, twice or bad."""
    line = b'{"id":"a","last_accessed_ms":1,"importance":null,"importance":[7]}'
    assert parse(line, Layout()).importance == 1.0
    assert fault(line, need_importance=True) == "importance occurs twice"


def test_large_line_takes_the_quick_path() -> None:
    """A line of 4 MiB is decided by the quick path."""
    text = b"x" * (4 << 20)
    line = b'{"id":"a","last_accessed_ms":1,"text":"' + text + b'"}'
    assert Parser(Layout()).quick(line) == ("a", 1, 1.0)


def test_blank_lines() -> None:
    """Only JSON white space makes a line blank."""
    assert [line for line in (b"", b" \t\r\n", b"\x0b", b"\xc2\xa0", b"\x00") if is_blank(line)] == [b"", b" \t\r\n"]


@pytest.mark.parametrize("path", ["", ".", "a.", ".a", "a..b", "\ud800", 7])
def test_bad_paths_are_refused(path: Any) -> None:
    """A field path has no empty part and can be written."""
    with pytest.raises(InvalidArgument, match=r"^id_field must be a (name or a dotted path|string, got int)"):
        Layout(id_field=path)


def test_unknown_time_unit_is_refused() -> None:
    """A time unit is one of five."""
    with pytest.raises(InvalidArgument, match=r"^time_unit must be ms or s or us or ns or rfc3339, got \"min\""):
        Layout(time_unit="min")


def test_without_the_c_scanner_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the standard library has no C scanner the slow path reads every line."""
    monkeypatch.setattr(records, "_HAS_C_SCANNER", False)
    monkeypatch.setattr(Parser, "quick", lambda *_: pytest.fail("quick path used"))
    assert Parser(Layout())(SEEDS[0]) == ("a", 1_000_000, 1.0)
