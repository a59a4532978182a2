"""The steps of scripts/check --all that build wheels for every system, and judge and run what came of it."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import shlex
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import crosscheck_cpus
import golden_cases
import targets
from check_python import VENV as TEST_VENV
from check_python import run_uv
from checkout import DIST, ROOT, CommandError, Stamp, bin_folder, digest_files, make_venv, run, venv_python
from step import Skipped, Step, need_compilers
from toolbox import VENV as TOOLS_VENV
from toolbox import open_toolbox

import local_proxy
from native_build import toolchain

if TYPE_CHECKING:
    from toolbox import Toolbox

MADE = DIST / "every-system"  # what the first step builds and the second compares
STAMP = DIST / ".every-system"

# zig's linker for macOS leaves what was in memory in six unused entries of a table. Nobody installs that file.
NOT_COMPARED = "not-for-release/python/recolva-*-macosx_*.whl"

IN_A_WHEEL_WITHOUT_LIBRARY = """
import recolva
assert recolva.score_array([1_000_000], model="exponential", now=87_400_000, half_life_millis=86_400_000)[0] == 0.5
print(recolva.backend())
"""


def need_everything(box: Toolbox) -> None:
    """Skip where wheels of every system can't be built."""
    need_compilers(box)
    assert box.go is not None
    if box.go.system != "linux":
        msg = "other systems are built for on Linux only"
        raise Skipped(msg)
    if sys.version_info < (3, 10):
        msg = "the bill of materials is put into wheels from Python 3.10 on"
        raise Skipped(msg)


def every_system(box: Toolbox) -> str:
    """Build the wheels of every system, let independent programs judge them, and run what can be run here."""
    need_everything(box)
    stamp = _stamp(box)
    STAMP.unlink(missing_ok=True)
    shutil.rmtree(MADE, ignore_errors=True)
    run([ROOT / "scripts" / "build_wheels", MADE, "--all"], environment=box.environment)
    wheels = {target.name: _wheel_of(target) for target in targets.TARGETS}
    tools = _release_tools(box)
    run([tools / "twine", "check", "--strict", *sorted(MADE.glob("**/python/recolva-*"))])
    for name, wheel in wheels.items():
        if "linux" in name:
            _judge_tag(tools, wheel)
    ran = [*_run_wheels(box, wheels)]
    print("".join(f"   {line}\n" for line in ran), end="", flush=True)
    stamp.done()
    untried = [target.name for target in targets.TARGETS if not target.published]
    return f"{len(wheels)} wheels; built and never run: {', '.join(untried)}"


def _stamp(box: Toolbox) -> Stamp:
    """Return what tells whether MADE is of the tree as it is now."""
    assert box.go is not None
    files = [ROOT / file for file in local_proxy.module_files(ROOT) if (ROOT / file).is_file()]
    return Stamp(STAMP, digest_files(files, box.go.version))


def _wheel_of(target: targets.Target) -> Path:
    folder = MADE if target.published else MADE / "not-for-release"
    pattern = target.tag.replace(r"\d+", "*")
    (wheel,) = (folder / "python").glob(f"*-{pattern}.whl")
    return wheel


def _release_tools(box: Toolbox) -> Path:
    """Return the folder of the programs that judge what is released."""
    run_uv(box, "sync", "--quiet", "--group", "lint", "--group", "release")
    return bin_folder(TEST_VENV)


def _judge_tag(tools: Path, wheel: Path) -> None:
    """Compare our tag with what auditwheel reads from the files; it knows no static program, nor our oldest glibc."""
    shown = " ".join(run([tools / "auditwheel", "show", wheel]).split())
    wheel_tag = wheel.name[:-4].split("-")[-1]
    machine = wheel_tag.partition("_1_1_" if "musl" in wheel_tag else "_2_17_")[2]
    fitting = [f"musllinux_1_{minor}_{machine}" for minor in (1, 2)]
    if "musl" not in wheel_tag:
        fitting = [f"manylinux_2_{minor}_{machine}" for minor in (5, 12, 17)]
    if not any(f'"{tag}"' in shown for tag in fitting):
        msg = f"auditwheel does not agree with {wheel.name}: {shown}"
        raise CommandError(msg)


def _run_wheels(box: Toolbox, wheels: dict[str, Path]) -> list[str]:
    """Run what this machine and qemu-user can run of the wheels; return a line about each."""
    said = []
    for cpu, machine in ((crosscheck_cpus.CPUS[0], "x86_64"), (crosscheck_cpus.CPUS[2], "aarch64")):
        words = crosscheck_cpus.runner(box, cpu)
        for kind in ("linux", "musllinux"):
            wheel = wheels[f"{kind}-{machine}"]
            if words is None:
                said.append(f"{wheel.name}: not run: qemu-{cpu.qemu} is missing (apt-get install qemu-user)")
                continue
            with tempfile.TemporaryDirectory(prefix="recolva-") as scratch:
                folder = _unpack(wheel, Path(scratch) / "wheel")
                by = crosscheck_cpus.where(words)
                said.append(f"{wheel.name}: {_run_program(words, folder)}, {by}")
                if kind == "linux":
                    said.append(f"{wheel.name}: {_run_library(box, cpu, folder)}")
    said.append(f"{wheels['pure'].name}: {_without_library(wheels['pure'])}")
    musl = next((wheels[f"musllinux-{cpu}"] for cpu in ("x86_64", "aarch64") if _is_this_machine(box, cpu)), None)
    if musl:
        said.append(f"{musl.name}: {_without_library(musl)}")
    return said


