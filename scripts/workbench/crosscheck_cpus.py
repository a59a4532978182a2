"""The processors: Go's scores and the C library's, on this one and on those that qemu-user plays."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import golden_cases
from check_go import go
from checkout import ROOT, CommandError, run
from matrix import FAILED, NOT_RUN, SAME, Row, last_line

if TYPE_CHECKING:
    from toolbox import Toolbox


class Cpu(NamedTuple):
    """A processor by the names that Go, qemu and the C compilers of Debian have for it."""

    go: str
    qemu: str
    triplet: str
    note: str = ""


CPUS = (
    Cpu("amd64", "x86_64", "x86_64-linux-gnu"),
    Cpu("386", "i386", "i686-linux-gnu", "32 bits"),
    Cpu("arm64", "aarch64", "aarch64-linux-gnu", "fused multiply-add"),
    Cpu("arm", "arm", "arm-linux-gnueabihf", "32 bits"),
    Cpu("riscv64", "riscv64", "riscv64-linux-gnu", "fused multiply-add"),
    Cpu("ppc64le", "ppc64le", "powerpc64le-linux-gnu", "fused multiply-add"),
    Cpu("s390x", "s390x", "s390x-linux-gnu", "big-endian, fused multiply-add"),
)
SMOKE = ROOT / "native" / "testdata" / "smoke.c"
HEADER = ROOT / "native"


def own(box: Toolbox, cpu: Cpu) -> bool:
    """Say whether this machine runs programs for the processor by itself."""
    return box.go is not None and box.go.architecture == cpu.go


def related(box: Toolbox, cpu: Cpu) -> bool:
    """Say whether this machine runs the processor's programs if they bring their C library."""
    return box.go is not None and (box.go.architecture, cpu.go) == ("amd64", "386")


def runner(box: Toolbox, cpu: Cpu, *options: str) -> list[str] | None:
    """Return the words before a program for the processor; None where nothing here runs it."""
    if own(box, cpu) or related(box, cpu):
        return []
    program = shutil.which(f"qemu-{cpu.qemu}") or shutil.which(f"qemu-{cpu.qemu}-static")
    return [program, *options] if program else None


def where(words: list[str]) -> str:
    """Say what ran a program."""
    return "qemu-user" if words else "this machine"


def check_go(box: Toolbox, cpu: Cpu, folder: Path) -> Row:
    """Run the golden scores, on the fast path and on the exact one, and the digest."""
    part = "Go"
    words = runner(box, cpu)
    if words is None:
        return Row(part, cpu.go, NOT_RUN, f"qemu-{cpu.qemu} is missing (apt-get install qemu-user)")
    try:
        for package, choice in (("pkg/decay", "^TestGolden"), ("internal/selftest", "^Test")):
            program = folder / f"{cpu.go}-{Path(package).name}.test"
            go(box, "test", "-c", "-o", str(program), f"./{package}", GOARCH=cpu.go, CGO_ENABLED="0")
            printed = run([*words, program, "-test.v", "-test.run", choice], folder=ROOT / package)
            if "--- PASS: Test" not in printed:
                return Row(part, cpu.go, FAILED, f"{package}: no test ran")
    except CommandError as error:
        return Row(part, cpu.go, FAILED, last_line(error))
    return Row(part, cpu.go, SAME, ", ".join(filter(None, [where(words), cpu.note])))


def check_library(box: Toolbox, cpu: Cpu, folder: Path) -> Row:
    """Build the C library and a caller in C with a compiler for the processor, and run them on all golden scores."""
    part = "C library"
    compiler = box.compiler if own(box, cpu) else shutil.which(f"{cpu.triplet}-gcc")
    if not compiler:
        return Row(part, cpu.go, NOT_RUN, f"{cpu.triplet}-gcc is missing (apt-get install gcc-{cpu.triplet})")
    words = runner(box, cpu, "-L", f"/usr/{cpu.triplet}")
    if words is None:
        return Row(part, cpu.go, NOT_RUN, f"qemu-{cpu.qemu} is missing (apt-get install qemu-user)")
    ran_by = where(words)
    try:
        place = folder / f"library-{cpu.go}"
        place.mkdir()
        if related(box, cpu):  # by the loader that came with the compiler
            system = f"/usr/{cpu.triplet}/lib"
            words = [f"{system}/ld-linux.so.2", "--library-path", f"{system}:{place}"]
        library, program = place / "librecolva.so", place / "smoke"
        build = ("build", "-buildmode=c-shared", "-o", str(library), "./native")
        go(box, *build, GOARCH=cpu.go, CGO_ENABLED="1", CC=compiler)
        options: list[str | Path] = [
            "-std=c99",
            "-I",
            HEADER,
            f"-Wl,-rpath,{place}",
            "-L",
            place,
            "-pthread",
            "-o",
            program,
        ]
        if cpu.go == "386":  # else the caller's own constants have more than 53 bits
            options += ["-msse2", "-mfpmath=sse"]
        run([*shlex.split(compiler), SMOKE, *options, "-lrecolva"])
        run([*words, program])
        count = golden_by_c([*words, str(program)])
    except (CommandError, OSError) as error:
        return Row(part, cpu.go, FAILED, last_line(error))
    return Row(part, cpu.go, SAME, f"{count} golden scores, bad arguments, blocks, threads; {ran_by}")


def golden_by_c(command: list[str]) -> int:
    """Let the caller in C check all golden scores, and return how many it says they are."""
    lines = golden_cases.c_lines()
    result = subprocess.run([*command, "vectors"], input=lines, capture_output=True, text=True, check=False)
    count = lines.count("\n")
    if result.returncode or result.stdout.strip() != str(count):
        msg = f"of {count} golden scores: {result.stdout[-200:]}{result.stderr[-200:]}"
        raise CommandError(msg)
    return count


def check(box: Toolbox, folder: Path) -> list[Row]:
    """Run all processors one after the other: the Go command keeps every core busy by itself."""
    if box.go is None or box.go.system != "linux" or os.name == "nt":
        return [Row("Go", cpu.go, NOT_RUN, "; ".join(box.missing) or "qemu-user is for Linux") for cpu in CPUS]
    rows = [check_go(box, cpu, folder) for cpu in CPUS]
    return rows + [check_library(box, cpu, folder) for cpu in CPUS]
