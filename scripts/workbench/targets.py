"""The systems and processors that wheels are made for, and what compiles for each."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple

from checkout import PYTHON_ROOT, ROOT, CommandError

from native_build import layout, licences, toolchain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from toolbox import Toolbox

# What Go's linker names on macOS and zig has no copy of: Apple's libraries as lists of the few symbols that are used.
STUBS = ROOT / "scripts" / "workbench" / "macos_stubs"


class Target(NamedTuple):
    """A wheel: its name on the command line, Go's names of system and processor, and the tag it must get."""

    name: str
    system: str
    architecture: str
    tag: str
    library: bool = True  # else decay-sweep alone
    published: bool = True  # else cross-built as a check

    @property
    def compiled(self) -> bool:
        """Tell whether the wheel holds anything but Python."""
        return bool(self.system)


PURE = Target("pure", "", "", "any", library=False)
TARGETS = (
    Target("linux-x86_64", "linux", "amd64", "manylinux_2_17_x86_64"),
    Target("linux-aarch64", "linux", "arm64", "manylinux_2_17_aarch64"),
    # A Go library can't be loaded where musl is the C library.
    Target("musllinux-x86_64", "linux", "amd64", "musllinux_1_1_x86_64", library=False),
    Target("musllinux-aarch64", "linux", "arm64", "musllinux_1_1_aarch64", library=False),
    PURE,
    Target("macos-arm64", "darwin", "arm64", r"macosx_\d+_\d+_arm64", published=False),
    Target("macos-x86_64", "darwin", "amd64", r"macosx_\d+_\d+_x86_64", published=False),
    Target("windows-x86_64", "windows", "amd64", "win_amd64", published=False),
)


def own(box: Toolbox) -> Target:
    """Return the target that is this machine; what is built for it here may be published."""
    assert box.go is not None
    here = (box.go.system, box.go.architecture)
    for target in TARGETS:
        if (target.system, target.architecture) == here and target.library:
            return target._replace(published=True)
    return Target("-".join(here), *here, tag=".*")


def runs_here(box: Toolbox, target: Target) -> bool:
    """Tell whether this machine runs the target's program."""
    assert box.go is not None
    return (target.system, target.architecture) == (box.go.system, box.go.architecture)


def choose(box: Toolbox, names: list[str]) -> list[Target]:
    """Return the targets of these names; raise CommandError where one is unknown or can't be built here."""
    assert box.go is not None
    here = own(box)
    known = {**{target.name: target for target in TARGETS}, here.name: here}
    unknown = [name for name in names if name not in known]
    if unknown:
        msg = f"no target is named {', '.join(unknown)}; there are {', '.join(known)}"
        raise CommandError(msg)
    chosen = [known[name] for name in names]
    foreign = [target.name for target in chosen if target.library and target != here]
    if foreign and box.go.system != "linux":
        msg = f"{', '.join(foreign)}: other systems are built for on Linux only"
        raise CommandError(msg)
    return chosen


def build_parts(box: Toolbox, target: Target, folder: Path) -> dict[str, Path]:
    """Build what the target's wheel holds into the folder; return the files by their place in the wheel."""
    assert box.go is not None
    folder.mkdir(parents=True)
    aim = {"system": target.system, "architecture": target.architecture}
    program = folder / layout.program_name(target.system)
    box.go.build_program(ROOT, program, **aim)
    places = {f"recolva-{layout.version(ROOT)}.data/scripts/{program.name}": program}
    if target.library:
        library = folder / layout.LIBRARY_NAMES[target.system]
        box.go.build_library(ROOT, library, _compiler(box, target), **aim)
        places[f"recolva/_native/{library.name}"] = library
    return places


def expected_files(target: Target, places: dict[str, Path]) -> Iterator[str]:
    """Yield every file that the wheel must have, Python's sources aside."""
    information = f"recolva-{layout.version(ROOT)}.dist-info"
    yield from (f"{information}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt"))
    yield f"{information}/sboms/recolva.cdx.json"
    yield from (f"{information}/licenses/{text}" for text in licences.texts(licences.parts_of(places.values())))
    yield from ("recolva/py.typed", "memoryhalflife/py.typed")
    yield from places
    if not target.compiled:
        yield f"recolva-{layout.version(ROOT)}.data/scripts/decay-sweep"  # which says how to get the real one


def python_files() -> Iterator[str]:
    """Yield Python's sources as every wheel has them."""
    source = PYTHON_ROOT / "src"
    yield from (path.relative_to(source).as_posix() for path in source.rglob("*.py"))


def _compiler(box: Toolbox, target: Target) -> str:
    """Return the C compiler command: the toolbox's own, aimed at the target where it is zig."""
    words = shlex.split(box.compiler)
    if "ziglang" not in words:
        return box.compiler
    command = toolchain.zig_compiler(words[0], target.system, target.architecture)
    return (
        f"{command} {shlex.quote(f'-L{STUBS}')} {shlex.quote(f'-F{STUBS}')}" if target.system == "darwin" else command
    )
