"""Hatchling hooks: metadata from the repository's root, and a wheel that is native where it can be.

A wheel holds, in this order of preference,
0. what stands in the folder that RECOLVA_BUILD_PARTS names: a library and decay-sweep, or decay-sweep alone;
1. the staged library (src/recolva/_native/), never rebuilt, with the staged decay-sweep or one built beside it;
2. the library and decay-sweep, built here when Go and a C compiler are to be had;
3. Python alone, tagged py3-none-any, with a decay-sweep that says how to get the real one.
RECOLVA_BUILD_NATIVE=0 asks for 3, RECOLVA_BUILD_NATIVE=1 refuses 3. An editable install compiles nothing.
Each wheel says what is in it: the licences of that, with their texts, and the bill of materials.
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

from native_build import binaries, layout, licences, sbom, toolchain

REPOSITORY = "https://github.com/iamfaham/recolva"
SWITCH = "RECOLVA_BUILD_NATIVE"
PARTS = "RECOLVA_BUILD_PARTS"
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
        # Of the sources and of a pure wheel; what is compiled in adds its own.
        metadata["license"] = licences.OWN_LICENCE
        metadata["license-files"] = [licences.OWN_TEXT]


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
        script = program.name if program else "decay-sweep"
        build_data["shared_scripts"][str(program or Path(self.root) / MISSING_PROGRAM)] = script
        build_data["tag"] = "py3-none-any"
        if files:
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{binaries.wheel_platform([binaries.read_binary(f) for f in files])}"
        if library:
            build_data["force_include"][str(library)] = f"recolva/_native/{library.name}"
        version = layout.version(root)
        places = {f"recolva/_native/{file.name}": file for file in (library,) if file}
        places.update({f"recolva-{version}.data/scripts/{file.name}": file for file in (program,) if file})
        self._declare(build_data, version, places)

    def _declare(self, build_data: dict[str, Any], version: str, places: dict[str, Path]) -> None:
        """Say in the metadata whose code the wheel holds, and add the bill of materials."""
        parts = licences.parts_of(places.values())
        # The one way to say it of this wheel: hatchling has no field for what a build finds out. scripts/check
        # compares what came of it.
        self.metadata.core._license_expression = licences.expression(parts)  # noqa: SLF001
        self.metadata.core.license_files[:] = licences.texts(parts)
        file = self._output(f"recolva{sbom.SUFFIX}")
        file.write_text(sbom.document(version, places), encoding="utf-8", newline="\n")
        build_data["sbom_files"] = [str(file)]  # hatchling 1.28 and newer, which needs Python 3.10

    def _native_files(self, root: Path, *, insist: bool) -> tuple[Path | None, Path | None]:
        if os.environ.get(PARTS):
            return self._given(Path(os.environ[PARTS]))
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

    def _given(self, folder: Path) -> tuple[Path | None, Path]:
        """Return the library, where there is one, and the program that somebody built for this wheel."""
        programs = [folder / name for name in ("decay-sweep", "decay-sweep.exe") if (folder / name).is_file()]
        if len(programs) != 1:
            msg = f"{PARTS} must name a folder with one decay-sweep, got {folder} with {len(programs)}"
            raise ValueError(msg)
        return self._library_in(folder), programs[0]

    def _staged(self) -> Path | None:
        return self._library_in(Path(self.root) / "src" / "recolva" / "_native")

    def _library_in(self, folder: Path) -> Path | None:
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
