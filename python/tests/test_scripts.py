"""The scripts at the top of the checkout: what they say when something is missing, and the parts of the demonstration."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPTS = ROOT / "scripts"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch):
    """Make the scripts importable."""
    for folder in (SCRIPTS, SCRIPTS / "workbench"):
        monkeypatch.syspath_prepend(str(folder))


needs_shell = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")


@needs_shell
@pytest.mark.parametrize(
    ("present", "said"),
    [((), "git is missing"), (("git",), "Python 3.9 or newer is missing")],
    ids=["nothing", "git alone"],
)
def test_what_is_missing_is_said_in_one_line(tmp_path: Path, present: tuple[str, ...], said: str):
    """A machine without git or Python gets one line that names the system package."""
    for name in ("sh", *present):
        (tmp_path / name).symlink_to(shutil.which(name))
    result = subprocess.run(
        [SCRIPTS / "demo"], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"recolva: {said}; install the system package ")


@needs_shell
def test_an_old_python_is_passed_over(tmp_path: Path):
    """A python3 older than 3.9 does not count, however it fails."""
    for name in ("sh", "git"):
        (tmp_path / name).symlink_to(shutil.which(name))
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
    (tmp_path / "python3").chmod(0o755)
    result = subprocess.run(
        [SCRIPTS / "check"], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert "Python 3.9 or newer is missing" in result.stderr


@pytest.mark.usefixtures("scripts")
def test_the_histogram_counts_every_score_once_and_marks_the_threshold():
    """Scores on an edge belong to the bin above it, a score of one to the last bin."""
    from histogram import histogram

    rows = histogram([0.0, 0.05, 0.0999, 0.1, 0.95, 1.0], 0.1, blocks=False)
    assert [row.split()[0] for row in rows].index("0.1") == 2
    counts = [int(row.split()[-1]) for row in rows if "threshold" not in row]
    assert sum(counts) == 6
    assert (counts[0], counts[1], counts[2], counts[-1]) == (1, 2, 1, 2)


@pytest.mark.usefixtures("scripts")
def test_a_threshold_within_a_bin_splits_it():
    """What lies above the marked line is archived, what lies below it is kept, to the last score."""
    from histogram import histogram

    rows = histogram([0.12, 0.13], 0.125)
    at = next(number for number, row in enumerate(rows) if "threshold" in row)
    assert sum(int(row.split()[-1]) for row in rows[:at]) == 1
    assert sum(int(row.split()[-1]) for row in rows[at + 1 :]) == 1


@pytest.mark.usefixtures("scripts")
def test_the_local_proxy_holds_the_tree_as_the_protocol_wants_it(tmp_path: Path):
    """The zip has each file under module@version/, nothing that git ignores, and no module within the module."""
    import local_proxy

    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("needs git and a checkout")
    local_proxy.write_proxy(ROOT, tmp_path, "v1.2.3")
    folder = tmp_path / local_proxy.MODULE / "@v"
    assert {path.name for path in folder.iterdir()} == {"list", "v1.2.3.info", "v1.2.3.mod", "v1.2.3.zip"}
    with zipfile.ZipFile(folder / "v1.2.3.zip") as archive:
        names = archive.namelist()
    prefix = f"{local_proxy.MODULE}@v1.2.3/"
    assert all(name.startswith(prefix) for name in names)
    assert {f"{prefix}go.mod", f"{prefix}cmd/decay-sweep/main.go"} <= set(names)
    assert sum(name.endswith("/go.mod") for name in names) == 1
    assert not [name for name in names if "/.tools/" in name or name.endswith(".so")]


def test_the_module_path_has_one_spelling():
    """Where the module path stands outside Go files, it is that of go.mod."""
    path = re.search(r"^module (\S+)$", (ROOT / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)[1]
    for name in ("README.md", "scripts/local_proxy.py", "python/hatch_build.py", "python/pyproject.toml"):
        assert path in (ROOT / name).read_text(encoding="utf-8")


def test_workflows_pin_every_action_by_commit():
    """A tag can be moved, a commit can't; the tag stands beside it for people."""
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        uses = re.findall(r"uses: (.*)", workflow.read_text(encoding="utf-8"))
        assert uses
        for use in uses:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*", use), f"{workflow.name}: {use}"


def test_python_says_the_version_of_the_file():
    """The program, the library and the package report the one number of internal/version/VERSION."""
    sys.path.insert(0, str(ROOT / "python"))
    try:
        from native_build import layout
    finally:
        sys.path.pop(0)
    assert layout.version(ROOT) == (ROOT / layout.VERSION_FILE).read_text(encoding="utf-8").strip()
    program = ROOT / "python" / "src" / "recolva" / "_native" / "bin" / layout.program_name(sys.platform)
    if program.exists():
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
        assert layout.version(ROOT) in said.split()
