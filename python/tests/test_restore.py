"""Archived records come back: the same files, byte for byte, as the program leaves."""

from __future__ import annotations

import itertools
import json
import subprocess
import threading

import pytest

import recolva
from recolva import jsonl
from recolva._system import System
from recolva.errors import InvalidArgument, InvalidArgumentType, Refused
from tests.crashes import ARGUMENTS, EARLIER, PRUNED, STORE, record, using
from tests.faults import Fault, Killed, Layer, lines_of
from tests.restores import Scene
from tests.test_crashes import EFFORT
from tests.twin import VERSION, build, run

LATE = record("late", old=False)


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    """The program, built once."""
    return build(tmp_path_factory.mktemp("program"))


@pytest.fixture
def swept(tmp_path, monkeypatch):
    """A function that makes a directory where a store was swept; it returns its files and the run."""
    monkeypatch.setattr(recolva, "__version__", VERSION, raising=False)

    def make(name, content=STORE):
        root = tmp_path / name
        root.mkdir()
        store, archive, audit = root / "s", root / "a", root / "u"
        store.write_bytes(content)
        archive.write_bytes(EARLIER[:-1])
        decisions = jsonl.archive_exponential_jsonl(store, archive, audit=audit, **ARGUMENTS)
        return store, archive, audit, decisions.run_id

    return make


def test_a_run_comes_back_byte_for_byte(swept):
    """If the store has not changed since the run, it is again what it was; then there is nothing to do."""
    store, archive, audit, run_id = swept("x")
    done = jsonl.restore(store, archive, run_id=run_id, audit=audit)
    assert (done.scanned, done.restored, done.placed, done.bytes) == (3, 2, "merged", len(PRUNED))
    assert store.read_bytes() == STORE
    assert archive.read_bytes() == EARLIER
    again = jsonl.restore(store, archive, run_id=run_id, audit=audit)
    assert again == (1, 0, "", 0, "")
    assert json.loads(audit.read_bytes().splitlines()[-1])["run_id"] == done.run_id
    assert jsonl.archive_exponential_jsonl(store, archive, **ARGUMENTS).pruned == 2
    assert sorted(path.name for path in store.parent.iterdir()) == ["a", "s", "u"]


def test_a_changed_store_is_appended_to(swept):
    """If the store has changed, the records come in the order of the archive."""
    store, archive, audit, run_id = swept("x")
    left = store.read_bytes()
    store.write_bytes(left + LATE)
    assert jsonl.restore(store, archive, run_id=run_id, audit=audit).placed == "appended"
    assert store.read_bytes() == left + LATE + PRUNED


def test_what_comes_meanwhile_is_there_once(swept, monkeypatch):
    """What a writer adds to the store while it is put back follows into the new one, and only once."""
    store, archive, audit, run_id = swept("x")
    rename = System.rename

    def late(self, path, other):
        if other != str(store):
            rename(self, path, other)
            return
        with store.open("ab") as out:
            rename(self, path, other)
            out.write(LATE)

    monkeypatch.setattr(System, "rename", late)
    assert jsonl.restore(store, archive, run_id=run_id, audit=audit).placed == "merged"
    assert store.read_bytes() == STORE + LATE
    assert archive.read_bytes() == EARLIER
    assert sorted(path.name for path in store.parent.iterdir()) == ["a", "s", "u"]


def test_a_run_of_another_store_is_refused(swept, tmp_path):
    """Stores that share archive and audit keep their records apart; ids lead through later runs."""
    store, archive, audit, run_id = swept("x")
    other = tmp_path / "x" / "o"
    other.write_bytes(record("other", old=False) + record("gone", old=True))
    jsonl.archive_exponential_jsonl(other, archive, audit=audit, **ARGUMENTS)
    before = [path.read_bytes() for path in (other, archive, audit)]
    with pytest.raises(Refused, match=f"^the store shares no record with run {run_id}: restore to the store that it"):
        jsonl.restore(other, archive, run_id=run_id, audit=audit)
    assert [path.read_bytes() for path in (other, archive, audit)] == before
    store.write_bytes(store.read_bytes() + LATE)
    jsonl.archive_exponential_jsonl(store, archive, audit=audit, **ARGUMENTS)
    store.write_bytes(LATE)
    assert jsonl.restore(store, archive, run_id=run_id, audit=audit).restored == 2
    assert store.read_bytes() == LATE + PRUNED


