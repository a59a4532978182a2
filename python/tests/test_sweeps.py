"""Whole sweeps, shared with the Go tests: files before, arguments, files after, byte for byte."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import recolva
from recolva import _scan, jsonl
from recolva._backend import native_library
from recolva.errors import InvalidRecord, RecolvaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from recolva.jsonl import Decisions

ROOT = Path(__file__).parents[2] / "internal"
CASES = sorted((ROOT / "conformance/testdata/sweeps").glob("*.txtar"))
VERSION = (ROOT / "version/VERSION").read_text().strip()
SAME_NAME = ("audit", "archive_mode", "audit_mode", "on_invalid", "time_unit", "max_line_bytes", "max_prune")
RENAMED = {"now_ms": "now", "half_life_ms": "half_life_millis", "scale_ms": "scale_millis"}
FUNCTIONS: dict[tuple[str, str], Callable[..., Decisions]] = {
    ("dry-run", "exponential"): jsonl.scan_exponential_jsonl,
    ("archive", "exponential"): jsonl.archive_exponential_jsonl,
    ("delete", "exponential"): jsonl.delete_exponential_jsonl,
    ("dry-run", "power-law"): jsonl.scan_power_law_jsonl,
    ("archive", "power-law"): jsonl.archive_power_law_jsonl,
    ("delete", "power-law"): jsonl.delete_power_law_jsonl,
}


def sections(case: Path) -> dict[str, bytes]:
    """Read a case: names and contents after the first marker."""
    parts = re.split(rb"^-- (\S+) --\n", case.read_bytes(), flags=re.MULTILINE)[1:]
    found = {}
    for name, content in zip(parts[::2], parts[1::2]):
        key = name.decode()
        found[key.removesuffix(".nonl")] = content[:-1] if key.endswith(".nonl") else content
    return found


@pytest.fixture(params=["pure", "native"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with each implementation of the scan."""
    if request.param == "pure":
        monkeypatch.setattr(_scan, "native_library", lambda: None)
    elif native_library() is None:
        pytest.skip("no native library is staged")


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("case", CASES, ids=[case.stem for case in CASES])
def test_shared_sweep(case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweep leaves the files of the case, or raises its text and leaves all as they were."""
    monkeypatch.setattr(recolva, "__version__", VERSION, raising=False)
    found = sections(case)
    arguments = json.loads(found["args.json"])
    store, archive, audit = tmp_path / "store.jsonl", tmp_path / "archive.jsonl", tmp_path / "audit.jsonl"
    before = {store: found["input.jsonl"], archive: found.get("archive.before"), audit: found.get("audit.before")}
    for path, content in before.items():
        if content is not None:
            path.write_bytes(content)
    mode = arguments.pop("mode")
    function = FUNCTIONS[mode, arguments.pop("model")]
    options: dict[str, Any] = {RENAMED.get(name, name): value for name, value in arguments.items()}
    if options.pop("audit", False):
        options["audit"] = audit
    if mode != "archive":
        options.pop("archive_mode", None)
    files = (store, archive) if mode == "archive" else (store,)
    after = before
    if "error.txt" in found:
        with pytest.raises(RecolvaError) as caught:
            function(*files, **options)
        text = found["error.txt"].decode().rstrip("\n")
        assert str(caught.value).startswith(text)
        assert not isinstance(caught.value, InvalidRecord) or str(caught.value) == text
    else:
        check_summary(json.loads(found["summary.json"]), function(*files, **options))
        audited = found.get("audit.jsonl")
        after = {
            store: found["retained.jsonl"],
            archive: found.get("archive.jsonl"),
            audit: None if audited is None else audited.replace(b"$VERSION", VERSION.encode()),
        }
    assert {path: path.read_bytes() if path.exists() else None for path in after} == after
    assert sorted(tmp_path.iterdir()) == sorted(path for path, content in after.items() if content is not None)


def check_summary(summary: dict[str, Any], decisions: Decisions) -> None:
    """Compare what the program prints with what the decisions say."""
    shown = {
        "scanned": len(decisions),
        "pruned": decisions.pruned,
        "blank": decisions.blank,
        "invalid": decisions.invalid,
        "run_id": decisions.run_id,
        "would_refuse": list(decisions.would_refuse),
    }
    assert shown == {name: summary.get(name, []) for name in shown}


def test_there_are_shared_sweeps() -> None:
    """The cases are found: the test above did not pass by having none."""
    assert len(CASES) > 30
