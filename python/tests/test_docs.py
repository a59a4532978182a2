"""README and the guides: every example runs, and prints what stands there.

A fence's first word says what it holds, a second word more:
    python          doctest examples; all of one document share their names
    json FILE, c FILE   the text of a file that later examples use
    console [NEED]  commands after "$ " and what they print; "..." stands for anything within a line; run only
                    where NEED (cc, python) is there; "console terminal" is a talk with a program, which its own
                    tests type on a pseudo-terminal
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

PYTHON_ROOT = Path(__file__).resolve().parent.parent
ROOT = PYTHON_ROOT.parent

# ticks.md, whose sessions are typed at a prompt, has its tests in memoryhalflife/test_guide.py and test_cli.py.
DOCUMENTS = [ROOT / "README.md", *(PYTHON_ROOT / "docs" / f"{name}.md" for name in ("adapters", "concepts"))]
FENCE = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAMS = PYTHON_ROOT / "src" / "recolva" / "_native" / "bin"
OPTIONS = doctest.ELLIPSIS | doctest.REPORT_NDIFF


class Fence(NamedTuple):
    kind: str
    more: str
    text: str
    line: int


def fences(document: Path) -> list[Fence]:
    text = document.read_text(encoding="utf-8")
    return [Fence(m[1], m[2], m[3], text.count("\n", 0, m.start()) + 1) for m in FENCE.finditer(text)]


def run_python(fence: Fence, document: Path, names: dict) -> None:
    test = doctest.DocTestParser().get_doctest(fence.text, names, document.name, str(document), fence.line)
    assert test.examples, f"{document.name}:{fence.line}: a python fence without examples"
    test.globs = names
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(test, out=report.append, clear_globs=False)
    assert not runner.failures, "".join(report)


def run_console(fence: Fence, document: Path, folder: Path) -> None:
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(PROGRAMS), str(folder / ".bin"), os.environ["PATH"]]),
        "PYTHONPATH": str(PYTHON_ROOT / "src"),
        "PYTHONIOENCODING": "utf-8",
        "RECOLVA": str(ROOT),
    }
    for part in re.split(r"^\$ ", fence.text, flags=re.MULTILINE)[1:]:
        command = re.match(r"(?:.*\\\n)*.*\n", part)[0]
        expected = part[len(command) :]
        result = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
        )
        same = doctest.OutputChecker().check_output(expected, result.stdout, doctest.ELLIPSIS)
        assert same, f"{document.name}:{fence.line}: $ {command}expected:\n{expected}got:\n{result.stdout}"


def lacks(fence: Fence) -> str:
    """Return what this machine lacks for a console example, or nothing."""
    if os.name != "posix":
        return "a POSIX shell"
    if fence.more == "python":
        return ""
    if not (PROGRAMS / "decay-sweep").exists():
        return "a staged decay-sweep"
    if fence.more == "cc" and not (shutil.which("cc") and list((ROOT / "dist").glob("librecolva.*"))):
        return "a C compiler and the built library"
    return ""


@pytest.mark.parametrize("document", DOCUMENTS, ids=[document.name for document in DOCUMENTS])
def test_every_example_does_what_the_document_says(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A reader who types the examples in order sees what is printed."""
    monkeypatch.chdir(tmp_path)
    script = tmp_path / ".bin" / "memory-half-life"
    script.parent.mkdir()
    script.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -c "import sys, memoryhalflife.cli as c; sys.exit(c.main())" "$@"\n'
    )
    script.chmod(0o755)
    names: dict = {"__name__": "__main__"}
    ran = skipped = 0
    for fence in fences(document):
        if fence.kind == "python":
            run_python(fence, document, names)
        elif fence.kind in {"json", "c"} and fence.more:
            (tmp_path / fence.more).write_text(fence.text, encoding="utf-8")
        elif fence.kind == "console" and fence.more == "terminal":
            continue
        elif fence.kind == "console" and lacks(fence):
            skipped += 1
            continue
        elif fence.kind == "console":
            run_console(fence, document, tmp_path)
        else:
            continue
        ran += 1
    assert ran
    if skipped and os.environ.get("RECOLVA_NATIVE") == "1":
        pytest.fail("the engine is built, but its examples were not run")


def test_the_demonstration_in_the_readme_is_what_the_demo_computes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Its histogram and its ten records are recomputed; only times and the machine may differ."""
    for folder in (ROOT / "scripts", ROOT / "scripts" / "workbench"):
        monkeypatch.syspath_prepend(str(folder))
    import histogram

    import make_example_store
    from recolva.jsonl import scan_power_law_jsonl

    store = tmp_path / "memories.jsonl"
    make_example_store.write_store(store)
    decisions = scan_power_law_jsonl(
        store,
        now=make_example_store.NOW_MS,
        scale_millis=30 * make_example_store.DAY_MS,
        exponent=1.0,
        threshold=0.1,
    )
    shown = (ROOT / "README.md").read_text(encoding="utf-8").partition("<!-- demo -->")[2].partition("\n```\n")[0]
    drawn = "\n".join(histogram.histogram([decision.score for decision in decisions], 0.1))
    assert drawn in shown
    scores = {decision.id: repr(decision.score) for decision in decisions}
    listed = re.findall(r"^  (memory-\d+)  (\S+)$", shown, re.MULTILINE)
    assert len(listed) == 10
    assert listed == [(name, scores[name]) for name, _ in listed]


def test_links_within_the_repository_lead_somewhere():
    """A relative link of a document names a file that is there."""
    for document in [*DOCUMENTS, ROOT / ".github" / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(((?![a-z]+:|#)[^)]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_the_changelog_begins_with_this_version():
    """A release is described before it is made."""
    version = (ROOT / "internal" / "version" / "VERSION").read_text(encoding="utf-8").strip()
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == version
