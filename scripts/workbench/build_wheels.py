"""Makes what is released: wheels, decay-sweep by itself, and on request the sdist.

Without a target it builds for this machine's system and processor, which is what the release does on machines of every
kind: a wheel that is released was built and tried on a machine of its own kind. On Linux the C compiler is zig
whatever else is there, because its libraries load on older systems too.

Targets build for other machines, as a check that anyone can run, and for machines that no release builds on. What is
for macOS or Windows and was not built there goes into a folder of its own, not-for-release: it was never run.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import targets
import wheel_contents
from check_package import try_wheel
from check_python import run_uv
from checkout import PYTHON_ROOT, ROOT, CommandError, run
from toolbox import open_toolbox

from native_build import layout, licences, sbom

if TYPE_CHECKING:
    from targets import Target
    from toolbox import Toolbox

UNTRIED = "not-for-release"


def main() -> int:
    """Build into the folder that the command line names, and examine what was built."""
    parser = argparse.ArgumentParser(
        prog="scripts/build_wheels", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="gets python/ (for the package index) and programs/")
    parser.add_argument("--sdist", action="store_true", help="make the source distribution as well")
    parser.add_argument("--all", action="store_true", help="all targets and the sdist")
    named = ", ".join(target.name for target in targets.TARGETS)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"this machine's unless named: {named}")
    arguments = parser.parse_args()
    box = open_toolbox(portable=True)
    if box.go is None or not box.complete:
        raise CommandError("; ".join(box.missing))
    names = [target.name for target in targets.TARGETS] if arguments.all else arguments.targets
    chosen = targets.choose(box, names) if names else [targets.own(box)]
    folder = arguments.folder.resolve()
    with tempfile.TemporaryDirectory(prefix="recolva-") as scratch:
        (folder / "python").mkdir(parents=True, exist_ok=True)
        for target in chosen:
            wheel = build(box, target, folder, Path(scratch) / target.name)
            if target == targets.own(box):
                print(f"  installed and used: {try_wheel(wheel, Path(scratch) / 'try')}")
            elif targets.runs_here(box, target):
                program = Path(scratch) / target.name / "parts" / layout.program_name(target.system)
                print(f"  digest of its program: {run([program, 'selftest']).strip()}")
        if arguments.sdist or arguments.all:
            run_uv(box, "build", "--quiet", "--sdist", "--out-dir", Path(scratch) / "sdist")
            (sdist,) = (Path(scratch) / "sdist").glob("*.tar.gz")
            print(f"{sdist.name}: {Path(shutil.copy2(sdist, folder / 'python')).stat().st_size:,} bytes")
    return 0


def build(box: Toolbox, target: Target, folder: Path, scratch: Path) -> Path:
    """Build a target's wheel, and decay-sweep by itself where it has the library too; return the wheel."""
    places: dict[str, Path] = {}
    settings = {"RECOLVA_BUILD_NATIVE": "0"}
    if target.compiled:
        places = targets.build_parts(box, target, scratch / "parts")
        settings = {"RECOLVA_BUILD_NATIVE": "1", "RECOLVA_BUILD_PARTS": str(scratch / "parts")}
    run_uv(box, "build", "--quiet", "--wheel", "--out-dir", scratch / "wheel", **settings)
    (wheel,) = (scratch / "wheel").glob("*.whl")
    said = wheel_contents.examine(wheel, target, places)
    base = folder if target.published else folder / UNTRIED
    packages = base / "python"
    packages.mkdir(parents=True, exist_ok=True)
    made = Path(shutil.copy2(wheel, packages))
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes; {said}", flush=True)
    if target.library:
        programs = base / "programs"
        programs.mkdir(parents=True, exist_ok=True)
        export_program(target, scratch / "parts" / layout.program_name(target.system), programs)
    return made


def export_program(target: Target, program: Path, folder: Path) -> None:
    """Put decay-sweep, its bill of materials and the licence texts beside each other."""
    version = layout.version(ROOT)
    name = f"decay-sweep-{version}-{target.system}-{target.architecture}"
    shutil.copy2(program, folder / f"{name}{program.suffix}")
    (folder / f"{name}{sbom.SUFFIX}").write_text(
        sbom.program_document(version, program), encoding="utf-8", newline="\n"
    )
    texts = [(PYTHON_ROOT / text).read_text(encoding="utf-8") for text in licences.texts(licences.parts_of([program]))]
    joined = "\n----\n\n".join(texts)
    (folder / f"decay-sweep-{version}-licenses.txt").write_text(joined, encoding="utf-8", newline="\n")
    print(f"{name}{program.suffix}: {program.stat().st_size:,} bytes", flush=True)
