"""What a sweep promises about files: modes, locks, growth, failures half way."""

from __future__ import annotations

import ctypes
import hashlib
import multiprocessing
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from recolva import _journal, _kernel_calls, _system, _transaction, jsonl
from recolva._drain import find_piece
from recolva._locks import duration
from recolva._places import Files, Place
from recolva._standing import next_lines
from recolva._system import SYSTEM, System
from recolva.errors import CommittedUncertain, InvalidRecord, Refused
from tests.homes import ARGUMENTS, DAY, LATE, NEW, NOW, OLD, archive, contents

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, modes and locks of POSIX")


def test_symlink_keeps_pointing(home: Path) -> None:
    """A store behind a symbolic link is changed where it is; the link stays a link."""
    (home / "real").mkdir()
    (home / "store.jsonl").rename(home / "real" / "store.jsonl")
    (home / "store.jsonl").symlink_to("real/store.jsonl")
    archive(home)
    assert (home / "store.jsonl").is_symlink()
    assert contents(home / "real") == {"store.jsonl": NEW}


def test_a_path_leads_where_the_system_follows_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a symbolic link, ".." is the parent of what the link names."""
    home = home.resolve()
    (home / "x").mkdir()
    (home / "other" / "sub").mkdir(parents=True)
    (home / "x" / "link").symlink_to("../other/sub")
    (home / "other" / "store").write_bytes(OLD)
    monkeypatch.chdir(home / "x" / "link")
    for name in ("store", "new"):
        for path in (f"{home}/x/link/../{name}", f"../{name}", f"../../x/link/../{name}"):
            assert SYSTEM.real_path(path) == str(home / "other" / name)
    for path in (f"{home}/none/../x", f"{home}/none/new"):
        with pytest.raises(FileNotFoundError):
            SYSTEM.real_path(path)


def test_mode_owner_and_attributes_stay(home: Path) -> None:
    """The new store has the mode, owner and attributes of the old; new files get them from it."""
    store = home / "store.jsonl"
    store.chmod(0o640)
    attributes = hasattr(os, "setxattr")
    if attributes:
        os.setxattr(store, "user.origin", b"test")
    if os.geteuid() == 0:
        os.chown(store, 1234, 1234)
    before = store.stat()
    archive(home)
    for name in ("store.jsonl", "archive.jsonl", "audit.jsonl"):
        info = (home / name).stat()
        assert (info.st_mode, info.st_uid, info.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert not attributes or os.getxattr(store, "user.origin") == b"test"


def test_lines_appended_meanwhile_are_carried_over(home: Path) -> None:
    """What another process appends while a sweep runs stays in the store, undecided."""
    store = home / "store.jsonl"

    def append(done: int, total: int) -> None:
        if done == total:
            jsonl.append(store, LATE[:-1])

    decisions = archive(home, progress=append)
    assert [d.id for d in decisions] == ["old", "new"]
    assert contents(home)["store.jsonl"] == NEW + LATE
    assert contents(home)["archive.jsonl"] == OLD


def test_undecided_last_line_is_carried_over(home: Path) -> None:
    """A last line without newline is not decided if the file grew, be it torn or old."""
    store = home / "store.jsonl"
    for last, rest in ((b'{"id":"x","la', b'st_accessed_ms":87400000}\n'), (OLD[:-1], b"\n" + LATE)):
        store.write_bytes(OLD + NEW + last)

        def append(done: int, _total: int, rest: bytes = rest) -> None:
            if done == len(OLD + NEW):  # the whole lines are done, the last one is not
                with store.open("ab") as out:
                    out.write(rest)

        decisions = archive(home, progress=append)
        assert [d.id for d in decisions] == ["old", "new"]
        assert store.read_bytes() == NEW + last + rest


def test_torn_last_line_that_shrinks_again(home: Path) -> None:
    """A torn last line that grew, and was cut back to its length, is an invalid line."""
    store = home / "store.jsonl"
    before = OLD + NEW + b'{"id":"x","la'
    store.write_bytes(before)

    def change(done: int, total: int) -> None:
        if done < total:
            with store.open("ab") as out:
                out.write(b"st")
        else:
            os.truncate(store, len(before))

    with pytest.raises(InvalidRecord, match=r"^line 3: .*interrupted append") as caught:
        archive(home, progress=change)
    assert caught.value.line == 3
    assert contents(home) == {"store.jsonl": before}


def test_invalid_record_leaves_no_trace(home: Path) -> None:
    """A sweep that stops at a line removes what it staged, and its lock."""
    (home / "store.jsonl").write_bytes(OLD + b"{}\n")
    with pytest.raises(InvalidRecord):
        archive(home)
    assert contents(home) == {"store.jsonl": OLD + b"{}\n"}


def test_failing_progress_leaves_no_trace(home: Path) -> None:
    """An error of the caller's own function reaches the caller, and nothing changes."""
    with pytest.raises(ZeroDivisionError):
        archive(home, progress=lambda _done, _total: 1 // 0)
    assert contents(home) == {"store.jsonl": OLD + NEW}


def test_leftovers_of_a_dead_run_are_removed(home: Path) -> None:
    """Staged files have fixed names: recover and the next sweep remove them."""
    for name in ("new", "add", "aud"):
        (home / f".store.jsonl.recolva-{name}").write_bytes(b"x")
    assert jsonl.recover(home / "store.jsonl")
    assert not jsonl.recover(home / "store.jsonl")
    (home / ".store.jsonl.recolva-new").write_bytes(b"x")
    archive(home)
    assert list(contents(home)) == ["archive.jsonl", "audit.jsonl", "store.jsonl"]


def test_audit_blocks_form_a_chain(home: Path) -> None:
    """Each run line names the SHA-256 of the block before it; the run id depends on it."""
    audit = home / "audit.jsonl"
    runs = [jsonl.scan_exponential_jsonl(home / "store.jsonl", audit=audit, **ARGUMENTS).run_id for _ in range(3)]
    lines = audit.read_bytes().splitlines(keepends=True)
    assert len(lines) == 9
    assert len(set(runs)) == 3
    assert b'"prev":"' + b"0" * 64 in lines[2]
    assert hashlib.sha256(lines[2] + lines[3] + lines[4]).hexdigest().encode() not in lines[5]
    assert hashlib.sha256(lines[2]).hexdigest().encode() in lines[5]
    assert hashlib.sha256(lines[5]).hexdigest().encode() in lines[8]
    assert contents(home)["store.jsonl"] == OLD + NEW


@pytest.mark.parametrize("links", [True, False])
def test_a_scan_makes_its_audit(home: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    """A new audit gets its name by a hard link, or is copied where the file system has none."""
    linked: list[str] = []

    def link(_system: System, path: str, other: str) -> None:
        if not links:
            raise PermissionError(1, "no links")
        os.link(path, other)
        linked.append(os.path.basename(other))

    monkeypatch.setattr(System, "link", link)
    jsonl.scan_exponential_jsonl(home / "store.jsonl", audit=home / "audit.jsonl", **ARGUMENTS)
    assert linked == [".audit.jsonl.recolva-prior", "audit.jsonl"][: 2 * links]
    assert contents(home)["audit.jsonl"].count(b"\n") == 3
    assert sorted(contents(home)) == ["audit.jsonl", "store.jsonl"]


def test_paths_are_shown_safely(home: Path) -> None:
    """A path with control characters reaches an error text escaped."""
    path = home / "a\x1b[2J\n"
    path.mkdir()
    with pytest.raises(Refused) as caught:
        jsonl.scan_exponential_jsonl(path, **ARGUMENTS)
    assert str(caught.value).isprintable()


def _append_many(path: str, writer: int, count: int) -> None:
    for number in range(count):
        jsonl.append(path, {"id": f"{writer}-{number}", "last_accessed_ms": NOW if number % 2 else -DAY})


def test_no_append_is_lost_to_sweeps(home: Path) -> None:
    """Writers that use append lose nothing to sweeps that run beside them, and repeat nothing."""
    store, count = home / "store.jsonl", 150
    store.write_bytes(b"")
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_append_many, args=(str(store), writer, count)) for writer in range(2)]
    for process in writers:
        process.start()
    while any(process.is_alive() for process in writers):
        archive(home, lock_timeout=10)
    for process in writers:
        process.join()
    archive(home)
    kept = contents(home)["store.jsonl"] + contents(home)["archive.jsonl"]
    wanted = sorted(f"{writer}-{number}" for writer in range(2) for number in range(count))
    assert sorted(line.split(b'"')[3].decode() for line in kept.splitlines()) == wanted
    assert list(contents(home)) == ["archive.jsonl", "audit.jsonl", "store.jsonl"]


