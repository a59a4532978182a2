"""What is released for this machine's system and processor: the wheel, the program, and on request the sdist.

On Linux the C compiler is zig whatever else is there, because its libraries load on older systems too.
Files that were built for another machine are never made here: each kind of machine builds its own.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

import engine
from check_package import try_wheel
from check_python import run_uv
from checkout import ROOT, CommandError
from toolbox import open_toolbox

from native_build import layout


def main() -> int:
    """Build into the folder that the command line names, and try what was built."""
    parser = argparse.ArgumentParser(
        prog="scripts/build_wheels", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="gets python/ (for the package index) and programs/")
    parser.add_argument("--sdist", action="store_true", help="make the source distribution as well")
    arguments = parser.parse_args()
    box = open_toolbox(portable=True)
    if box.go is None or not box.complete:
        raise CommandError("; ".join(box.missing))
    _, program = engine.build(box)
    packages, programs = (arguments.folder.resolve() / name for name in ("python", "programs"))
    programs.mkdir(parents=True, exist_ok=True)
    run_uv(box, "build", "--quiet", "--wheel", "--out-dir", packages, RECOLVA_BUILD_NATIVE="1")
    if arguments.sdist:
        run_uv(box, "build", "--quiet", "--sdist", "--out-dir", packages)
    with tempfile.TemporaryDirectory(prefix="recolva-") as scratch:
        for number, wheel in enumerate(packages.glob("*.whl")):
            print(f"{wheel.name}: {try_wheel(wheel, Path(scratch) / str(number))}")
    suffix = ".exe" if box.go.system == "windows" else ""
    name = f"decay-sweep-{layout.version(ROOT)}-{box.go.system}-{box.go.architecture}{suffix}"
    shutil.copy2(program, programs / name)
    print(f"{name}: {program.stat().st_size:,} bytes")
    return 0
