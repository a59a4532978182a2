"""Hatchling hooks: metadata from the repository's root, and a wheel that is native where it can be.

A wheel holds, in this order of preference,
1. the staged library (src/recolva/_native/), never rebuilt, with the staged decay-sweep or one built beside it;
2. the library and decay-sweep, built here when Go and a C compiler are to be had;
3. Python alone, tagged py3-none-any, with a decay-sweep that says how to get the real one.
RECOLVA_BUILD_NATIVE=0 asks for 3, RECOLVA_BUILD_NATIVE=1 refuses 3. An editable install compiles nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

sys.path.insert(0, str(Path(__file__).parent))

from native_build import binaries, layout, toolchain

REPOSITORY = "https://github.com/iamfaham/recolva"
SWITCH = "RECOLVA_BUILD_NATIVE"
MISSING_PROGRAM = "native_build/decay_sweep_missing.py"


class RootMetadata(MetadataHookInterface):
    """Takes the version and the README from the repository's root."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in the fields that pyproject.toml declares dynamic."""
        root = layout.source_root(Path(self.root))
        version = layout.version(root)
        metadata["version"] = version
        readme = (root / "README.md").read_text(encoding="utf-8")
        # A link within the repository leads nowhere on a package page.
        text = re.sub(r"\]\((?![a-z]+:|#)", f"]({REPOSITORY}/blob/v{version}/", readme)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class NativeBuild(BuildHookInterface[Any]):
    """Puts the Go sources into the sdist, and the library and the program into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Decide what this build holds; hatchling calls it once before each target."""
        self._scratch: Path | None = None
        root = layout.source_root(Path(self.root))
        if self.target_name == "sdist":
            files = ["README.md", *map(str, layout.go_sources(root))]
            build_data["force_include"].update({str(root / name): name for name in files})
        elif version != "editable":
            self._fill_wheel(root, build_data)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was built for this wheel alone."""
        del version, build_data, artifact_path
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _fill_wheel(self, root: Path, build_data: dict[str, Any]) -> None:
        wanted = os.environ.get(SWITCH, "")
        if wanted not in {"", "0", "1"}:
            msg = f"{SWITCH} must be 0 or 1, got {wanted}"
            raise ValueError(msg)
        library, program = (None, None) if wanted == "0" else self._native_files(root, insist=wanted == "1")
        files = [file for file in (library, program) if file]
        build_data["shared_scripts"][str(program or Path(self.root) / MISSING_PROGRAM)] = (
            program.name if program else "decay-sweep"
        )
        build_data["tag"] = "py3-none-any"
        if files:
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{binaries.wheel_platform([binaries.read_binary(f) for f in files])}"
        if library:
            build_data["force_include"][str(library)] = f"recolva/_native/{library.name}"

    def _native_files(self, root: Path, *, insist: bool) -> tuple[Path | None, Path | None]:
        staged = self._staged()
        try:
            if staged:
                return staged, self._program_beside(root, staged)
            return self._build_both(root)
        except toolchain.ToolchainError as error:
            if insist:
                raise
            self.app.display_warning(f"building without native parts: {error}")
            return staged, None

    def _staged(self) -> Path | None:
        folder = Path(self.root) / "src" / "recolva" / "_native"
        found = [folder / name for name in layout.LIBRARY_NAMES.values() if (folder / name).is_file()]
        if len(found) > 1:
            msg = f"{folder} holds libraries of several systems: {', '.join(file.name for file in found)}"
            raise ValueError(msg)
        return found[0] if found else None

    def _program_beside(self, root: Path, library: Path) -> Path:
        """Return the staged program, or build one for the system and machine of the staged library."""
        target = binaries.read_binary(library)
        name = layout.program_name(target.system)
        staged = library.parent / "bin" / name
        if staged.is_file():
            return staged
        go = toolchain.find_go(layout.minimum_go(root))
        output = self._output(name)
        go.build_program(root, output, system=target.system, architecture=target.go_arch)
        return output

    def _build_both(self, root: Path) -> tuple[Path | None, Path]:
        go = toolchain.find_go(layout.minimum_go(root))
        program = self._output(layout.program_name(go.system))
        library = None
        if not toolchain.runs_on_musl():
            library = self._output(toolchain.library_name(go))
            go.build_library(root, library, toolchain.find_c_compiler(go))
        go.build_program(root, program)
        return library, program

    def _output(self, name: str) -> Path:
        if self._scratch is None:
            self._scratch = Path(tempfile.mkdtemp(prefix="recolva-build-"))
        return self._scratch / name
