"""The build hook: what it puts into a wheel or an sdist, and which tag it gives it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from native_build import binaries, layout, toolchain

PYTHON_ROOT = Path(__file__).resolve().parent.parent
ROOT = PYTHON_ROOT.parent
VERSION = (ROOT / "internal" / "version" / "VERSION").read_text(encoding="utf-8").strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Copy what a build reads, without anything staged, to a folder of the test's own."""
    target = tmp_path / "checkout"
    for name in (*layout.go_sources(ROOT), Path("README.md")):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target / name)
    left_out = shutil.ignore_patterns(".*", "dist", "tests", "__pycache__", "*recolva.so", "*.dylib", "*.dll", "bin")
    shutil.copytree(PYTHON_ROOT, target / "python", ignore=left_out)
    return target / "python"


def build(folder: Path, target: str, **settings: str) -> Path:
    """Run hatchling as a build front end does and return what it made."""
    output = folder.parent / "out"
    environment = {name: value for name, value in os.environ.items() if name != "RECOLVA_BUILD_NATIVE"}
    result = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(output)],
        cwd=folder,
        env={**environment, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    (made,) = output.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return made


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def metadata_of(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        return message_from_bytes(archive.read(f"recolva-{VERSION}.dist-info/METADATA"))


def have_compilers() -> bool:
    try:
        toolchain.find_c_compiler(toolchain.find_go(layout.minimum_go(ROOT)))
    except toolchain.ToolchainError:
        return False
    return not toolchain.runs_on_musl()


needs_compilers = pytest.mark.skipif(not have_compilers(), reason="needs Go and a C compiler on PATH")


def elf(*, machine: int = 62, needs: tuple[str, ...] = (), glibc: tuple[str, ...] = ()) -> bytes:
    """Return the parts of a 64-bit ELF file that a loader reads: program headers and the dynamic section."""
    strings = b"\0"
    places = {}
    for text in (*needs, *glibc):
        places[text] = len(strings)
        strings += text.encode() + b"\0"
    strings_at, dynamic_at = 0x200, 0x600
    versions_at = strings_at + len(strings)
    entries = [(1, places[name]) for name in needs] + [(5, strings_at)]
    versions = b""
    if glibc:
        entries += [(0x6FFF_FFFE, versions_at), (0x6FFF_FFFF, 1)]
        versions = struct.pack("<HHIII", 1, len(glibc), places[needs[0]], 16, 0)
        for index, name in enumerate(glibc):
            versions += struct.pack("<IHHII", 0, 0, index, places[name], 0 if index == len(glibc) - 1 else 16)
    dynamic = b"".join(struct.pack("<qQ", tag, value) for tag, value in [*entries, (0, 0)])
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, 2 if needs else 1, 0, 0, 0)
    programs = struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, 0x1000, 0x1000, 0x1000)
    if needs:
        programs += struct.pack("<IIQQQQQQ", 2, 4, dynamic_at, dynamic_at, 0, len(dynamic), len(dynamic), 8)
    body = bytearray(0x1000)
    for at, part in (
        (0, header),
        (64, programs),
        (strings_at, strings),
        (versions_at, versions),
        (dynamic_at, dynamic),
    ):
        body[at : at + len(part)] = part
    return bytes(body)


def built_by_go(binary: bytes, *modules: str, **settings: str) -> bytes:
    """Return a compiled file with the build information that Go would have put into it."""
    lines = ["path\texample.org/main", "mod\texample.org\t(devel)\t", *(f"dep\t{module}\th1:0" for module in modules)]
    lines += [f"build\t{name}={value}" for name, value in settings.items()]
    told = b"0" * 16 + ("\n".join(lines) + "\n").encode() + b"1" * 16
    counts = [bytes([length & 0x7F | 0x80, length >> 7]) for length in (len(b"go1.99.1"), len(told))]
    return binary + b"\xff Go buildinf:\x08\x02" + bytes(16) + counts[0] + b"go1.99.1" + counts[1] + told


