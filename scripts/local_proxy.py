#!/usr/bin/env python3
"""Serve this tree as a Go module from a folder, so that `go install ...@VERSION` can be tried before a release.

    python scripts/local_proxy.py FOLDER

writes the module at the version of internal/version/VERSION into FOLDER in the layout of the module proxy
protocol, and prints the environment under which go finds it. The files are those that git knows or would add.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
MODULE = "github.com/iamfaham/recolva"

# The protocol asks for a time; one of no meaning keeps the bytes the same.
TIME = "2026-01-01T00:00:00Z"


def module_files(root: Path) -> list[PurePosixPath]:
    """Return the files that a module zip of the tree holds: no folder with a go.mod of its own, no links."""
    command = [shutil.which("git") or "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode().split("\0")
    files = [PurePosixPath(name) for name in names if name]
    nested = {file.parent for file in files if file.name == "go.mod" and len(file.parts) > 1}
    return sorted(
        file
        for file in files
        if not nested & set(file.parents) and (root / file).is_file() and not (root / file).is_symlink()
    )


def write_proxy(root: Path, folder: Path, version: str) -> None:
    """Write the four files by which a module proxy answers for one version."""
    target = folder / MODULE / "@v"
    target.mkdir(parents=True, exist_ok=True)
    (target / "list").write_text(f"{version}\n", encoding="ascii")
    (target / f"{version}.info").write_text(json.dumps({"Version": version, "Time": TIME}), encoding="ascii")
    (target / f"{version}.mod").write_bytes((root / "go.mod").read_bytes())
    with zipfile.ZipFile(target / f"{version}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in module_files(root):
            archive.writestr(zipfile.ZipInfo(f"{MODULE}@{version}/{file}"), (root / file).read_bytes())


def go_settings(folder: Path, others: str) -> dict[str, str]:
    """Return the environment in which go asks the folder first, then the proxies it asks otherwise."""
    proxies = ",".join([folder.resolve().as_uri(), *([others] if others else [])])
    return {"GOPROXY": proxies, "GONOSUMDB": MODULE, "GOFLAGS": "-modcacherw"}


def main() -> int:
    """Write the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    version = "v" + (ROOT / "internal" / "version" / "VERSION").read_text(encoding="ascii").strip()
    write_proxy(ROOT, folder, version)
    go = shutil.which("go")
    others = subprocess.run([go, "env", "GOPROXY"], capture_output=True, text=True, check=True).stdout if go else ""
    settings = go_settings(folder, others.strip())
    print(" ".join(f"{name}={value}" for name, value in settings.items()), end=" ")
    print(f"go install {MODULE}/cmd/decay-sweep@{version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
