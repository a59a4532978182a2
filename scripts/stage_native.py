#!/usr/bin/env python3
"""Copy a built library (and the decay-sweep program) into the Python package, from where the wheel takes it.

    python scripts/stage_native.py --source dist/librecolva.so --target-directory python/src/recolva/_native

The library is examined first: it must be a compiled library that exports recolva's functions and, when it is
for this machine, load and answer with its ABI version. Only then does it appear in the target, all at once.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from native_build import binaries, layout

# What native/recolva.h promises.
EXPORTS = (
    "DecayScoreExponential",
    "DecayScorePowerLaw",
    "DecayScoreExponentialBatch",
    "DecayScorePowerLawBatch",
    "RecolvaAbiVersion",
    "RecolvaScanBlock",
)

# Run in a process of its own: a broken library may crash, and a Go runtime once loaded stays.
ASK_VERSION = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).RecolvaAbiVersion())"


class StageError(Exception):
    """Nothing was staged; the text says why."""


def examine_library(path: Path) -> binaries.Binary:
    """Return what the library is, or raise StageError where it is not recolva's."""
    binary = examine(path)
    data = path.read_bytes()
    missing = [name for name in EXPORTS if name.encode() + b"\0" not in data]
    if missing:
        msg = f"{path} does not export {', '.join(missing)}"
        raise StageError(msg)
    here = {"aarch64": "arm64"}.get(platform.machine().lower(), platform.machine().lower())
    if binary.system != platform.system().lower() or {"x86_64": "amd64"}.get(here, here) != binary.go_arch:
        print(f"{path.name} is for {binary.system}/{binary.go_arch}: not tried here", file=sys.stderr)
        return binary
    answer = subprocess.run(
        [sys.executable, "-c", ASK_VERSION, str(path.resolve())], capture_output=True, text=True, check=False
    )
    if answer.returncode or not answer.stdout.strip().isdigit():
        printed = (answer.stderr.strip() or answer.stdout.strip() or f"exit status {answer.returncode}").splitlines()
        msg = f"{path} does not load: {printed[-1]}"
        raise StageError(msg)
    return binary


def examine(path: Path) -> binaries.Binary:
    """Return what a compiled file is, or raise StageError."""
    if not path.is_file():
        msg = f"{path} is not a file"
        raise StageError(msg)
    try:
        return binaries.read_binary(path)
    except binaries.NotABinaryError as error:
        raise StageError(str(error)) from None


def place(source: Path, target: Path) -> None:
    """Copy a file so that the target is seen whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        shutil.copyfile(source, name)
        os.chmod(name, 0o755)  # noqa: PTH101, S103  a library and a program are executable
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def stage(source: Path, target_directory: Path, program: Path | None = None) -> list[Path]:
    """Stage the library, and the program beside it in bin/; return what now stands in the target."""
    binary = examine_library(source)
    copies = [(source, target_directory / layout.LIBRARY_NAMES[binary.system])]
    if program:
        other = examine(program)
        if (other.system, other.machine) != (binary.system, binary.machine):
            msg = f"{program} is for {other.system}/{other.go_arch}, the library for {binary.system}/{binary.go_arch}"
            raise StageError(msg)
        copies.append((program, target_directory / "bin" / layout.program_name(binary.system)))
    elif (target_directory / "bin").is_dir():
        # A program of an earlier library would go into the wheel beside the new one.
        shutil.rmtree(target_directory / "bin")
    for name in set(layout.LIBRARY_NAMES.values()) - {copies[0][1].name}:
        (target_directory / name).unlink(missing_ok=True)
    for origin, target in copies:
        place(origin, target)
    return [target for _, target in copies]


def main() -> int:
    """Stage what the command line names."""
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--source", type=Path, required=True, metavar="FILE", help="the library that Go built")
    parser.add_argument("--target-directory", type=Path, required=True, metavar="DIR", help="the package's _native")
    parser.add_argument("--program", type=Path, metavar="FILE", help="decay-sweep, to go into the wheel as well")
    arguments = parser.parse_args()
    try:
        for path in stage(arguments.source, arguments.target_directory, arguments.program):
            print(f"staged {path}")
    except (StageError, OSError) as error:
        print(f"stage_native: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
