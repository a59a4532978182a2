"""The Python protocol is the Go one: the same system calls, the same bytes, the same end."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Optional

import pytest

import recolva
from recolva import jsonl
from recolva.errors import CommittedUncertain
from tests.crashes import ARGUMENTS, STORE, World
from tests.test_crashes import SCENARIOS
from tests.twin import POLICY, VERSION, build, command, python_command, recover_by_program, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TRACED = (
    "openat,flock,write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,"
    "ftruncate,fallocate,fcntl,fchmod,fchown,fsetxattr"
)


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    """The program, built once."""
    return build(tmp_path_factory.mktemp("program"))


def steps(words: list[str], root: Path) -> list[str]:
    """Run a command under strace and return what it did to the files under a directory."""
    trace = root.parent / f"{root.name}.trace"
    done = run(["strace", "-f", "-y", "-qq", "-s", "100000", "-e", f"trace={TRACED}", "-o", str(trace), *words])
    assert done.returncode == 0, done.stderr
    found = []
    for line in _whole_lines(trace.read_text()):
        step = _step(line, root)
        if step is not None:
            found.append(step)
    return _locks_sorted(found)


def _whole_lines(text: str) -> Iterator[str]:
    """Join what strace cut in two because another thread came between."""
    begun: dict[str, str] = {}
    for line in text.splitlines():
        thread = line.split(" ", 1)[0]
        if line.endswith(" <unfinished ...>"):
            begun[thread] = line[: -len(" <unfinished ...>")]
        elif " resumed>" in line:
            yield begun.pop(thread) + line.split(" resumed>", 1)[1]
        else:
            yield line


def _step(line: str, root: Path) -> Optional[str]:
    """Bring a line of strace to a form that does not depend on how the call was made; None for a look."""
    match = re.match(r"\d+\s+(\w+)\((.*)\)\s+= (-?\d+)", line)
    if match is None or str(root) not in line or int(match[3]) < 0:
        return None
    call = {"renameat2": "rename", "renameat": "rename", "linkat": "link", "unlinkat": "unlink"}.get(match[1], match[1])
    given = re.sub(r"AT_FDCWD<[^>]*>, |^\d+", "", match[2]).replace(str(root), "")
    given = re.sub(r"\b0x\w+|, 0$|O_CLOEXEC|O_NOFOLLOW|O_NONBLOCK|O_LARGEFILE|\|", "", given)
    if call == "openat" and "O_CREAT" not in given:
        return None
    if call == "fcntl" and "F_SETLEASE" not in given:
        return None
    if "LOCK_UN" in given:  # the lock of a file that is closed next: a forked child could still have it open
        return None
    given = re.sub(r'((?:pid|ino)\\":)\d+', r"\1N", given)
    if call == "write" and re.search(r"recolva-(lock|journal|pending)", given):
        # The numbers of processes and inodes have other lengths, and so other checksums.
        given = re.sub(r", \d+$", "", re.sub(r"[0-9a-f]{64}(?=\\n\", \d)", "SUM", given))
    return f"{call} {given}"


def _locks_sorted(found: list[str]) -> list[str]:
    """Put locks of data files that follow each other in order: they are taken in that of the inodes."""
    out: list[str] = []
    for step in found:
        out.append(step)
        at = len(out) - 1
        data = step.startswith("flock") and ".recolva-" not in step
        while (
            data
            and at
            and out[at - 1].startswith("flock </")
            and ".recolva-" not in out[at - 1]
            and out[at] < out[at - 1]
        ):
            out[at - 1], out[at] = out[at], out[at - 1]
            at -= 1
    return out


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace shows the system calls")
@pytest.mark.parametrize("name", SCENARIOS)
def test_same_steps(program, tmp_path, name):
    """Python makes the same changing system calls as Go, with the same bytes, in the same order.

    So a step of the Python side that is left out or moved shows here, and that each step of
    Go's is needed is proved there.
    """
    scenario = replace(SCENARIOS[name])
    traces = []
    for side, words in (
        ("go", lambda world: command(program, scenario, world)),
        ("py", lambda world: python_command(scenario, world)),
    ):
        (tmp_path / side).mkdir()
        world = World(scenario, tmp_path / side)
        traces.append(steps(words(world), tmp_path / side))
        world.check()
    assert traces[0] == traces[1]
    assert len(traces[0]) > 15


def held_sweep(root: Path, name: str, program: Optional[str]) -> tuple[Path, Path, dict[str, bytes]]:
    """Sweep a store that a writer holds open; return it, its archive, and the notes that are left."""
    store, archive = root / name, root / "elsewhere" / "a<r>&é"
    archive.parent.mkdir(parents=True)
    store.write_bytes(STORE)
    with store.open("ab") as writer:
        if program is None:
            with pytest.raises(CommittedUncertain, match="a writer still holds its old file open"):
                jsonl.archive_exponential_jsonl(store, archive, audit=root / "u", **ARGUMENTS)
        else:
            words = [program, "--input", str(store), "--archive", str(archive), "--audit", str(root / "u"), *POLICY]
            words += ["--mode", "archive", "--threshold", "0.5", "--lock-timeout", "0s"]
            assert run(words).returncode == 5
        writer.write(b'{"id":"late","last_accessed_ms":87400000}\n')
    notes = {}
    for path in root.rglob(".*.recolva-*"):
        if path.suffix.endswith(("journal", "pending")):
            text = path.read_bytes().replace(bytes(str(root), "utf-8"), b"ROOT")
            notes[str(path.relative_to(root))] = re.sub(rb'("ino":)\d+|[0-9a-f]{64}\n$', rb"\1", text)
    return store, archive, notes


@pytest.mark.parametrize("name", ["s", 'a "quoted" <name> & more', "caf\udce9", "ümlaut\n"])
def test_same_notes(program, tmp_path, monkeypatch, name):
    """Both leave the same journal and pointers for the same state, and each settles the other's."""
    try:
        (tmp_path / name).touch()
        (tmp_path / name).unlink()
    except OSError:
        pytest.skip("not a name on this file system")
    monkeypatch.setattr(recolva, "__version__", VERSION, raising=False)
    by_go = held_sweep(tmp_path / "go", name, program)
    by_python = held_sweep(tmp_path / "py", name, None)
    assert by_go[2] == by_python[2]
    assert len(by_go[2]) == 3
    done = recover_by_program(program, str(by_python[0]))
    assert done.returncode == 0, done.stderr
    said = jsonl.recover(by_go[1], lock_timeout=0)
    assert (said.committed, said.rolled_back, said.moved_bytes) == (1, 0, 42)
    for store, archive, _ in (by_go, by_python):
        assert store.read_bytes().splitlines()[-1] == b'{"id":"late","last_accessed_ms":87400000}'
        assert len(store.read_bytes().splitlines()) == 3
        assert len(archive.read_bytes().splitlines()) == 2
        assert not list(store.parent.rglob(".*.recolva-*"))