def macho(*, machine: int, oldest: tuple[int, int], command: int = 0x32) -> bytes:
    """Return a Mach-O header with one load command that declares the oldest macOS."""
    number = oldest[0] << 16 | oldest[1] << 8
    load = struct.pack("<IIIIII", command, 24, *((1, number, 0, 0) if command == 0x32 else (number, 0, 0, 0)))
    return struct.pack("<8I", 0xFEED_FACF, machine, 0, 6, 1, len(load), 0, 0) + load


def pe(machine: int) -> bytes:
    """Return the headers by which a Windows loader knows the machine."""
    return b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0" + struct.pack("<H", machine)


LIBC = ("libc.so.6", "libpthread.so.0")
TAGS = [
    (elf(needs=LIBC, glibc=("GLIBC_2.2.5", "GLIBC_2.34")), "manylinux_2_34_x86_64"),
    (elf(needs=LIBC, glibc=("GLIBC_2.34", "GLIBC_2.4")), "manylinux_2_34_x86_64"),
    (elf(needs=LIBC, glibc=("GLIBC_2.2.5", "GLIBC_2.3.2")), "manylinux_2_17_x86_64"),
    (elf(needs=LIBC, glibc=("GLIBC_2.17",), machine=183), "manylinux_2_17_aarch64"),
    (elf(needs=LIBC), "manylinux_2_17_x86_64"),
    (elf(needs=(*LIBC, "libssl.so.3"), glibc=("GLIBC_2.34",)), "linux_x86_64"),
    (elf(needs=("libc.musl-x86_64.so.1",)), "linux_x86_64"),
    (elf(), "musllinux_1_1_x86_64"),
    (macho(machine=0x0100_000C, oldest=(12, 0)), "macosx_12_0_arm64"),
    (macho(machine=0x0100_000C, oldest=(13, 3)), "macosx_13_0_arm64"),
    (macho(machine=0x0100_0007, oldest=(10, 15), command=0x24), "macosx_10_15_x86_64"),
    (pe(0x8664), "win_amd64"),
    (pe(0xAA64), "win_arm64"),
]


@pytest.mark.parametrize(("data", "tag"), TAGS, ids=[tag for _, tag in TAGS])
def test_a_tag_says_what_the_file_demands(tmp_path: Path, data: bytes, tag: str):
    """The platform tag is read from the file, whatever machine builds the wheel."""
    file = tmp_path / "library"
    file.write_bytes(data)
    assert binaries.wheel_platform([binaries.read_binary(file)]) == tag


def test_the_neediest_file_decides_the_tag(tmp_path: Path):
    """A static program does not make a library's demands smaller."""
    read = []
    for name, data in (("static", elf()), ("library", elf(needs=LIBC, glibc=("GLIBC_2.28",)))):
        (tmp_path / name).write_bytes(data)
        read.append(binaries.read_binary(tmp_path / name))
    assert binaries.wheel_platform(read) == "manylinux_2_28_x86_64"


def test_files_of_different_machines_never_share_a_wheel(tmp_path: Path):
    """A wheel whose program and library are for different machines would be a lie whatever its tag."""
    read = []
    for name, machine in (("one", 62), ("other", 183)):
        (tmp_path / name).write_bytes(elf(machine=machine))
        read.append(binaries.read_binary(tmp_path / name))
    with pytest.raises(binaries.NotABinaryError, match="different machines: linux/aarch64, linux/x86_64"):
        binaries.wheel_platform(read)


@pytest.mark.parametrize(
    "data",
    [b"", b"#!/bin/sh\n", b"\x7fELF", elf()[:90], elf(machine=9999), b"MZ" + bytes(80), elf(needs=LIBC)[:0x300]],
    ids=["empty", "script", "magic alone", "cut", "unknown machine", "no PE header", "cut dynamic section"],
)
def test_a_damaged_file_is_refused_with_its_name(tmp_path: Path, data: bytes):
    """Whatever is not a whole compiled file gives one error, never a stack trace of the reader."""
    file = tmp_path / "librecolva.so"
    file.write_bytes(data)
    with pytest.raises(binaries.NotABinaryError, match=r"librecolva\.so"):
        binaries.read_binary(file)


