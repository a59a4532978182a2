"""The Go compiler and a C compiler: found, judged, and run to make the library and the program.

The same sources give the same bytes in any folder: no path, no time, no build id goes into the files.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from native_build import layout

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

REPRODUCIBLE = ("-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=")

# Go's own choice is -O2 -g: the debugging data of C code has the paths of the compiler's headers in it, and a linker
# that is told -g last keeps what -s would strip.
C_FLAGS = {"CGO_CFLAGS": "-O2 -g0", "CGO_LDFLAGS": "-O2"}

# zig's own C library headers reach back to this glibc, so that its libraries load on older systems.
ZIG_GLIBC = "2.17"


class ToolchainError(RuntimeError):
    """A compiler is missing, too old, or failed; the text says which and what it printed."""


@dataclass(frozen=True)
class Toolchain:
    """A Go compiler and the environment it runs in."""

    go: str
    version: str  # for example go1.27.3
    system: str  # GOOS and GOARCH that it builds for
    architecture: str
    environment: Mapping[str, str]

    def build_program(self, root: Path, output: Path, *, system: str = "", architecture: str = "") -> None:
        """Build decay-sweep, statically linked: it needs no C compiler here and no C library there."""
        target = {"GOOS": system or self.system, "GOARCH": architecture or self.architecture}
        self._build(root, ["-o", str(output), "./cmd/decay-sweep"], {"CGO_ENABLED": "0", **target})

    def build_library(
        self, root: Path, output: Path, compiler: str, *, system: str = "", architecture: str = ""
    ) -> None:
        """Build the C library with the given C compiler command."""
        arguments = ["-buildmode=c-shared", "-o", str(output), "./native"]
        target = {"GOOS": system or self.system, "GOARCH": architecture or self.architecture}
        self._build(root, arguments, {"CGO_ENABLED": "1", "CC": compiler, **target})
        output.with_suffix(".h").unlink(missing_ok=True)  # cgo's; native/recolva.h is the one to read

    def _build(self, root: Path, arguments: list[str], settings: dict[str, str]) -> None:
        command = [self.go, "build", *REPRODUCIBLE, *arguments]
        result = subprocess.run(
            command,
            cwd=root,
            env={**C_FLAGS, **self.environment, **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if result.returncode:
            printed = result.stdout.decode("utf-8", "replace").strip()
            msg = f"{' '.join(command)} failed:\n{printed}"
            raise ToolchainError(msg)


def find_go(minimum: tuple[int, int], environment: Mapping[str, str] | None = None) -> Toolchain:
    """Return the Go on PATH, or raise ToolchainError where it is missing or older than ``minimum``."""
    variables = dict(os.environ if environment is None else environment)
    # Another Go is never downloaded behind the caller's back.
    variables.update({"GOTOOLCHAIN": "local", "GOWORK": "off"})
    go = shutil.which("go", path=variables.get("PATH"))
    if go is None:
        msg = "Go was not found"
        raise ToolchainError(msg)
    command = [go, "env", "GOVERSION", "GOOS", "GOARCH"]
    result = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    if result.returncode:
        msg = f"{go} does not work: {result.stderr.strip()}"
        raise ToolchainError(msg)
    version, system, architecture = result.stdout.split("\n")[:3]
    found = re.match(r"go(\d+)\.(\d+)", version)
    if found and (int(found[1]), int(found[2])) < minimum:
        msg = f"{version} is older than go{minimum[0]}.{minimum[1]}"
        raise ToolchainError(msg)
    return Toolchain(go, version, system, architecture, variables)


def find_c_compiler(toolchain: Toolchain) -> str:
    """Return a C compiler as Go's CC variable takes it, or raise ToolchainError."""
    path = toolchain.environment.get("PATH")
    chosen = toolchain.environment.get("CC")
    if chosen:
        return chosen
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name, path=path):
            return name
    if importlib.util.find_spec("ziglang"):
        return zig_compiler(sys.executable, toolchain.system, toolchain.architecture)
    msg = "no C compiler was found (cc, gcc, clang or the Python package ziglang)"
    raise ToolchainError(msg)


def zig_compiler(python: str, system: str, architecture: str) -> str:
    """Return the CC command of the zig in ``python``'s packages, for a system and machine by Go's names."""
    machine = {"amd64": "x86_64", "arm64": "aarch64", "386": "x86"}.get(architecture, architecture)
    kind = {"linux": f"linux-gnu.{ZIG_GLIBC}", "darwin": "macos", "windows": "windows-gnu"}[system]
    return f"{shlex.quote(python)} -m ziglang cc -target {machine}-{kind}"


def runs_on_musl() -> bool:
    """Tell whether this Python's C library is musl, where a Go library can't be loaded at run time."""
    return sys.platform == "linux" and platform.libc_ver()[0] != "glibc"


def library_name(toolchain: Toolchain) -> str:
    """Return the library's file name on the system that the toolchain builds for."""
    return layout.LIBRARY_NAMES.get(toolchain.system, "librecolva.so")
