"""What several test modules share."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from recolva import _backend
from recolva._native import library_path
from tests.homes import NEW, OLD

# How long an example takes says nothing on a busy machine.
settings.register_profile("recolva", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("recolva")

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def conformance():
    """Folder of the cases that the Go and the Python tests share."""
    return ROOT / "internal" / "conformance" / "testdata"


@pytest.fixture(scope="session")
def golden(conformance):
    """Rows (model, arguments, score), made with mpmath at 400 bits."""
    rows = []
    with gzip.open(conformance / "models" / "golden_scores.jsonl.gz", "rt") as lines:
        for row in map(json.loads, lines):
            if row["model"] == "E":
                arguments = (row["age"], row["half_life"])
            else:
                importance, exponent = map(float.fromhex, (row["importance"], row["exponent"]))
                arguments = (importance, row["age"], row["scale"], exponent)
            rows.append((row["model"], arguments, float.fromhex(row["score_hex"])))
    return rows


@pytest.fixture
def fresh_backend(monkeypatch):
    """Let the test choose a backend anew, and leave no trace of its choice."""
    monkeypatch.delenv("RECOLVA_NATIVE", raising=False)
    monkeypatch.setattr(_backend, "_state", None)
    return _backend


@pytest.fixture(params=["native", "pure"])
def backend(request, monkeypatch, fresh_backend):
    """Run the test with the native library and with pure Python."""
    if request.param == "native" and not library_path().is_file():
        pytest.skip("no native library is staged: scripts/stage_native.py")
    monkeypatch.setenv("RECOLVA_NATIVE", "1" if request.param == "native" else "0")
    assert fresh_backend.backend().name == request.param
    return request.param


@pytest.fixture(scope="session")
def fresh_interpreter():
    """Return a function that runs code in a new interpreter and returns what it printed."""

    def run(code, *options, **environment):
        source = str(ROOT / "python" / "src")
        surroundings = {name: value for name, value in os.environ.items() if name != "RECOLVA_NATIVE"}
        result = subprocess.run(
            [sys.executable, *options, "-c", code],
            env={**surroundings, "PYTHONPATH": source, **environment},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        return result.stdout.strip()

    return run


@pytest.fixture
def home(tmp_path):
    """A directory with a store of one old and one new record."""
    (tmp_path / "store.jsonl").write_bytes(OLD + NEW)
    return tmp_path