def test_a_program_cross_built_for_macos_declares_what_it_needs(tmp_path: Path):
    """The reader agrees with Go about real Mach-O and PE files."""
    try:
        go = toolchain.find_go(layout.minimum_go(ROOT))
    except toolchain.ToolchainError as error:
        pytest.skip(str(error))
    (tmp_path / "main.go").write_text("package main\n\nfunc main() {}\n", encoding="ascii")
    (tmp_path / "go.mod").write_text("module example\n", encoding="ascii")
    for system, architecture, start in (("darwin", "arm64", "macosx_1"), ("windows", "amd64", "win_amd64")):
        output = tmp_path / system
        environment = {**go.environment, "GOOS": system, "GOARCH": architecture, "CGO_ENABLED": "0"}
        subprocess.run([go.go, "build", "-o", output, "."], cwd=tmp_path, env=environment, check=True)
        assert binaries.wheel_platform([binaries.read_binary(output)]).startswith(start)


def test_a_build_without_compilers_is_pure_and_says_so(checkout: Path):
    """A pure wheel holds no compiled file, is tagged for every platform, and its decay-sweep explains itself."""
    wheel = build(checkout, "wheel", RECOLVA_BUILD_NATIVE="0")
    assert wheel.name == f"recolva-{VERSION}-py3-none-any.whl"
    assert not {name for name in names_in(wheel) if name.endswith((".so", ".dylib", ".dll"))}
    assert {"recolva/py.typed", "memoryhalflife/py.typed"} <= names_in(wheel)
    script = f"recolva-{VERSION}.data/scripts/decay-sweep"
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read(script).startswith(b"#!python\n")
        text = archive.read(script).decode()
    result = subprocess.run([sys.executable, "-c", text, "--version"], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stdout == ""
    assert "built without Go" in result.stderr


def test_no_go_on_path_gives_the_pure_wheel(checkout: Path, tmp_path: Path):
    """Where Go is missing, the build succeeds without it."""
    wheel = build(checkout, "wheel", PATH=str(tmp_path))
    assert wheel.name.endswith("-py3-none-any.whl")


def test_insisting_on_native_parts_fails_without_go(checkout: Path, tmp_path: Path):
    """RECOLVA_BUILD_NATIVE=1 never gives a pure wheel."""
    with pytest.raises(AssertionError, match="Go was not found"):
        build(checkout, "wheel", PATH=str(tmp_path), RECOLVA_BUILD_NATIVE="1")


def test_a_mistyped_switch_is_refused(checkout: Path):
    """A value that is neither 0 nor 1 is not guessed at."""
    with pytest.raises(AssertionError, match="RECOLVA_BUILD_NATIVE must be 0 or 1, got yes"):
        build(checkout, "wheel", RECOLVA_BUILD_NATIVE="yes")


def test_a_staged_library_is_taken_as_it_is(checkout: Path, tmp_path: Path):
    """What is staged goes into the wheel byte for byte, and decides its tag; nothing is compiled."""
    staged = checkout / "src" / "recolva" / "_native" / "librecolva.so"
    data = built_by_go(elf(needs=LIBC, glibc=("GLIBC_2.31",), machine=183))
    staged.write_bytes(data)
    wheel = build(checkout, "wheel", PATH=str(tmp_path))
    assert wheel.name == f"recolva-{VERSION}-py3-none-manylinux_2_31_aarch64.whl"
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("recolva/_native/librecolva.so") == data


def test_a_folder_of_parts_is_taken_before_what_is_staged(checkout: Path, tmp_path: Path):
    """RECOLVA_BUILD_PARTS names what goes in; decay-sweep alone makes the wheel for systems with musl."""
    (checkout / "src" / "recolva" / "_native" / "librecolva.so").write_bytes(built_by_go(elf(needs=LIBC)))
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "decay-sweep").write_bytes(built_by_go(elf(machine=183)))
    wheel = build(checkout, "wheel", RECOLVA_BUILD_PARTS=str(parts))
    assert wheel.name == f"recolva-{VERSION}-py3-none-musllinux_1_1_aarch64.whl"
    assert not {name for name in names_in(wheel) if name.endswith(".so")}
    assert f"recolva-{VERSION}.data/scripts/decay-sweep" in names_in(wheel)


