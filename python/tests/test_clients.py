"""Programs in other languages, from native/examples, get the bits that Python gets."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from recolva._native import library_path
from recolva.jsonl import scan_power_law_jsonl
from recolva.models import MODELS, Exponential, PowerLaw

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "native" / "examples"
DOWNLOADS = ROOT / ".tools" / "clients"  # what npm and Maven install; git ignores it
LIBRARY = library_path()
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic")
JNA = "net.java.dev.jna:jna:5.19.1"
PATIENCE_S = 300  # for a package that comes through a slow network

pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(sys.platform != "linux", reason="the compilers' options are those of Linux"),
    pytest.mark.skipif(not LIBRARY.is_file(), reason="no native library is staged: scripts/stage_native.py"),
    pytest.mark.skipif(os.environ.get("RECOLVA_NATIVE") == "0", reason="these programs use the library"),
]


def run(*command, folder=ROOT, text=None, status=0):
    """Run a command to its end and return what it printed; fail with its errors where it fails."""
    result = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, "RECOLVA_LIBRARY": str(LIBRARY)},
        input=text,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=PATIENCE_S,
    )
    assert result.returncode == status, f"{command}: {result.stdout[-2000:]}{result.stderr[-2000:]}"
    return result.stdout + (result.stderr if status else "")


def install(present, *command):
    """Install third-party packages into a folder, or skip the test where they can't be had."""
    if present.exists():
        return
    present.parent.mkdir(parents=True, exist_ok=True)
    try:
        run(*command, folder=present.parent)
    except (AssertionError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"{present.name} can't be installed: {str(error).splitlines()[-1]}")


def linked(*command):
    """Add to a compiler's command what links the library."""
    return [*command, "-I", ROOT / "native", "-L", LIBRARY.parent, f"-Wl,-rpath,{LIBRARY.parent}"]


def c(folder):
    command = linked("gcc", "-std=c11", *WARNINGS, EXAMPLES / "c" / "client.c")
    run(*command, "-lrecolva", "-o", folder / "client")
    return [folder / "client"]


def c_dlopen(folder):
    command = linked("gcc", "-std=c11", "-DRECOLVA_DLOPEN", *WARNINGS, EXAMPLES / "c" / "client.c")
    run(*command, "-ldl", "-o", folder / "client")
    return [folder / "client"]


def cpp(folder):
    command = linked("g++", "-std=c++17", *WARNINGS, EXAMPLES / "cpp" / "client.cpp")
    run(*command, "-lrecolva", "-o", folder / "client")
    return [folder / "client"]


def go(folder):
    run("go", "build", "-o", folder / "client", "./native/examples/go")
    return [folder / "client"]


def rust(folder):
    source = EXAMPLES / "rust" / "client.rs"
    rpath = f"link-arg=-Wl,-rpath,{LIBRARY.parent}"
    run("rustc", "-Dwarnings", "-O", "-L", LIBRARY.parent, "-C", rpath, source, "-o", folder / "client")
    return [folder / "client"]


def node(folder):
    del folder
    packages = DOWNLOADS / "node"
    packages.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "client.js"):
        shutil.copy(EXAMPLES / "node" / name, packages)
    install(packages / "node_modules" / "koffi", "npm", "install", "--prefix", packages, "--no-audit", "--no-fund")
    return ["node", packages / "client.js"]


def java(folder):
    name, version = JNA.split(":")[1:]
    package = DOWNLOADS / "java" / f"{name}-{version}.jar"
    install(package, "mvn", "-q", "dependency:copy", f"-Dartifact={JNA}", "-DoutputDirectory=.")
    run("javac", "-Xlint:all", "-Werror", "-cp", package, "-d", folder, EXAMPLES / "java" / "Client.java")
    return ["java", "-cp", f"{package}:{folder}", "Client"]


def ruby(folder):
    del folder
    return ["ruby", "-w", EXAMPLES / "ruby" / "client.rb"]


# What builds a client, and the programs that this takes.
CLIENTS = {
    "c": (c, "gcc"),
    "c-dlopen": (c_dlopen, "gcc"),
    "cpp": (cpp, "g++"),
    "go": (go, "go"),
    "rust": (rust, "rustc"),
    "node": (node, "node", "npm"),
    "java": (java, "java", "javac", "mvn"),
    "ruby": (ruby, "ruby"),
}
QUICK = ("c", "c-dlopen", "cpp", "go")


@pytest.fixture(
    scope="module",
    params=[name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in CLIENTS],
)
def client(request, tmp_path_factory):
    """Build the client of a language and return its command."""
    build, *programs = CLIENTS[request.param]
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        pytest.skip(f"not on this machine: {', '.join(missing)}")
    return build(tmp_path_factory.mktemp(request.param))


def bits(value):
    return struct.pack(">d", value).hex()