def test_a_line_that_is_being_written_is_not_split(swept):
    """While a program has written half a line, a restore waits, and adds nothing in its midst."""
    store, archive, audit, run_id = swept("x")
    left = store.read_bytes()
    with store.open("ab", buffering=0) as out:
        out.write(LATE[:10])
        with pytest.raises(
            Refused, match="ends within a line, and a program has it open for writing: what is restored"
        ):
            jsonl.restore(store, archive, run_id=run_id, audit=audit, lock_timeout=0.05)
        assert store.read_bytes() == left + LATE[:10]
        finish = threading.Timer(0.2, out.write, (LATE[10:],))
        finish.start()
        assert jsonl.restore(store, archive, run_id=run_id, audit=audit).placed == "appended"
        finish.join()
    assert store.read_bytes() == left + LATE + PRUNED


def test_ids_come_back(swept):
    """By ids every record with one of them comes back, whichever run archived it."""
    store, archive, _, _ = swept("x")
    left = store.read_bytes()
    assert jsonl.restore(store, archive, ids=["c", "earlier", "none"]).restored == 2
    assert store.read_bytes() == left + EARLIER + record("c", old=True)
    assert archive.read_bytes() == record("a", old=True)


def test_what_does_not_fit_is_refused(swept):
    """Unknown runs, damaged audits, a changed archive and odd arguments leave all as it is."""
    store, archive, audit, run_id = swept("x")
    before = [path.read_bytes() for path in (store, archive, audit)]
    for options, error, text in (
        ({"run_id": "0" * 16, "audit": audit}, InvalidArgument, "is not in the audit"),
        ({"run_id": run_id}, InvalidArgument, "audit is required with run_id"),
        ({}, InvalidArgument, "restore needs either run_id or ids"),
        ({"ids": "abc"}, InvalidArgumentType, "ids must be several strings, got str"),
        ({"ids": [1]}, InvalidArgumentType, "ids must be strings"),
    ):
        with pytest.raises(error, match=text):
            jsonl.restore(store, archive, **options)
    with pytest.raises(Refused, match="are the same file"):
        jsonl.restore(store, store, ids=["a"])
    assert [path.read_bytes() for path in (store, archive, audit)] == before
    audit.write_bytes(before[2].replace(b'"id":"a"', b'"id":"x"'))
    with pytest.raises(Refused, match="the lines before it are not those that run"):
        jsonl.restore(store, archive, run_id=run_id, audit=audit)
    audit.write_bytes(before[2])
    archive.write_bytes(EARLIER)
    with pytest.raises(Refused, match="does not hold the 2 records"):
        jsonl.restore(store, archive, run_id=run_id, audit=audit)
    assert store.read_bytes() == before[0]


@pytest.mark.parametrize("by", ["run", "ids"])
def test_a_killed_restore_is_all_or_nothing(swept, by):
    """Killed at any call, a restore leaves each record in one place once the next run has looked."""
    at, ended = 0, False
    while not ended:
        at += 1
        store, archive, audit, run_id = swept(str(at))
        options = {"run_id": run_id} if by == "run" else {"ids": ["a", "c"]}
        layer = Layer(System(), Fault(at, "torn" if at % 2 else "kill"))
        try:
            with using(layer):
                jsonl.restore(store, archive, audit=audit, **options)
            ended = True
        except Killed:
            pass
        layer.end()
        for path in ((store, archive), (archive, store))[at % 2]:
            jsonl.recover(path)
        assert lines_of(store.read_bytes(), archive.read_bytes()) == lines_of(STORE, EARLIER)
        back = b'"mode":"restore"' in audit.read_bytes()
        assert (lines_of(store.read_bytes()) == lines_of(STORE)) == back
        assert sorted(path.name for path in store.parent.iterdir()) == ["a", "s", "u"]
    assert at > 40