def test_sweeps_in_opposite_directions_do_not_deadlock(home: Path) -> None:
    """Moving from A to B and from B to A at once ends: locks are taken in one order."""
    (home / "other.jsonl").write_bytes(OLD + NEW)
    errors: list[BaseException] = []

    def move(source: str, target: str) -> None:
        try:
            for _ in range(10):
                jsonl.archive_exponential_jsonl(home / source, home / target, **{**ARGUMENTS, "lock_timeout": 10})
        except BaseException as error:
            errors.append(error)

    threads = [
        threading.Thread(target=move, args=names)
        for names in (("store.jsonl", "other.jsonl"), ("other.jsonl", "store.jsonl"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not errors
    both = contents(home)["store.jsonl"] + contents(home)["other.jsonl"]
    assert sorted(both.splitlines(keepends=True)) == sorted([OLD, OLD, NEW, NEW])


def test_recover_takes_a_name_without_a_file(home: Path) -> None:
    """Where an interrupted run was to make a file, its name leads to what it left."""
    (home / ".new.jsonl.recolva-aud").write_bytes(b"x")
    assert jsonl.recover(home / "new.jsonl").found
    assert not jsonl.recover(home / "new.jsonl").found
    assert sorted(contents(home)) == ["store.jsonl"]


def test_notes_of_every_shape_are_read_or_refused() -> None:
    """What a note of the journal says comes back; a value that is missing, unknown or odd does not."""
    piece = _journal.Piece(9, 2**64 - 1, 3, joint=True, sha256="c")
    name = _journal.name_from(Place("/d/s"), Place("/d/\udce9<&>.é"))
    journal = _journal.Journal(
        1,
        name,
        True,
        _journal.OldInput(5, 6, open=False, sha256="a"),
        _journal.NewInput(7, 8, "b"),
        [_journal.Target("audit", name, "append")],
        _journal.Drain("old", 4, piece),
    )
    data = _journal.encode(journal)
    form = _journal._decode(data)
    assert _journal._build(_journal.Journal, form) == journal
    assert _journal.place_of(name, Place("/d/s")) == Place("/d/\udce9<&>.é")
    assert b'"home":"\\u00c3' not in data
    assert b"\\u003c\\u0026\\u003e" in data
    for key, value in (("home", "\u0100"), ("recolva", True), ("old", {}), ("targets", {}), ("drain", 1), ("x", 1)):
        with pytest.raises((ValueError, TypeError)):
            _journal._build(_journal.Journal, {**form, key: value})
    with pytest.raises(ValueError, match="new is missing"):
        _journal._build(_journal.Journal, {key: value for key, value in form.items() if key != "new"})


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is the file system that every Linux has")
def test_kinds_of_file_systems_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number that the kernel gives a file system is found, and told from others."""
    assert _kernel_calls.network(str(tmp_path)) in {"", *_kernel_calls.NETWORK_MAGIC.values()}
    monkeypatch.setitem(_kernel_calls.NETWORK_MAGIC, 0x9FA0, "proc")
    assert _kernel_calls.network("/proc") == "proc"
    with pytest.raises(FileNotFoundError):
        _kernel_calls.network(str(tmp_path / "none"))


@pytest.mark.skipif(sys.platform != "linux", reason="leases")
def test_a_lease_shows_writers_and_outlives_a_break(home: Path) -> None:
    """Writers are seen; somebody who opens the file during the look waits, and no signal ends us."""
    path = str(home / "store.jsonl")
    file = SYSTEM.open(path, _system.READ)
    if file.has_writers() is None:
        pytest.skip("no leases on this file system")
    assert file.has_writers() is False
    writer = SYSTEM.open(path, _system.APPEND)
    assert file.has_writers() is True
    assert not writer.try_exclusive()
    writer.close()
    assert _kernel_calls.take_lease(file.fd, alone=False)
    opened = []
    thread = threading.Thread(target=lambda: opened.append(os.open(path, os.O_WRONLY)))
    thread.start()
    thread.join(0.2)
    assert not opened
    _kernel_calls.drop_lease(file.fd)
    thread.join(10)
    os.close(opened[0])
    file.close()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives a file to another user")
@pytest.mark.skipif(sys.platform != "linux", reason="leases of Linux")
def test_root_without_cap_lease_sees_who_writes(tmp_path: Path) -> None:
    """Root without the capability, as in a container, sees who has the file of another user open."""
    store = tmp_path / "store"
    store.touch()
    os.chown(store, 1234, 1234)
    seen: list[object] = []

    def look() -> None:  # in a thread, which ends with what it lost
        library, cap_lease = ctypes.CDLL(None, use_errno=True), 28
        header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        seen.append(library.capget(header, sets))
        sets[0] &= ~(1 << cap_lease)
        sets[1] &= ~(1 << cap_lease)
        seen.append(library.capset(header, sets))
        file = SYSTEM.open(str(store), _system.READ)
        try:
            seen.append(file.has_writers())
            with store.open("ab"):
                seen.append(file.has_writers())
            seen.append(_file_user())
        finally:
            file.close()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [0, 0, False, True, 0]


def _file_user() -> int:
    """Return whose rights to files this thread has."""
    with open("/proc/thread-self/status", encoding="ascii") as status:
        return next(int(line.split()[4]) for line in status if line.startswith("Uid:"))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounts a file")
@pytest.mark.skipif(sys.platform != "linux", reason="mounts of Linux")
def test_append_refuses_a_mounted_file_that_was_replaced(tmp_path: Path) -> None:
    """A store that is mounted as a single file keeps what a sweep outside replaced: nothing is written there."""
    store, mounted = tmp_path / "store", tmp_path / "mounted"
    store.write_bytes(b"")
    mounted.touch()
    if subprocess.run(["mount", "--bind", str(store), str(mounted)], check=False).returncode:  # noqa: S607
        pytest.skip("no mount is allowed here")
    try:
        jsonl.append(mounted, {"id": "a"})
        (tmp_path / "new").write_bytes(b"")
        (tmp_path / "new").replace(store)
        with pytest.raises(Refused, match="mount its directory, not the file"):
            jsonl.append(mounted, {"id": "b"})
    finally:
        subprocess.run(["umount", str(mounted)], check=True)  # noqa: S607


def test_a_long_line_is_one_piece(tmp_path: Path) -> None:
    """A line is moved whole, whatever its length."""
    length = 129 << 20
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as file:
        file.truncate(length)
        file.seek(length)
        file.write(b"\nnext\n")
    opened = SYSTEM.open(str(sparse), _system.READ)
    try:
        data = next_lines(opened, 0, length + 6)
        assert len(data) > length
        assert data.endswith(b"\n")
    finally:
        opened.close()


@pytest.mark.parametrize("tail", [b"", b"other\n"])
def test_blank_lines_are_found_at_once(tmp_path: Path, tail: bytes) -> None:
    """Blank lines by the million are found in a store that holds them, in well under hours."""
    count = 1 << 20
    store = tmp_path / "store"
    for there in (count, count // 2):
        store.write_bytes(b"kept\n" + b"\n" * there + tail)
        file = SYSTEM.open(str(store), _system.READ)
        try:
            assert find_piece(file, b"\n" * count, 5, file.info().size, 5) == there
        finally:
            file.close()


def test_appending_waits_for_a_look(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An append that meets a lease tries again, as if the file were locked."""
    blocked = [True, True]
    real = System.open

    def opening(self: System, path: str, flags: int, mode: int = 0o600) -> Any:
        if blocked:
            blocked.pop()
            raise BlockingIOError(11, "Resource temporarily unavailable", path)
        return real(self, path, flags, mode)

    monkeypatch.setattr(System, "open", opening)
    jsonl.append(home / "store.jsonl", LATE)
    assert (home / "store.jsonl").read_bytes() == OLD + NEW + LATE


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (1e-9, "1ns"),
        (2.5e-6, "2.5µs"),
        (0.05, "50ms"),
        (1.5, "1.5s"),
        (10, "10s"),
        (75, "1m15s"),
        (3600, "1h0m0s"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    """A wait is printed as Go prints a duration."""
    assert duration(seconds) == text


def test_memory_is_bounded(home: Path) -> None:
    """A sweep needs memory for its blocks and decisions, not for the file; so does a recovery."""
    line = b'{"id":"%s","last_accessed_ms":-85400000}\n' % (b"x" * 50_000)
    with (home / "store.jsonl").open("wb") as out:
        for number in range(800):
            out.write(line.replace(b"xxxxx", b"%05d" % number, 1) if number % 2 else NEW)
    tracemalloc = pytest.importorskip("tracemalloc", reason="this Python counts no memory")
    tracemalloc.start()
    writer = (home / "store.jsonl").open("ab")
    with pytest.raises(CommittedUncertain):
        jsonl.archive_exponential_jsonl(
            home / "store.jsonl", home / "archive.jsonl", **{**ARGUMENTS, "lock_timeout": 0}
        )
    with writer:
        for _ in range(200):
            writer.write(line)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    assert jsonl.recover(home / "store.jsonl").moved_bytes == 200 * len(line)
    assert tracemalloc.get_traced_memory()[1] - before < 8 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("ends", ["", "\n"])
def test_late_lines_follow_a_replaced_archive(home: Path, monkeypatch: pytest.MonkeyPatch, ends: str) -> None:
    """What a writer appends to an archive while it is replaced is in the new one, once."""
    before = home / "archive.jsonl"
    before.write_text(f"earlier{ends}")
    rename = System.rename

    def late(self: System, path: str, other: str) -> None:
        if other != str(before):
            rename(self, path, other)
            return
        with before.open("ab") as out:
            rename(self, path, other)
            out.write(b"\n" * (not ends) + b"late\n")

    monkeypatch.setattr(System, "rename", late)
    files = Files(home / "store.jsonl", before, archive_mode="replace", mutate=True)
    transaction = _transaction.Transaction(files, _transaction.Options())
    assert transaction.retained is not None
    assert transaction.pruned is not None
    transaction.read(1 << 20)
    transaction.retained.write(NEW)
    transaction.pruned.write(OLD)
    transaction.commit(None, None)
    assert contents(home) == {"store.jsonl": NEW, "archive.jsonl": OLD + b"late\n"}


def test_rollback_is_idempotent(home: Path) -> None:
    """A transaction can be given up at any time, more than once."""
    files = Files(str(home / "store.jsonl"), str(home / "archive.jsonl"), mutate=True)
    transaction = _transaction.Transaction(files, _transaction.Options(0))
    transaction.rollback()
    transaction.rollback()
    assert contents(home) == {"store.jsonl": OLD + NEW}


@pytest.mark.parametrize("patient", [True, False])
def test_a_drain_splits_no_line(home: Path, monkeypatch: pytest.MonkeyPatch, patient: bool) -> None:
    """While a writer is in the middle of a line of the new store, what comes from the old one waits."""
    store = home / "store.jsonl"
    rename = System.rename
    fresh = LATE.replace(b"-85400000", b"87400000")
    late = store.open("ab", buffering=0)

    def renamed(self: System, path: str, other: str) -> None:
        rename(self, path, other)
        if other != str(store):
            return
        monkeypatch.setattr(System, "rename", rename)
        slow.append(store.open("ab", buffering=0))
        slow[0].write(NEW[:9])
        late.write(fresh)
        late.close()
        if patient:
            threading.Timer(0.1, slow[0].write, (NEW[9:],)).start()

    slow: list[Any] = []
    monkeypatch.setattr(System, "rename", renamed)
    if patient:
        archive(home, lock_timeout=10)
        assert store.read_bytes() == NEW + NEW + fresh
    else:
        with pytest.raises(CommittedUncertain, match="is swept, but a writer has begun a line in it and not ended it"):
            archive(home)
        assert store.read_bytes() == NEW + NEW[:9]
        slow[0].write(NEW[9:])
    slow[0].close()
    jsonl.recover(store)
    assert store.read_bytes() == NEW + NEW + fresh


def test_an_archive_made_meanwhile_is_never_replaced(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What somebody makes in the last instant stays, and no person is needed for it."""
    link = System.link

    def linked(self: System, path: str, other: str) -> None:
        if other == str(home / "archive.jsonl"):
            (home / "archive.jsonl").write_bytes(LATE)
        link(self, path, other)

    monkeypatch.setattr(System, "link", linked)
    with pytest.raises(Refused, match="it was made meanwhile"):
        archive(home, archive_mode="replace")
    assert contents(home) == {"store.jsonl": OLD + NEW, "archive.jsonl": LATE}
