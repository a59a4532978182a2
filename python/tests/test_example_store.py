"""scripts/make_example_store.py: the same bytes everywhere."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent.parent / "scripts" / "make_example_store.py"

STORES = [
    ("realistic", 10_000, "0470ab5ba3a1d8de8b23ce9f16180699e379e08cd050b78b4478ffd140b349e6"),
    ("minimal", 10_000, "a40210f1f1222cfde426e7099e0065659056151d79eec061fb10b9b21fdd4a28"),
]


@pytest.mark.parametrize(("shape", "count", "digest"), STORES, ids=[shape for shape, _, _ in STORES])
def test_a_store_has_the_same_bytes_on_every_python(tmp_path: Path, shape: str, count: int, digest: str):
    """The example store is not shipped but made, so its digest is."""
    file = tmp_path / "store.jsonl"
    subprocess.run([sys.executable, SCRIPT, "--shape", shape, "--count", str(count), file], check=True)
    data = file.read_bytes()
    assert hashlib.sha256(data).hexdigest() == digest
    records = [json.loads(line) for line in data.split(b"\n")[:-1]]
    assert len({record["id"] for record in records}) == count
    assert all(0 <= record["importance"] <= 1 for record in records)