def _is_this_machine(box: Toolbox, cpu: str) -> bool:
    assert box.go is not None
    return {"x86_64": "amd64", "aarch64": "arm64"}[cpu] == box.go.architecture


def _unpack(wheel: Path, folder: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)  # made by ourselves a moment ago
    return folder


def _run_program(words: list[str], folder: Path) -> str:
    """Run the wheel's decay-sweep over its 200,000 scores."""
    (program,) = folder.glob("*.data/scripts/decay-sweep")
    program.chmod(0o755)
    digest = run([*words, program, "selftest"]).strip()
    expected = golden_cases.digest()
    if digest != expected:
        msg = f"{program}: the digest is {digest}, must be {expected}"
        raise CommandError(msg)
    return "decay-sweep selftest has the right digest"


def _run_library(box: Toolbox, cpu: crosscheck_cpus.Cpu, folder: Path) -> str:
    """Load the wheel's library from a program in C, and let that compare all golden scores."""
    system = Path(f"/usr/{cpu.triplet}")
    words = crosscheck_cpus.runner(box, cpu, "-L", str(system))
    if words and not (system / "lib").is_dir():
        return f"library not run: {system} is missing (apt-get install libc6-{cpu.go}-cross)"
    portable = open_toolbox(portable=True)
    python = shlex.split(portable.compiler)[0]
    compiler = shlex.split(toolchain.zig_compiler(python, "linux", cpu.go))
    native = folder / "recolva" / "_native"
    program = folder / "smoke"
    options: list[str | Path] = ["-std=c99", "-I", crosscheck_cpus.HEADER, f"-Wl,-rpath,{native}", "-L", native]
    run(
        [*compiler, crosscheck_cpus.SMOKE, *options, "-pthread", "-o", program, "-lrecolva"],
        environment=portable.environment,
    )
    run([*(words or []), program])
    count = crosscheck_cpus.golden_by_c([*(words or []), str(program)])
    return f"library loaded, {count} golden scores, {crosscheck_cpus.where(words or [])}"


def _without_library(wheel: Path) -> str:
    """Install a wheel that has no library: pure Python must take over, and decay-sweep be there."""
    with tempfile.TemporaryDirectory(prefix="recolva-") as scratch:
        python = make_venv(Path(scratch) / "venv")
        tag = wheel.name[:-4].split("-")[-1]
        place = Path(scratch) / "site"
        options: list[str | Path] = ["--no-index", "--no-deps", "--only-binary=:all:", "--target", place]
        run([python, "-m", "pip", "install", "--quiet", "--platform", tag, *options, wheel])
        environment = {**os.environ, "PYTHONPATH": str(place)}
        environment.pop("RECOLVA_NATIVE", None)
        said = run([python, "-c", IN_A_WHEEL_WITHOUT_LIBRARY], environment=environment, folder=place).strip()
        if said != "pure (this installation has no native library)":
            msg = f"{wheel.name} without a library says {said}"
            raise CommandError(msg)
        if tag != "any":
            run([place / "bin" / "decay-sweep", "--version"])
    return said


def twice_the_same(box: Toolbox) -> str:
    """Build everything a second time, elsewhere and with nothing cached, and compare every byte."""
    need_everything(box)
    if not (MADE.is_dir() and _stamp(box).fresh()):
        shutil.rmtree(MADE, ignore_errors=True)
        run([ROOT / "scripts" / "build_wheels", MADE, "--all"], environment=box.environment)
    with tempfile.TemporaryDirectory(prefix="recolva-") as scratch:
        tree = Path(scratch) / "in another folder" / "recolva"
        _copy_tree(tree)
        settings = {name: str(Path(scratch) / name) for name in ("GOCACHE", "TMPDIR")}
        for folder in settings.values():
            Path(folder).mkdir()
        again = Path(scratch) / "again"
        run([tree / "scripts" / "build_wheels", again, "--all"], environment={**_plain(box), **settings}, folder=tree)
        first, second = _digests(MADE), _digests(again)
    different = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
    accepted = [name for name in different if fnmatch.fnmatch(name, NOT_COMPARED)]
    if different != accepted:
        msg = "two builds differ in " + ", ".join(different)
        raise CommandError(msg)
    same = f"{len(first) - len(different)} files, same SHA-256"
    return same + "".join(f"; differs, never published: {Path(name).name}" for name in different)


def _plain(box: Toolbox) -> dict[str, str]:
    """Return the environment without what the toolbox of this checkout put into it."""
    left_out = ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR", "CC", "GOFLAGS")
    return {name: value for name, value in box.environment.items() if name not in left_out}


def _copy_tree(tree: Path) -> None:
    """Copy what git knows of, and the tools without their caches, so that nothing is downloaded again."""
    for file in local_proxy.module_files(ROOT):
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, tree / file)
    venv = tree / TOOLS_VENV.relative_to(ROOT)
    make_venv(venv)
    for folder in (bin_folder, lambda place: venv_python(place).parent.parent / "lib"):
        shutil.copytree(folder(TOOLS_VENV), folder(venv), copy_function=_link, dirs_exist_ok=True)


def _link(source: str, target: str) -> None:
    """Give a file a second name, where it has none and where the system can; else copy it."""
    if os.path.lexists(target):
        return
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _digests(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


STEPS = (
    Step("wheels of every system", every_system, long=True),
    Step("wheels twice, byte by byte", twice_the_same, long=True),
)
