"""The steps of scripts/check about what is shipped with recolva: licences, bills of materials, known vulnerabilities."""

from __future__ import annotations

import json
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from check_go import SYSTEMS, go
from check_python import VENV, run_uv
from checkout import DIST, PYTHON_ROOT, ROOT, CommandError, run, venv_python
from step import Skipped, Step, need_compilers

from native_build import buildinfo, layout, licences, sbom

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolbox import Toolbox

GOVULNCHECK = "golang.org/x/vuln/cmd/govulncheck@v1.9.0"
NO_DATABASE = "the vulnerability database can't be reached"

VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
validator = JsonStrictValidator(SchemaVersion.V1_6)
for name in sys.argv[1:]:
    fault = validator.validate_str(open(name, encoding="utf-8").read())
    if fault:
        sys.exit(f"{name}: {fault}")
"""


def licence_texts(box: Toolbox) -> str:
    """Compare the modules linked into what is built, by `go version -m`, with the licence texts that are shipped."""
    need_compilers(box)
    assert box.go is not None
    files = [DIST / layout.LIBRARY_NAMES[box.go.system], DIST / layout.program_name(box.go.system)]
    if not all(file.is_file() for file in files):
        msg = "nothing is built; run the step go build first"
        raise CommandError(msg)
    for file in files:
        linked = {
            tuple(line.split()[1:3]) for line in go(box, "version", "-m", str(file)).splitlines() if _is_dep(line)
        }
        if linked != set(buildinfo.read_build_info(file).modules):
            msg = f"{file.name}: go version -m names other modules than we read: {linked}"
            raise CommandError(msg)
    names = {part.name for part in licences.parts_of(files)}
    names.update(name for system in SYSTEMS for name in _modules_for(box, system))
    missing = sorted(name for name in names if name not in licences.TERMS)
    missing += sorted(terms.text for terms in licences.TERMS.values() if not (PYTHON_ROOT / terms.text).is_file())
    if missing:
        msg = f"no licence text is shipped for {', '.join(missing)}"
        raise CommandError(msg)
    _compare_with_go(box)
    return ", ".join(sorted(names))


def _is_dep(line: str) -> bool:
    return line.split()[:1] == ["dep"]


def _modules_for(box: Toolbox, system: str) -> Iterator[str]:
    """Yield the modules that the library and the program would be linked with on a system."""
    template = "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}"
    packages = go(box, "list", "-deps", "-f", template, "./cmd/decay-sweep", "./native", GOOS=system, CGO_ENABLED="1")
    yield from packages.split()
    standard = go(box, "list", "-deps", "./cmd/decay-sweep", "./native", GOOS=system, CGO_ENABLED="1")
    # Those that come with Go are Go's own, under its licence, but are named here so that somebody looks.
    yield from (line[7:] for line in standard.split() if line.startswith("vendor/"))


def _compare_with_go(box: Toolbox) -> None:
    """Compare our copy of Go's licence with the one that came with this Go, where that is."""
    theirs = Path(go(box, "env", "GOROOT").strip()) / "LICENSE"
    ours = PYTHON_ROOT / licences.TERMS[licences.STD].text
    if theirs.is_file() and theirs.read_text(encoding="utf-8").split() != ours.read_text(encoding="utf-8").split():
        msg = f"{ours.relative_to(ROOT)} is not {theirs}"
        raise CommandError(msg)


def bills(box: Toolbox) -> str:
    """Validate bills of materials against the published schema."""
    need_compilers(box)
    assert box.go is not None
    version = layout.version(ROOT)
    library, program = DIST / layout.LIBRARY_NAMES[box.go.system], DIST / layout.program_name(box.go.system)
    with tempfile.TemporaryDirectory(prefix="recolva-") as scratch:
        for name, text in (
            ("pure", sbom.document(version, {})),
            ("native", sbom.document(version, {"recolva/_native/library": library, "scripts/decay-sweep": program})),
            ("program", sbom.program_document(version, program)),
        ):
            (Path(scratch) / f"{name}{sbom.SUFFIX}").write_text(text, encoding="utf-8")
        for wheel in DIST.glob("every-system/**/*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                place = f"recolva-{version}.dist-info/sboms/recolva{sbom.SUFFIX}"
                (Path(scratch) / f"{wheel.stem}{sbom.SUFFIX}").write_bytes(archive.read(place))
        files = sorted(Path(scratch).iterdir())
        files += sorted(DIST.glob(f"every-system/**/*{sbom.SUFFIX}"))
        run_uv(box, "sync", "--quiet", "--group", "lint", "--group", "release")
        run([venv_python(VENV), "-c", VALIDATE, *files])
    return f"{len(files)} bills, CycloneDX {sbom.SPEC}"


def govulncheck(box: Toolbox) -> str:
    """Look for known vulnerabilities in the Go code that is reached."""
    try:
        printed = go(box, "run", GOVULNCHECK, "./...")
    except CommandError as error:
        if "fetching vulnerabilities" in str(error):
            raise Skipped(NO_DATABASE) from None
        raise
    return printed.strip().splitlines()[0]


def pip_audit(box: Toolbox) -> str:
    """Look for known vulnerabilities in what the tools' groups install; the package itself needs nothing."""
    run_uv(box, "sync", "--quiet", "--group", "lint", "--group", "release")
    with tempfile.TemporaryDirectory(prefix="recolva-") as scratch:
        report = Path(scratch) / "report.json"
        command: list[str | Path] = [
            venv_python(VENV),
            "-m",
            "pip_audit",
            "--progress-spinner=off",
            "--format=json",
            "-o",
            report,
        ]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if not report.is_file():
            last = (result.stderr.strip().splitlines() or ["no report"])[-1]
            msg = f"{NO_DATABASE}: {last[:120]}"
            raise Skipped(msg)
        found = json.loads(report.read_text(encoding="utf-8"))["dependencies"]
    audited = [package for package in found if "vulns" in package]
    faults = [
        f"{package['name']} {package['version']}: {fault['id']}" for package in audited for fault in package["vulns"]
    ]
    if faults:
        raise CommandError("\n".join(faults))
    if not audited:
        raise Skipped(NO_DATABASE)
    left = len(found) - len(audited) - 1  # recolva itself is on no index before its release
    return f"{len(audited)} packages audited" + (f", {left} not found in the database" if left > 0 else "")


STEPS = (
    Step("licences of what is linked in", licence_texts),
    Step("bills of materials", bills, long=True),
    Step("govulncheck", govulncheck, long=True),
    Step("pip-audit", pip_audit, long=True),
)