def test_a_folder_without_a_program_is_refused(checkout: Path, tmp_path: Path):
    """A wheel is never silently made of less than was asked for."""
    with pytest.raises(AssertionError, match="must name a folder with one decay-sweep, got .* with 0"):
        build(checkout, "wheel", RECOLVA_BUILD_PARTS=str(tmp_path))


def licences_in(wheel: Path) -> set[str]:
    folder = f"recolva-{VERSION}.dist-info/licenses/"
    return {name[len(folder) :] for name in names_in(wheel) if name.startswith(folder)}


def test_a_pure_wheel_is_under_our_licence_alone(checkout: Path):
    """Where nothing of others is in it, nothing of others is named."""
    wheel = build(checkout, "wheel", RECOLVA_BUILD_NATIVE="0")
    assert metadata_of(wheel)["License-Expression"] == "MIT"
    assert licences_in(wheel) == {"LICENSE"}


def test_a_compiled_wheel_has_the_licences_of_all_that_is_in_it(checkout: Path, tmp_path: Path):
    """The expression names each licence, and each text rides along."""
    (tmp_path / "decay-sweep.exe").write_bytes(built_by_go(pe(0x8664), GOOS="windows", CGO_ENABLED="0"))
    (tmp_path / "recolva.dll").write_bytes(built_by_go(pe(0x8664), GOOS="windows", CGO_ENABLED="1"))
    wheel = build(checkout, "wheel", RECOLVA_BUILD_PARTS=str(tmp_path))
    assert metadata_of(wheel)["License-Expression"] == "MIT AND BSD-3-Clause AND ZPL-2.1"
    assert metadata_of(wheel).get_all("License-File") == ["LICENSE", "licenses/go.txt", "licenses/mingw-w64.txt"]
    assert licences_in(wheel) == {"LICENSE", "licenses/go.txt", "licenses/mingw-w64.txt"}


def test_a_module_whose_licence_nobody_recorded_fails_the_build(checkout: Path, tmp_path: Path):
    """A new dependency can't be shipped without its licence."""
    (tmp_path / "decay-sweep").write_bytes(built_by_go(elf(), "example.org/other\tv1.2.3"))
    with pytest.raises(AssertionError, match="no licence is recorded for example.org/other"):
        build(checkout, "wheel", RECOLVA_BUILD_PARTS=str(tmp_path))


@pytest.mark.skipif(sys.version_info < (3, 10), reason="hatchling for Python 3.9 has no place for it")
def test_the_bill_of_materials_is_in_the_wheel(checkout: Path, tmp_path: Path):
    """It lies where PEP 770 says, and its digests are those of the files beside it."""
    program = tmp_path / "decay-sweep"
    program.write_bytes(built_by_go(elf()))
    with zipfile.ZipFile(build(checkout, "wheel", RECOLVA_BUILD_PARTS=str(tmp_path))) as archive:
        bill = json.loads(archive.read(f"recolva-{VERSION}.dist-info/sboms/recolva.cdx.json"))
    digests = {part["name"]: part["hashes"][0]["content"] for part in bill["components"] if part["type"] == "file"}
    place = f"recolva-{VERSION}.data/scripts/decay-sweep"
    assert digests == {place: hashlib.sha256(program.read_bytes()).hexdigest()}


def test_the_switch_keeps_a_staged_library_out(checkout: Path):
    """A pure wheel stays pure on a checkout where a library is staged."""
    (checkout / "src" / "recolva" / "_native" / "librecolva.so").write_bytes(elf(needs=LIBC))
    wheel = build(checkout, "wheel", RECOLVA_BUILD_NATIVE="0")
    assert "recolva/_native/librecolva.so" not in names_in(wheel)


