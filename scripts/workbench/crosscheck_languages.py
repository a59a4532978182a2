"""The languages: the programs of native/examples, as python/tests/test_clients.py builds and runs them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import check_python
from checkout import CommandError
from matrix import FAILED, NOT_RUN, SAME, Row

if TYPE_CHECKING:
    from pathlib import Path

    from toolbox import Toolbox

LANGUAGES = {
    "c": "C, linked",
    "c-dlopen": "C, dlopen",
    "cpp": "C++",
    "go": "Go package",
    "rust": "Rust",
    "node": "Node, koffi",
    "java": "Java, JNA",
    "ruby": "Ruby, Fiddle",
}


def check(box: Toolbox, folder: Path) -> list[Row]:
    """Run the tests of the clients and read from their report what became of each language."""
    report = folder / "clients.xml"
    printed = ""
    try:
        check_python.module(box, "pytest", "-q", "-m", "clients", f"--junitxml={report}")
    except CommandError as error:
        printed = str(error)
    if not report.is_file():
        note = printed.strip().splitlines()[-1] if printed.strip() else "no report"
        return [Row("language", name, FAILED, note) for name in LANGUAGES.values()]
    cases = list(ET.parse(report).iter("testcase"))  # noqa: S314 - pytest has just written it
    return [_row(key, name, cases) for key, name in LANGUAGES.items()]


def _row(key: str, name: str, cases: list[ET.Element]) -> Row:
    """Return the row of a language from the outcomes of its tests."""
    own = [case for case in cases if re.search(rf"\[{re.escape(key)}[-\]](?!dlopen)", str(case.get("name")))]
    faults = [fault for case in own for kind in ("failure", "error") for fault in case.findall(kind)]
    skips = [skip for case in own for skip in case.findall("skipped")]
    if faults:
        return Row("language", name, FAILED, str(faults[0].get("message", "")).strip().splitlines()[0][:120])
    if not own:
        return Row("language", name, FAILED, "no test ran")
    if skips:
        return Row("language", name, NOT_RUN, str(skips[0].get("message", "")))
    return Row("language", name, SAME, f"golden scores, bad arguments and a store, in {len(own)} tests")