def question(model, last_accessed, now, importance=1.0):
    """Return a line as the clients read it."""
    if isinstance(model, Exponential):
        return f"exponential {last_accessed} {now} {model.half_life_ms}"
    return f"power-law {last_accessed} {now} {model.scale_ms} {bits(model.exponent)} {bits(importance)}"


def answer(status, score):
    """Return what a client answers: a single call and a batch of one agree."""
    return f"{status} {bits(score)} {status} {bits(score)}"


def golden_cases(golden):
    """Return every 25th golden score that the models allow, as questions and answers."""
    for name, arguments, score in golden[::25]:
        importance, age, span, exponent = arguments if name == "P" else (1.0, *arguments, None)
        now = min(age, 2**63 - 1)
        try:
            model = Exponential(span) if exponent is None else PowerLaw(span, exponent)
        except ValueError:
            continue
        yield question(model, now - age, now, importance), answer(0, score)


def cases_of(file):
    return map(json.loads, file.read_text(encoding="utf-8").splitlines())


UNTOUCHED = answer(1, -7.25)  # the clients put -7.25 where the score would be written


def bad_cases(conformance):
    """Return the shared limits of the models, and importances, as questions and answers."""
    double = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
    for case in cases_of(conformance / "models" / "limits.jsonl"):
        values = [double.get(value, value) for value in case["params"].values()]
        if type(values[0]) is not int:
            continue
        text = f"{case['model']} 0 0 {' '.join([str(values[0]), *map(bits, values[1:])])}"
        importance = f" {bits(1.0)}" if MODELS[case["model"]].needs_importance else ""
        yield text + importance, answer(0, 1.0) if case.get("accepts") else UNTOUCHED
    for case in cases_of(conformance / "models" / "fractions.jsonl"):
        value = double.get(case["value"], case["value"])
        text = f"power-law 5 0 1000 {bits(1.0)} {bits(value)}"
        yield text, answer(0, value + 0.0) if case.get("accepts") else UNTOUCHED


def test_vectors(client, golden, conformance):
    """Single calls and batches give the golden bits, and refuse what the models do not allow."""
    cases = [*golden_cases(golden), *bad_cases(conformance)]
    refused = sum(expected == UNTOUCHED for _, expected in cases)
    assert refused > 20
    assert len(cases) - refused > 700
    answers = run(*client, "--vectors", text="".join(f"{asked}\n" for asked, _ in cases)).splitlines()
    assert len(answers) == len(cases)
    strays = [(*case, got) for case, got in zip(cases, answers) if case[1] != got]
    assert strays == []


def store_lines():
    """Return a store of more memories than the clients have rows for, with all kinds of line ends."""
    lines = []
    for i in range(250):
        record = {"id": f"m\u00e9moire {i}", "last_accessed_ms": 87_400_000 - i * 7_777_777, "importance": i % 11 / 10}
        lines.append(json.dumps(record, ensure_ascii=bool(i % 2)) + ("\r\n" if i % 3 else "\n"))
        if i % 50 == 0:
            lines.append(" \t\r\n")
    lines.append('{"importance":1,"text":"no newline at the end","id":"a\\n\\"b","last_accessed_ms":1000000}')
    return lines


def raw_id(line):
    """Return what stands between the quotes of the id."""
    return line.split('"id":', 1)[1].lstrip()[1:].replace('\\"', "\\'").split('"', 1)[0].replace("\\'", '\\"')


HEAD = "exponential 0.5\npower-law 0.25\nbatch 0.5 0.25 0.125\n"


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "with a byte order mark"])
def test_scan(client, tmp_path, mark):
    """A store is scanned in several blocks, with the decisions that Python makes."""
    store, lines = tmp_path / "store.jsonl", store_lines()
    store.write_text(mark + "".join(lines), encoding="utf-8", newline="")
    policy = {"now": 87_400_000, "scale_millis": 86_400_000, "exponent": 1.0, "threshold": 0.3}
    decisions = scan_power_law_jsonl(store, **policy)
    assert {decision.prune for decision in decisions} == {True, False}
    ids = [raw_id(line) for line in lines if line.strip()]
    rows = "".join(f"{i}\t{bits(d.score)}\t{int(d.prune)}\n" for i, d in zip(ids, decisions))
    assert run(*client, store) == f"{HEAD}{rows}251 memories, 5 blank lines\n"


def test_a_bad_line(client, tmp_path):
    """A line that is no memory ends the scan after those before it; its number counts blank lines."""
    store = tmp_path / "store.jsonl"
    store.write_text("".join([*store_lines()[:130], "{}\n"]), encoding="utf-8", newline="")
    printed = run(*client, store, status=1)
    assert printed.endswith("\nline 131 is not valid\n")
    assert printed.count("\t") == 2 * 127
