"""What a sweep does when somebody interferes with the files that it keeps beside the others."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from recolva import _system, _transaction, jsonl
from recolva._places import Files, Place
from recolva._system import System
from recolva.errors import NeedsRecovery, Refused
from tests.homes import LATE, NEW, OLD, archive, contents

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks and inode numbers of POSIX")


def begin(home: Path) -> _transaction.Transaction:
    """Begin a sweep of the store into the archive."""
    files = Files(home / "store.jsonl", home / "archive.jsonl", mutate=True)
    return _transaction.Transaction(files, _transaction.Options(0))


def side(home: Path, name: str, suffix: str) -> Path:
    """Return a companion of a file."""
    return home / os.path.basename(Place(name).side(suffix))


def kill_sweep(home: Path, *, committed: bool) -> None:
    """Sweep in a process that ends right before or after its commit."""
    pid = os.fork()
    if pid == 0:
        rename = System.rename

        def last(self: System, path: str, other: str) -> None:
            if committed or not other.endswith("/store.jsonl"):
                rename(self, path, other)
            if other.endswith("/store.jsonl"):
                os._exit(0)

        try:
            System.rename = last  # type: ignore[method-assign]
            archive(home)
        finally:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0


def test_a_lock_file_taken_away(home: Path) -> None:
    """A sweep whose lock file was taken away gives way to the next, and touches nothing of it."""
    first = begin(home)
    first.read(1 << 20)
    assert first.retained is not None
    assert first.pruned is not None
    first.retained.write(NEW)
    first.pruned.write(OLD)
    for name in ("store.jsonl", "archive.jsonl"):
        side(home, name, "lock").unlink()
    second = begin(home)
    with pytest.raises(Refused, match="was removed by another program while it was held"):
        first.commit(None, None)
    for suffix in ("lock", "new", "add"):
        assert side(home, "store.jsonl", suffix).exists()
    second.rollback()
    assert contents(home) == {"store.jsonl": OLD + NEW}


def test_a_staged_file_of_another_run(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that another run staged never takes the store's place."""
    link = System.link

    def linked(self: System, path: str, other: str) -> None:
        link(self, path, other)
        staged = side(home, "store.jsonl", "new")
        staged.unlink()
        staged.write_bytes(b"")

    monkeypatch.setattr(System, "link", linked)
    with pytest.raises(NeedsRecovery, match="was replaced meanwhile"):
        archive(home)
    assert (home / "store.jsonl").read_bytes() == OLD + NEW


def test_the_number_of_the_old_store(home: Path) -> None:
    """A swept store that got the inode number of the unswept one, on another disk, is not taken for it."""
    kill_sweep(home, committed=True)
    old, store = side(home, "store.jsonl", "old"), home / "store.jsonl"
    old.write_bytes(store.read_bytes())
    old.replace(store)
    with pytest.raises(NeedsRecovery, match="has the inode number, but not the content"):
        jsonl.recover(store)
    assert store.read_bytes() == NEW
    assert (home / "archive.jsonl").read_bytes() == OLD


def test_an_archive_cut_in_place(home: Path) -> None:
    """An archive that somebody cut in place, so that our lines are elsewhere in it, is left to a person."""
    store, kept = home / "store.jsonl", home / "archive.jsonl"
    kept.write_bytes(b"earlier\nmore\n")
    kill_sweep(home, committed=False)
    kept.write_bytes(kept.read_bytes()[len(b"earlier\n") :])
    with pytest.raises(NeedsRecovery, match="was changed in place"):
        jsonl.recover(store)
    assert store.read_bytes() == OLD + NEW
    assert kept.read_bytes() == b"more\n" + OLD


def test_the_journal_of_a_copy(home: Path) -> None:
    """A journal without its mark beside the archive, as in a copy of the store, takes nothing from it."""
    kept = home / "archive.jsonl"
    kept.write_bytes(b"earlier\n")
    kill_sweep(home, committed=False)
    side(home, "archive.jsonl", "pending").unlink()
    assert jsonl.recover(home / "store.jsonl").committed
    assert (home / "store.jsonl").read_bytes() == NEW
    assert kept.read_bytes() == b"earlier\n" + OLD


def test_a_damaged_stage(home: Path) -> None:
    """What was staged is not used if it is no longer what it was."""
    kept, staged = home / "archive.jsonl", side(home, "store.jsonl", "add")
    kill_sweep(home, committed=False)
    staged.write_bytes(staged.read_bytes().replace(b"id", b"ID"))
    with kept.open("ab") as file:
        file.write(LATE)
    with pytest.raises(NeedsRecovery, match="is damaged"):
        jsonl.recover(home / "store.jsonl")
    assert kept.read_bytes() == OLD + LATE


@pytest.mark.parametrize("changed", [b"earlier\n", b"changed\n"])
def test_a_change_in_one_tick_before_replacing(home: Path, monkeypatch: pytest.MonkeyPatch, changed: bytes) -> None:
    """A file that is to be replaced is looked at once more where its times cannot tell that it changed."""
    archived = home / "archive.jsonl"
    archived.write_bytes(b"earlier\n")
    made = _system._info

    def timeless(found: os.stat_result) -> _system.Info:
        return made(found)._replace(modified_ns=0, changed_ns=0)

    monkeypatch.setattr(_system, "_info", timeless)
    files = Files(home / "store.jsonl", archived, archive_mode="replace", mutate=True)
    transaction = _transaction.Transaction(files, _transaction.Options(0))
    assert transaction.retained is not None
    assert transaction.pruned is not None
    transaction.read(1 << 20)
    transaction.retained.write(NEW)
    transaction.pruned.write(OLD)
    archived.write_bytes(changed)
    if changed == b"earlier\n":
        transaction.commit(None, None)
        assert contents(home) == {"store.jsonl": NEW, "archive.jsonl": OLD}
    else:
        with pytest.raises(Refused, match="was changed meanwhile"):
            transaction.commit(None, None)
        assert contents(home) == {"store.jsonl": OLD + NEW, "archive.jsonl": changed}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounts a disk")
@pytest.mark.skipif(sys.platform != "linux", reason="mounts of Linux")
def test_a_hint_on_a_read_only_disk(home: Path) -> None:
    """A killed run that had changed nothing does not bind its store to a disk that is read-only by now."""
    disk = home / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", str(disk)], check=False).returncode:  # noqa: S607
        pytest.skip("no mount is allowed here")
    try:
        side(disk, "archive.jsonl", "lock").touch()
        side(home, "store.jsonl", "lock").write_text(f'{{"pid":1,"with":["{disk}/archive.jsonl"]}}\n')
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)  # noqa: S607
        jsonl.recover(home / "store.jsonl")
        archive(home)
    finally:
        subprocess.run(["umount", str(disk)], check=True)  # noqa: S607
    assert (home / "store.jsonl").read_bytes() == NEW
