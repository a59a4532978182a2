"""What a sweep refuses: aliases, odd kinds and names, foreign notes and locks, stores that changed meanwhile."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from recolva import _journal, _kernel_calls, jsonl
from recolva._locks import Deadline, lock_all
from recolva._places import Place
from recolva._system import SYSTEM, System
from recolva.errors import InvalidArgumentType, NeedsRecovery, Refused

if TYPE_CHECKING:
    from collections.abc import Callable

from tests.homes import ARGUMENTS, NEW, OLD, archive, contents

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, modes and locks of POSIX")


def test_aliases_are_refused(home: Path) -> None:
    """One file in two roles is refused whatever its names: symlink, hard link, other spelling."""
    store = home / "store.jsonl"
    (home / "link").symlink_to(store)
    (home / "alias").symlink_to(home, target_is_directory=True)
    before = contents(home)
    for other in (store, home / "." / "store.jsonl", home / "link", home / "alias" / "store.jsonl"):
        with pytest.raises(Refused, match=r"^input .* and archive .* are the same file$"):
            jsonl.archive_exponential_jsonl(store, other, **ARGUMENTS)
        with pytest.raises(Refused, match=r"^input .* and audit .* are the same file$"):
            jsonl.scan_exponential_jsonl(store, audit=other, **ARGUMENTS)
    missing = home / "alias" / "both.jsonl"
    with pytest.raises(Refused, match=r"^archive .* and audit .* are the same file$"):
        archive(home, audit=home / "archive.jsonl")
    with pytest.raises(Refused, match=r"^archive .* and audit .* are the same file$"):
        jsonl.archive_exponential_jsonl(store, home / "both.jsonl", audit=missing, **ARGUMENTS)
    assert contents(home) == before


def test_hard_links_are_refused(home: Path) -> None:
    """A store, archive or audit with another name is not changed; a dry-run may read it."""
    store = home / "store.jsonl"
    os.link(store, home / "other")
    with pytest.raises(Refused, match="has 2 hard links: the other names would keep the old content$"):
        jsonl.delete_exponential_jsonl(store, **ARGUMENTS)
    assert jsonl.scan_exponential_jsonl(store, **ARGUMENTS).pruned == 1
    assert contents(home) == {"other": OLD + NEW, "store.jsonl": OLD + NEW}


def test_only_plain_files(home: Path) -> None:
    """Directories, FIFOs and devices are refused in any role, without waiting for them."""
    os.mkfifo(home / "fifo")
    for path, kind in ((home / "fifo", "a FIFO"), (home, "a directory"), ("/dev/null", "a device")):
        with pytest.raises(Refused, match=rf"^input .* is {kind}, not a regular file$"):
            jsonl.scan_exponential_jsonl(path, **ARGUMENTS)
        with pytest.raises(Refused, match=rf"^audit .* is {kind}, not a regular file$"):
            archive(home, audit=path)
    assert contents(home) == {"store.jsonl": OLD + NEW}


def test_directory_names_are_refused(home: Path) -> None:
    """A name that ends like a directory's is not taken for a file's."""
    with pytest.raises(Refused, match=r"^audit .*/logs/ names a directory, not a file$"):
        archive(home, audit=f"{home}/logs/")
    assert contents(home) == {"store.jsonl": OLD + NEW}


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_what_has_no_name_is_refused(home: Path) -> None:
    """A pipe, and an open file that was removed, are refused in plain words."""
    reader, writer = os.pipe()
    gone = os.open(home / "gone", os.O_CREAT | os.O_RDONLY)
    os.unlink(home / "gone")
    try:
        for fd in (reader, gone):
            with pytest.raises(FileNotFoundError, match="an open file or pipe that has no name"):
                jsonl.scan_exponential_jsonl(f"/proc/self/fd/{fd}", **ARGUMENTS)
    finally:
        for fd in (reader, writer, gone):
            os.close(fd)


@pytest.mark.parametrize("victim", ["victim", "store.jsonl"])
@pytest.mark.parametrize("locked", ["store.jsonl", "archive.jsonl", "audit.jsonl"])
def test_a_planted_lock_is_not_written_into(home: Path, victim: str, locked: str) -> None:
    """A lock file that is another name of some file, be it the store, is left alone."""
    (home / "victim").write_bytes(b"precious")
    lock = home / f".{locked}.recolva-lock"
    os.link(home / victim, lock)
    before = contents(home)
    with pytest.raises(Refused, match=r"has 2 names \(hard links\)"):
        archive(home)
    assert contents(home) == before


@pytest.mark.parametrize("role", ["archive", "audit"])
@pytest.mark.parametrize(("size", "fits"), [(234, True), (235, False), (241, False), (255, False)])
def test_long_names(home: Path, role: str, size: int, fits: bool) -> None:
    """A name is taken up to the length that leaves room for the files beside it."""
    names = {"archive": "archive.jsonl", "audit": "audit.jsonl", role: "n" * size}

    def sweep() -> object:
        store, target = home / "store.jsonl", home / names["archive"]
        return jsonl.archive_exponential_jsonl(store, target, audit=home / names["audit"], **ARGUMENTS)

    if fits:
        sweep()
        assert set(contents(home)) == {"store.jsonl", *names.values()}
    else:
        with pytest.raises(Refused, match=rf"^{role} .* has a name of {size} bytes, .* leave room for 234$"):
            sweep()
        assert contents(home) == {"store.jsonl": OLD + NEW}


def test_missing_files_are_os_errors(home: Path) -> None:
    """What the system reports passes as it is, with the name."""
    with pytest.raises(FileNotFoundError) as caught:
        jsonl.scan_exponential_jsonl(home / "none.jsonl", **ARGUMENTS)
    assert caught.value.filename == str(home / "none.jsonl")
    with pytest.raises(FileNotFoundError):
        archive(home, audit=home / "none" / "audit.jsonl")
    assert contents(home) == {"store.jsonl": OLD + NEW}


@pytest.mark.parametrize("change", ["replace", "truncate", "rewrite"])
def test_rewritten_store_is_refused(home: Path, change: str) -> None:
    """A store that is no longer the one that was read is left as it is now."""
    store = home / "store.jsonl"

    def rewrite(_done: int, _total: int) -> None:
        if change == "replace":
            (home / "x").write_bytes(OLD + NEW)
            (home / "x").rename(store)
        elif change == "truncate":
            os.truncate(store, len(OLD))
        else:
            store.write_bytes(NEW + OLD)
            os.utime(store, ns=(1, 1))

    text = {
        "replace": "replaced meanwhile",
        "truncate": "cut meanwhile, from 83 to 42 bytes",
        "rewrite": "rewritten meanwhile",
    }
    with pytest.raises(Refused, match=rf"^input .*store\.jsonl was {text[change]}$"):
        archive(home, progress=rewrite)
    assert list(contents(home)) == ["store.jsonl"]


def test_busy_store_is_refused(home: Path) -> None:
    """Two sweeps exclude each other; who waits too long says who holds the lock."""
    locks = lock_all(SYSTEM, [Place(str(home / "store.jsonl"))], Deadline(SYSTEM, 0))
    try:
        text = rf"store\.jsonl is busy: process {os.getpid()} holds it \(waited 50ms\)$"
        with pytest.raises(Refused, match=text):
            archive(home)
        assert jsonl.scan_exponential_jsonl(home / "store.jsonl", **ARGUMENTS).pruned == 1
    finally:
        locks.release()
    assert archive(home).pruned == 1


def test_directories_are_not_cleaned_up(home: Path) -> None:
    """A directory that has the name of a temporary file is left alone, though it is empty."""
    for suffix in ("new", "add", "aud", "old", "journal.tmp", "next", "prior", "pending.tmp"):
        directory = home / f".store.jsonl.recolva-{suffix}"
        directory.mkdir()
        with pytest.raises(Refused, match="is a directory, and would have the name of a temporary file"):
            jsonl.recover(home / "store.jsonl")
        directory.rmdir()


def test_no_foreign_journal_is_followed(home: Path) -> None:
    """A journal that is damaged, planted or of another store stops everything; nothing changes."""
    journal, victim = home / ".store.jsonl.recolva-journal", home / "victim"
    victim.write_bytes(b"precious\n")
    own: dict[str, Any] = {"role": "archive", "path": "victim", "mode": "append", "existed": True, "ino": 0, "size": 0}
    own.update(joint=False, bytes=9, sha256="", next_ino=0)
    good = _journal.Journal(1, _journal.Name("store.jsonl"), targets=[_journal.Target(**own)])

    def other() -> None:
        (home / "elsewhere").write_bytes(_journal.encode(good))
        os.link(home / "elsewhere", journal)

    def mark() -> int:
        pointer = _journal.Pointer(1, _journal.Name("store.jsonl"))
        (home / ".victim.recolva-pending").touch(0o600)
        return (home / ".victim.recolva-pending").write_bytes(_journal.encode(pointer))

    cases: dict[str, tuple[Callable[[], object], str]] = {
        "no note": (lambda: journal.write_bytes(b"{}"), "is damaged: its checksum does not match$"),
        "shared": (
            lambda: journal.write_bytes(_journal.encode(good)) and journal.chmod(0o666),
            "can be written by others",
        ),
        "linked": (other, r"has other names \(hard links\)"),
        "directory": (journal.mkdir, "is a directory"),
        "symlink": (lambda: journal.symlink_to(victim), "cannot be read"),
        "large": (
            lambda: os.truncate(os.open(journal, os.O_CREAT | os.O_RDWR, 0o600), 2**20 + 1),
            "is longer than 1048576",
        ),
        "version": (
            lambda: journal.write_bytes(_journal.encode(replace(good, recolva=2))),
            "its version is 2, this program knows 1",
        ),
        "home": (
            lambda: journal.write_bytes(_journal.encode(replace(good, home=_journal.Name("x")))),
            "it belongs to x",
        ),
        "copied": (lambda: journal.write_bytes(_journal.encode(good)), "concerns it, and the sweep cannot be finished"),
        "victim": (
            lambda: mark() and journal.write_bytes(_journal.encode(good)),
            "is not the file that an unfinished sweep of",
        ),
        "own file": (lambda: _plant(good, journal, victim), "has bytes after offset 0 that an unfinished sweep of"),
    }
    for plant, text in cases.values():
        plant()
        if journal.is_file() and not journal.is_symlink() and "written by others" not in text:
            journal.chmod(0o600)
        for call in (lambda: archive(home), lambda: jsonl.recover(home / "store.jsonl")):
            with pytest.raises(NeedsRecovery, match=text):
                call()
        assert victim.read_bytes() == b"precious\n"
        assert (home / "store.jsonl").read_bytes() == OLD + NEW
        (journal.rmdir if journal.is_dir() else journal.unlink)()
        (home / "elsewhere").unlink(missing_ok=True)


def _plant(good: _journal.Journal, journal: Path, victim: Path) -> None:
    """Plant a journal that names a victim as it is, to be cut to nothing."""
    target = replace((good.targets or [])[0], ino=victim.stat().st_ino)
    journal.write_bytes(_journal.encode(replace(good, targets=[target])))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_a_journal_of_another_user_is_not_followed(home: Path) -> None:
    """A journal of another user is not followed, whatever it says."""
    journal = home / ".store.jsonl.recolva-journal"
    journal.write_bytes(_journal.encode(_journal.Journal(1, _journal.Name("store.jsonl"))))
    journal.chmod(0o600)
    os.chown(journal, 1234, 1234)
    with pytest.raises(NeedsRecovery, match="belongs to user 1234, not to the user of this process"):
        archive(home)


def test_a_network_file_system_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where locks may not hold nothing is changed, unless insisted on; a dry-run may read."""
    monkeypatch.setattr(System, "network", lambda self, directory: "NFS")
    with pytest.raises(Refused, match=r"^input .* is on a network file system \(NFS\), where locks may not hold$"):
        archive(home)
    assert jsonl.scan_exponential_jsonl(home / "store.jsonl", **ARGUMENTS).pruned == 1
    with pytest.raises(InvalidArgumentType, match="allow_network_fs must be a bool, got int"):
        archive(home, allow_network_fs=1)
    assert archive(home, allow_network_fs=True).pruned == 1


def test_network_file_systems_are_those_of_go() -> None:
    """The table of network file systems has the entries of the Go one."""
    source = (Path(__file__).parents[2] / "internal/storefs/os_linux.go").read_text()
    pairs = re.findall(r'(0x[0-9A-F]+): "(\w+)"', source)
    assert {int(number, 16): name for number, name in pairs} == _kernel_calls.NETWORK_MAGIC