def changed(store, archive, audit, run_id):
    """Add to the store, so that nothing merges."""
    store.write_bytes(store.read_bytes() + LATE)


def archive_grew(store, archive, audit, run_id):
    """Add to the archive, so that the run is no longer at its end."""
    jsonl.append(archive, record("x", old=True))


def part(store, archive, audit, run_id):
    """Restore one record before by its id."""
    jsonl.restore(store, archive, audit=audit, ids=["c"])


def untouched(store, archive, audit, run_id):
    """Change nothing."""


@pytest.mark.parametrize("before", [untouched, changed, archive_grew, part])
@pytest.mark.parametrize(
    "content", [STORE, STORE[:-1], b"\xef\xbb\xbf" + STORE, record("z", old=False) + b"\n" + STORE + EARLIER[:-1]]
)
@pytest.mark.parametrize("by", ["run", "ids"])
def test_as_the_program_does(program, swept, before, content, by):
    """Python and the program leave the same store, archive and audit, and name the run alike."""
    results = []
    for side in ("go", "py"):
        store, archive, audit, run_id = swept(side, content)
        before(store, archive, audit, run_id)
        if side == "py":
            options = {"run_id": run_id} if by == "run" else {"ids": ["a", "x"]}
            name = jsonl.restore(store, archive, audit=audit, **options).run_id
        else:
            words = [program, "restore", "--input", store, "--archive", archive, "--audit", audit, "--json"]
            words += ["--run", run_id] if by == "run" else ["--id", "a", "--id", "x"]
            done = run([str(word) for word in words])
            assert done.returncode == 0, done.stderr
            name = json.loads(done.stdout)["run_id"]
        results.append([name, *(path.read_bytes() for path in (store, archive, audit))])
        checked = subprocess.run(
            [program, "verify", "--input", store, "--archive", archive, "--audit", audit],
            capture_output=True,
            check=False,
        )
        results[-1].append(checked.returncode)
    assert results[0] == results[1]


@pytest.mark.parametrize("by_run", [False, True])
def test_a_restore_that_is_stopped_beside_a_writer(tmp_path, by_run):
    """Somebody appends to the store without the lock, and the restore dies or fails: it is undone or finished."""
    calls = len(Scene(tmp_path / "plain", by_run=by_run).restore(Fault()).calls)
    kinds = ("kill", "torn", "error")
    for at, extra in itertools.product(range(1, calls + 1), range(EFFORT)):
        number = (at + by_run + extra) % 3
        scene = Scene(tmp_path / f"{at}.{extra}", by_run=by_run)
        scene.restore(Fault(at, kinds[number]), max(1, at - 3 * number), 1 + number)
        if kinds[number] != "error":
            scene.append()
        scene.recover(scene.audit if number else scene.store, scene.archive, scene.store)
        scene.check()


def test_a_long_restore_beside_a_writer(tmp_path):
    """Lines that come between the writes of a restore stop it no more than others."""
    scene = Scene(tmp_path / "long", by_run=False, long=3000)
    calls = Scene(tmp_path / "plain", by_run=False, long=3000).restore(Fault()).calls
    writes = [number for number, call in enumerate(calls, 1) if call == "write s"]
    assert len(writes) == 3
    with scene.store.open("ab", buffering=0) as scene.writer:
        scene.restore(Fault(), writes[1], 2)
    assert len(scene.appended) == 2
    scene.check()
    assert not scene.archive.read_bytes()
    for number, kind in ((1, "kill"), (2, "torn"), (2, "error")):
        scene = Scene(tmp_path / f"{number}{kind}", by_run=False, long=3000)
        with scene.store.open("ab", buffering=0) as scene.writer:
            scene.restore(Fault(writes[number], kind), writes[1], 2)
            scene.append()
        scene.recover(scene.store, scene.archive)
        scene.check()
        assert not scene.archive.read_bytes(), kind
