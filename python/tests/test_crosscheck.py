"""scripts/crosscheck tells the truth in its table."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

WORKBENCH = Path(__file__).parents[2] / "scripts" / "workbench"


@pytest.fixture
def workbench(monkeypatch):
    """Make the modules of the workbench importable."""
    monkeypatch.syspath_prepend(str(WORKBENCH.parent))
    monkeypatch.syspath_prepend(str(WORKBENCH))
    monkeypatch.syspath_prepend(str(WORKBENCH.parents[1] / "python"))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(WORKBENCH) in str(sys.modules[name].__file__):
            del sys.modules[name]


@pytest.mark.usefixtures("workbench")
def test_the_table(capsys):
    """Every row is printed, counted, and one that failed makes the whole fail."""
    import matrix

    rows = [matrix.Row("Go", "arm64", matrix.SAME), matrix.Row("Python", "CPython 3.14", matrix.NOT_RUN, "not here")]
    assert matrix.print_rows(rows) == 0
    printed = capsys.readouterr().out
    assert "Python  CPython 3.14  not run    not here\n" in printed
    assert printed.endswith("\n1 passed, 0 failed, 1 skipped\n")
    assert matrix.print_rows([*rows, matrix.Row("Go", "arm", matrix.FAILED)]) == 1


REPORT = """<testsuites><testsuite>
<testcase name="test_vectors[c]"/><testcase name="test_scan[c-plain]"/>
<testcase name="test_vectors[c-dlopen]"><failure message="no&#10;at all"/></testcase>
<testcase name="test_scan[java-plain]"><skipped message="not on this machine: mvn"/></testcase>
</testsuite></testsuites>"""


@pytest.mark.usefixtures("workbench")
def test_the_row_of_a_language():
    """A language is what its own tests say; one of which no test ran has failed."""
    import crosscheck_languages as languages
    from matrix import FAILED, NOT_RUN, SAME

    cases = list(ET.fromstring(REPORT).iter("testcase"))  # noqa: S314 - it stands above
    rows = {key: languages._row(key, key, cases) for key in ("c", "c-dlopen", "java", "ruby")}
    assert {key: row.verdict for key, row in rows.items()} == {
        "c": SAME,
        "c-dlopen": FAILED,
        "java": NOT_RUN,
        "ruby": FAILED,
    }
    assert rows["c"].note.endswith("in 2 tests")
    assert rows["c-dlopen"].note == "no"
    assert rows["java"].note == "not on this machine: mvn"


@pytest.mark.usefixtures("workbench")
def test_every_client_has_a_row():
    """The table names the languages that the tests build."""
    import crosscheck_languages as languages

    text = (Path(__file__).parent / "test_clients.py").read_text(encoding="utf-8")
    block = text.split("CLIENTS = {", 1)[1].split("}", 1)[0]
    assert [line.split('"')[1] for line in block.splitlines() if '"' in line] == list(languages.LANGUAGES)


@pytest.mark.usefixtures("workbench")
def test_the_golden_cases_for_c(golden):
    """The lines for the C caller are all of them, for the models allow all."""
    import golden_cases

    lines = golden_cases.c_lines().splitlines()
    assert len(lines) == len(golden)
    assert len(golden_cases.digest()) == 64
