"""What is said of the files that are shipped: Go's own words about them, and the bill of materials made of those."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest

from native_build import binaries, buildinfo, layout, licences, sbom, toolchain

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON_ROOT = ROOT / "python"
STAGED = PYTHON_ROOT / "src" / "recolva" / "_native"


@pytest.fixture
def program() -> Path:
    """Return the staged program."""
    path = STAGED / "bin" / ("decay-sweep.exe" if os.name == "nt" else "decay-sweep")
    if not path.is_file():
        pytest.skip("no program is staged: scripts/check 'go build'")
    return path


def test_we_read_what_go_version_reads(program: Path):
    """The version, the modules and the settings are those that `go version -m` prints."""
    try:
        go = toolchain.find_go(layout.minimum_go(ROOT))
    except toolchain.ToolchainError as error:
        pytest.skip(str(error))
    printed = subprocess.run([go.go, "version", "-m", program], capture_output=True, text=True, check=True).stdout
    first, *lines = printed.splitlines()
    rows = [line.strip().split("\t") for line in lines]
    info = buildinfo.read_build_info(program)
    assert first.split()[-1] == info.go
    assert [row[1] for row in rows if row[0] == "mod"] == [info.main]
    assert [tuple(row[1:3]) for row in rows if row[0] == "dep"] == list(info.modules)
    assert dict(row[1].partition("=")[::2] for row in rows if row[0] == "build") == info.settings


@pytest.mark.parametrize("data", [b"", b"\x7fELF" + bytes(100), b"\xff Go buildinf:\x08\x00" + bytes(40)])
def test_a_file_without_build_information_is_refused(tmp_path: Path, data: bytes):
    """What can't be told is not guessed."""
    file = tmp_path / "librecolva.so"
    file.write_bytes(data)
    with pytest.raises(binaries.NotABinaryError, match="librecolva.so holds no build information"):
        buildinfo.read_build_info(file)


def test_modules_are_read_with_what_replaces_them():
    """A replaced module counts as what took its place: that is what is linked in."""
    lines = "mod\tmine\t(devel)\t\ndep\tz.org/z\tv1.0.0\th1:a=\ndep\told.org/a\tv0.1.0\n=>\tnew.org/a\tv0.2.0\th1:b=\n"
    info = buildinfo._parse("go1.27.3 X:experiment", lines)
    assert info == buildinfo.BuildInfo("go1.27.3", "mine", (("new.org/a", "v0.2.0"), ("z.org/z", "v1.0.0")), {})


def test_every_licence_text_is_there_and_none_is_left_over():
    """The table of licences and the folder of their texts agree."""
    texts = {terms.text for terms in licences.TERMS.values()}
    assert texts == {f"licenses/{path.name}" for path in (PYTHON_ROOT / "licenses").iterdir()}


def test_the_same_files_have_the_same_bill(program: Path):
    """No time, no random number, no path of this machine is in it."""
    first, second = (sbom.program_document("1.2.3", program) for _ in range(2))
    assert first == second
    assert str(ROOT) not in first
    assert "serialNumber" not in first
    assert "timestamp" not in first


def test_a_bill_of_a_program(program: Path):
    """It is about the file, by its digest, and names Go's library as what it is made with."""
    bill = json.loads(sbom.program_document("1.2.3", program))
    about = bill["metadata"]["component"]
    assert (about["name"], about["version"], about["type"]) == ("decay-sweep", "1.2.3", "application")
    assert about["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(program.read_bytes()).hexdigest()}]
    version = buildinfo.read_build_info(program).go[2:]
    assert {"name": "std", "version": version} in [
        {key: part[key] for key in ("name", "version")} for part in bill["components"]
    ]


def test_a_bill_has_the_shape_of_the_format(program: Path):
    """References are unique and lead somewhere; scripts/check --all compares with the whole published schema."""
    for text in (
        sbom.document("1.2.3", {}),
        sbom.document("1.2.3", {"a/b": program}),
        sbom.program_document("1", program),
    ):
        bill = json.loads(text)
        assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
        parts = [bill["metadata"]["component"], *bill["components"]]
        references = [part["bom-ref"] for part in parts]
        assert len(set(references)) == len(references)
        assert sorted(row["ref"] for row in bill["dependencies"]) == sorted(references)
        assert {target for row in bill["dependencies"] for target in row["dependsOn"]} <= set(references)
        assert all(part["type"] in {"library", "application", "file"} for part in parts)
        assert all("licenses" in part for part in parts if part["type"] != "file")
