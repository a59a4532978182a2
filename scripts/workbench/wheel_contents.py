"""What must be in a wheel, and what must not: the files, their digests, the tag and the licences."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import re
import zipfile
from email import message_from_bytes
from typing import TYPE_CHECKING

import targets
from checkout import CommandError

from native_build import licences, sbom

if TYPE_CHECKING:
    from pathlib import Path


def examine(wheel: Path, target: targets.Target, places: dict[str, Path]) -> str:
    """Raise CommandError with every fault of the wheel; return a line about it where there is none."""
    with zipfile.ZipFile(wheel) as archive:
        contents = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    faults = [
        *_files(contents, target, places),
        *_record(contents),
        *_metadata(contents, wheel, target, places),
        *_bill(contents, places),
    ]
    if faults:
        msg = "\n".join([f"{wheel.name}:", *(f"  {fault}" for fault in faults)])
        raise CommandError(msg)
    kinds = (("library", target.library), ("program", target.compiled))
    held = [kind for kind, there in kinds if there] or ["Python alone"]
    return f"{', '.join(held)}, {licences.expression(licences.parts_of(places.values()))}, SBOM"


def _files(contents: dict[str, bytes], target: targets.Target, places: dict[str, Path]) -> list[str]:
    expected = {*targets.expected_files(target, places), *targets.python_files()}
    faults = [f"{name} is missing" for name in sorted(expected - set(contents))]
    faults += [f"{name} does not belong there" for name in sorted(set(contents) - expected)]
    return faults + [
        f"{name} is not the file that was built"
        for name, file in places.items()
        if contents.get(name) != file.read_bytes()
    ]


def _record(contents: dict[str, bytes]) -> list[str]:
    """Compare RECORD with the files."""
    name = next(name for name in contents if name.endswith(".dist-info/RECORD"))
    rows = {row[0]: row[1] for row in csv.reader(contents[name].decode("utf-8").splitlines())}
    faults = [] if set(rows) == set(contents) else ["RECORD lists other files than there are"]
    for file, digest in rows.items():
        wanted = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(contents.get(file, b"")).digest()).decode()
        if file != name and digest != wanted.rstrip("="):
            faults.append(f"RECORD has another digest of {file}")
    return faults


def _metadata(contents: dict[str, bytes], wheel: Path, target: targets.Target, places: dict[str, Path]) -> list[str]:
    faults = []
    parts = licences.parts_of(places.values())
    metadata = message_from_bytes(next(contents[name] for name in contents if name.endswith(".dist-info/METADATA")))
    said = metadata["License-Expression"]
    if said != licences.expression(parts):
        faults.append(f"License-Expression is {said}, must be {licences.expression(parts)}")
    if metadata.get_all("License-File") != licences.texts(parts):
        faults.append(f"License-File must be {', '.join(licences.texts(parts))}")
    tag = wheel.name[:-4].split("-")[-1]
    if not re.fullmatch(target.tag, tag):
        faults.append(f"the platform tag is {tag}, must be {target.tag}")
    return faults


def _bill(contents: dict[str, bytes], places: dict[str, Path]) -> list[str]:
    """Compare the digests in the bill of materials with the files."""
    name = next((name for name in contents if name.endswith(sbom.SUFFIX)), None)
    if name is None:
        return []  # _files has said it
    listed = {
        component["name"]: component["hashes"][0]["content"]
        for component in json.loads(contents[name])["components"]
        if component["type"] == "file"
    }
    actual = {place: hashlib.sha256(contents.get(place, b"")).hexdigest() for place in places}
    return [] if listed == actual else ["the bill of materials is of other files"]
