"""Writers at full speed beside sweeps, some of which are killed: no line is lost, none is there twice.

The shell, Node and rewriting writers are the texts of the guide. RECOLVA_WRITER_SWEEPS says
how many sweeps each of them meets.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recolva import jsonl
from recolva._system import System
from recolva.errors import CommittedUncertain, Refused
from tests.crashes import ARGUMENTS, using
from tests.faults import Fault, Killed, Layer

SWEEPS = int(os.environ.get("RECOLVA_WRITER_SWEEPS", "20"))

GUIDE = Path(__file__).parents[1] / "docs" / "writers.md"

SHELL = r"""
number=0
while [ ! -e "$2" ]; do
  if [ $((number % 2)) = 1 ]; then time=-85400000; else time=87400000; fi
  printf '{"id":"%d","last_accessed_ms":%d}\n' $number $time | sh "$(dirname "$2")/recolva-append.sh" "$1"
  number=$((number + 1))
  : >"${2%.*}.started"
done
echo $number
"""

NODE = """
const fs = require("node:fs");
const [store, stop] = process.argv.slice(-2);
const { append } = require(require("node:path").dirname(stop) + "/append.js");
let number = 0;
while (!fs.existsSync(stop)) {
  append(store, { id: String(number), last_accessed_ms: number % 2 ? -85400000 : 87400000 });
  number += 1;
  fs.writeFileSync(stop.replace(/[.]stop$/, ".started"), "");
}
console.log(number);
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="flock")


@pytest.fixture
def texts(tmp_path):
    """A directory with the texts of the guide."""
    found = re.findall(r"^```(?:sh|js|py) (\S+)\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    assert [name for name, _ in found] == ["recolva-append.sh", "append.js", "rewrite.py"]
    folder = tmp_path / "texts"
    folder.mkdir()
    for name, text in found:
        (folder / name).write_text(text)
    return folder


def command(kind: str, store: Path, stop: Path) -> list[str]:
    if kind == "shell":
        return ["sh", "-c", SHELL, "sh", str(store), str(stop)]
    if kind == "node":
        return ["node", "-e", NODE, "--", str(store), str(stop)]
    return [sys.executable, str(Path(__file__).with_name("writers.py")), kind, str(store), str(stop)]


def sweep(store: Path, archive: Path, choose: random.Random, *, kill: bool) -> str:
    """Sweep once; say how it ended."""
    # A kill tears no write that stays within a page, as those of these short lines do.
    fault = Fault(choose.randint(1, 75), "kill") if kill else Fault()
    layer = Layer(System(), fault)
    try:
        with using(layer):
            jsonl.archive_exponential_jsonl(store, archive, **{**ARGUMENTS, "lock_timeout": 5})
    except Killed:
        return "killed"
    except CommittedUncertain:
        return "uncertain"
    except Refused:
        return "refused"
    finally:
        layer.end()
    return "done"


@pytest.mark.parametrize("kind", ["append", "reopen", "held", "shell", "node", "rewrite"])
def test_no_line_is_lost_or_twice(tmp_path, texts, kind):
    """What a writer of this kind has written is there once, in the store or in the archive."""
    tool = {"shell": "flock", "node": "node"}.get(kind, "")
    if shutil.which(tool) is None and tool:
        pytest.skip(f"no {tool}")
    store, archive, stop = tmp_path / "store", tmp_path / "archive", texts / "writer.stop"
    store.touch()
    choose, ends = random.Random(kind), dict.fromkeys(("done", "killed", "uncertain", "refused"), 0)
    environment = {**os.environ, "PYTHONPATH": str(GUIDE.parents[1] / "src")}
    with subprocess.Popen(command(kind, store, stop), stdout=subprocess.PIPE, env=environment) as writer:
        limit = time.monotonic() + 60
        while not stop.with_suffix(".started").exists() and time.monotonic() < limit:
            time.sleep(0.01)
        try:
            for number in range(SWEEPS):
                ends[sweep(store, archive, choose, kill=number % 4 == 3)] += 1
        finally:
            stop.touch()  # else the writer would go on for ever
        out, _ = writer.communicate(timeout=60)
    written = int(out)
    assert sweep(store, archive, choose, kill=False) == "done"
    found = [int(line.split(b'"')[3]) for line in (store.read_bytes() + archive.read_bytes()).splitlines()]
    print(kind, written, ends)  # noqa: T201
    assert sorted(found) == list(range(written))
    assert written > 0
    assert ends["done"] > 0  # a rewrite makes many refuse
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "store", "texts"]