def test_metadata_comes_from_the_root(checkout: Path):
    """Version and README have one home each; the licence and the scripts are named as package indexes read them."""
    metadata = metadata_of(build(checkout, "wheel", RECOLVA_BUILD_NATIVE="0"))
    assert metadata["Version"] == VERSION
    assert metadata["License-Expression"] == "MIT"
    assert metadata["License-File"] == "LICENSE"
    assert metadata["Requires-Python"] == ">=3.9"
    assert metadata["Metadata-Version"] == "2.4"
    assert metadata.get_all("Requires-Dist") is None
    first = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[0]
    assert metadata.get_payload().splitlines()[0] == first
    assert "](python/docs" not in metadata.get_payload()


def test_the_licence_beside_the_package_is_the_repositorys():
    """python/LICENSE stands there because a wheel takes licence files from its own folder; it is a copy."""
    assert (PYTHON_ROOT / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_sdist_holds_what_a_native_build_needs_and_no_tests(checkout: Path):
    """The Go sources ride along; test files, test data and staged binaries do not."""
    (checkout / "src" / "recolva" / "_native" / "librecolva.so").write_bytes(elf(needs=LIBC))
    with tarfile.open(build(checkout, "sdist")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"go.mod", "LICENSE", "README.md", "PKG-INFO", "native/recolva.h", "internal/version/VERSION"} <= names
    assert {"cmd/decay-sweep/main.go", "hatch_build.py", "native_build/toolchain.py"} <= names
    unwanted = [name for name in names if "testdata" in name or name.endswith(("_test.go", ".so")) or "tests" in name]
    assert not unwanted


@pytest.mark.slow
@needs_compilers
def test_an_sdist_builds_a_native_wheel_with_both_parts(checkout: Path, tmp_path: Path):
    """Away from the repository an sdist still has its version, and builds the library and the program."""
    with tarfile.open(build(checkout, "sdist")) as archive:
        archive.extractall(tmp_path / "unpacked")
    (folder,) = (tmp_path / "unpacked").iterdir()
    wheel = build(folder, "wheel", RECOLVA_BUILD_NATIVE="1")
    program = layout.program_name(toolchain.find_go((1, 0)).system)
    library = toolchain.library_name(toolchain.find_go((1, 0)))
    scripts = f"recolva-{VERSION}.data/scripts"
    assert {f"recolva/_native/{library}", f"{scripts}/{program}"} <= names_in(wheel)
    assert not wheel.name.endswith("-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "wheel")
    said = tmp_path / "wheel" / scripts / program
    said.chmod(0o755)
    assert VERSION in subprocess.run([said, "--version"], capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@needs_compilers
def test_two_builds_in_two_folders_are_the_same_bytes(checkout: Path, tmp_path: Path):
    """Nobody needs to trust a released wheel: anyone can build it again."""
    first = build(checkout, "wheel", RECOLVA_BUILD_NATIVE="1")
    elsewhere = tmp_path / "another place" / "checkout"
    shutil.copytree(checkout.parent, elsewhere)
    shutil.rmtree(elsewhere / "out")
    second = build(elsewhere / "python", "wheel", RECOLVA_BUILD_NATIVE="1")
    assert second.name == first.name
    assert second.read_bytes() == first.read_bytes()


@pytest.mark.slow
@needs_compilers
@pytest.mark.skipif(sys.platform != "linux", reason="auditwheel judges Linux wheels")
def test_auditwheel_agrees_with_the_tag(checkout: Path):
    """An independent reader of ELF files finds our tag neither too wide nor, above the oldest glibc, too narrow."""
    pytest.importorskip("auditwheel")
    wheel = build(checkout, "wheel", RECOLVA_BUILD_NATIVE="1")
    shown = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", wheel], capture_output=True, text=True, check=True
    ).stdout
    tag = wheel.name[:-4].split("-")[-1]
    assert f'"{tag}"' in shown.replace("\n", " ") or tag.startswith("manylinux_2_17_"), shown


def test_an_editable_install_compiles_nothing(checkout: Path, tmp_path: Path):
    """An editable wheel points at the sources and is made without Go."""
    program = "from hatchling.build import build_editable; print(build_editable('.'))"
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=checkout,
        env={**os.environ, "PATH": str(tmp_path), "RECOLVA_BUILD_NATIVE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == f"recolva-{VERSION}-py3-none-any.whl"
