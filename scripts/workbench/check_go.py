"""The Go steps of scripts/check."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import engine
from checkout import ROOT, CommandError, run
from step import Skipped, Step, need_compilers, need_go

from native_build import layout

if TYPE_CHECKING:
    from toolbox import Toolbox

STATICCHECK = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"
SYSTEMS = ("linux", "darwin", "windows")


def go(box: Toolbox, *arguments: str, **settings: str) -> str:
    """Run the Go command of the toolbox."""
    need_go(box)
    assert box.go is not None
    return run([box.go.go, *arguments], environment={**box.environment, **settings})


def gofmt(box: Toolbox) -> str:
    """List the files that gofmt would change; fail where there is one."""
    need_go(box)
    folders = [folder for folder in layout.GO_FOLDERS if (ROOT / folder).is_dir()]
    program = shutil.which("gofmt", path=box.environment.get("PATH")) or shutil.which(
        "gofmt", path=f"{go(box, 'env', 'GOROOT').strip()}{os.sep}bin"
    )
    if program is None:
        msg = "this Go came without gofmt"
        raise Skipped(msg)
    changed = run([program, "-l", *folders], environment=box.environment).split()
    if changed:
        msg = "gofmt -w would change: " + ", ".join(changed)
        raise CommandError(msg)
    return ""


def vet(box: Toolbox) -> str:
    """Vet the code as each operating system compiles it; cgo code as this one does."""
    need_compilers(box)
    go(box, "vet", "./...")
    assert box.go is not None
    for system in SYSTEMS:
        if system != box.go.system:
            go(box, "vet", "./...", GOOS=system, CGO_ENABLED="0")
    return ", ".join(SYSTEMS)


def staticcheck(box: Toolbox) -> str:
    """Run staticcheck."""
    go(box, "run", STATICCHECK, "./...")
    return ""


def test(box: Toolbox) -> str:
    """Run the Go tests, with what they print where one fails."""
    need_compilers(box)
    printed = go(box, "test", "./...")
    return f"{sum(line.startswith('ok') for line in printed.splitlines())} packages ok"


def race(box: Toolbox) -> str:
    """Run the Go tests under the race detector."""
    need_compilers(box)
    if "ziglang" in box.compiler:
        msg = "the race detector needs a C compiler of this machine"
        raise Skipped(msg)
    go(box, "test", "-race", "./...")
    return ""


def build(box: Toolbox) -> str:
    """Build the library and the program and stage them for the wheel."""
    need_compilers(box)
    library, program = engine.build(box)
    return f"{library.name} {library.stat().st_size:,} bytes, {program.name} {program.stat().st_size:,} bytes"


STEPS = (
    Step("gofmt", gofmt),
    Step("go vet", vet),
    Step("staticcheck", staticcheck),
    Step("go test", test),
    Step("go test -race", race, long=True),
    Step("go build", build),
)
