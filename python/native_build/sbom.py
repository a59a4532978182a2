"""The software bill of materials: what is in a wheel or a program, in CycloneDX's JSON.

It is made from the shipped files alone: their digests, and what Go wrote into them. No time and no random number is
in it, so that the same files have the same list.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from native_build import licences
from native_build.buildinfo import read_build_info

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SPEC = "1.6"
SUFFIX = ".cdx.json"
MODULE = "github.com/iamfaham/recolva"
SOURCE = f"https://{MODULE}"

# What of a file's build settings tells how to build it again.
SETTINGS = ("-buildmode", "-trimpath", "CGO_ENABLED", "GOOS", "GOARCH", "GOAMD64", "GOARM64")


def document(version: str, files: Mapping[str, Path], *, purl: str = "") -> str:
    """Return the list for recolva with the compiled files, named by where they are in what is shipped.

    A file that is shipped by itself is named "": then the list is about it.
    """
    parts = licences.parts_of(files.values())
    root = _own("library", "recolva", version, purl or f"pkg:pypi/recolva@{version}", "recolva")
    components = [_file(name, path) for name, path in sorted(files.items())]
    depends = {component["bom-ref"]: _refs_of(files[component["name"]]) for component in components}
    if set(files) == {""}:
        (about,) = components
        root = {**root, "type": "application", "name": "decay-sweep"}
        root.update({key: about[key] for key in ("hashes", "properties")})
        depends, components = {"recolva": depends.pop(about["bom-ref"])}, []
    else:
        depends = {"recolva": sorted(depends), **depends}
    components += [_part(part) for part in parts]
    depends.update({_ref(part): [] for part in parts})
    made = {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPEC}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPEC,
        "version": 1,
        "metadata": {"component": root},
        "components": components,
        "dependencies": [{"ref": ref, "dependsOn": targets} for ref, targets in sorted(depends.items())],
        "compositions": [{"aggregate": "complete", "dependencies": ["recolva"]}],
    }
    return json.dumps(made, indent=2) + "\n"


def program_document(version: str, program: Path) -> str:
    """Return the list for decay-sweep where it is shipped by itself."""
    return document(version, {"": program}, purl=f"pkg:golang/{MODULE}@v{version}#cmd/decay-sweep")


def _own(kind: str, name: str, version: str, purl: str, ref: str) -> dict[str, Any]:
    return {
        "type": kind,
        "bom-ref": ref,
        "name": name,
        "version": version,
        "licenses": [{"license": {"id": licences.OWN_LICENCE}}],
        "purl": purl,
        "externalReferences": [{"type": "vcs", "url": SOURCE}],
    }


def _file(name: str, path: Path) -> dict[str, Any]:
    info = read_build_info(path)
    settings = {"go": info.go, **{key: info.settings[key] for key in SETTINGS if key in info.settings}}
    return {
        "type": "file",
        "bom-ref": f"file:{name}",
        "name": name,
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}],
        "properties": [{"name": f"recolva:build:{key}", "value": value} for key, value in settings.items()],
    }


def _part(part: licences.Part) -> dict[str, Any]:
    component = {
        "type": "library",
        "bom-ref": _ref(part),
        "name": part.name,
        "licenses": [{"license": {"id": part.licence}}],
        "purl": _ref(part),
    }
    if part.version:
        component["version"] = part.version
    return component


def _ref(part: licences.Part) -> str:
    kind = "generic" if part.name == licences.MINGW else "golang"
    return f"pkg:{kind}/{part.name}" + (f"@{part.version}" if part.version else "")


def _refs_of(path: Path) -> list[str]:
    return [_ref(part) for part in licences.parts_of([path])]
