"""What a sweep promises about files: aliases, kinds, modes, locks, growth, failures half way."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from recolva import _staged, _transaction, jsonl
from recolva._locks import Deadline, LockFiles
from recolva._places import Place
from recolva.errors import CommittedUncertain, InvalidRecord, NeedsRecovery, Refused

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOW, DAY = 87_400_000, 86_400_000
ARGUMENTS: dict[str, Any] = {"now": NOW, "half_life_millis": DAY, "threshold": 0.5, "lock_timeout": 0.05}
OLD = b'{"id":"old","last_accessed_ms":-85400000}\n'
NEW = b'{"id":"new","last_accessed_ms":87400000}\n'
LATE = b'{"id":"late","last_accessed_ms":-85400000}\n'

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, modes and locks of POSIX")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory with a store of one old and one new record."""
    (tmp_path / "store.jsonl").write_bytes(OLD + NEW)
    return tmp_path


def contents(home: Path) -> dict[str, bytes]:
    """Return all files of a directory with their contents."""
    return {path.name: path.read_bytes() for path in sorted(home.iterdir()) if path.is_file()}


def archive(home: Path, **more: Any) -> jsonl.Decisions:
    """Archive from the store of a home, with an audit."""
    options = {**ARGUMENTS, "audit": home / "audit.jsonl", **more}
    return jsonl.archive_exponential_jsonl(home / "store.jsonl", home / "archive.jsonl", **options)


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
    with pytest.raises(Refused, match=r"has 2 names \(hard links\)$"):
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


def test_missing_files_are_os_errors(home: Path) -> None:
    """What the system reports passes as it is, with the name."""
    with pytest.raises(FileNotFoundError) as caught:
        jsonl.scan_exponential_jsonl(home / "none.jsonl", **ARGUMENTS)
    assert caught.value.filename == str(home / "none.jsonl")
    with pytest.raises(FileNotFoundError):
        archive(home, audit=home / "none" / "audit.jsonl")
    assert contents(home) == {"store.jsonl": OLD + NEW}


def test_symlink_keeps_pointing(home: Path) -> None:
    """A store behind a symbolic link is changed where it is; the link stays a link."""
    (home / "real").mkdir()
    (home / "store.jsonl").rename(home / "real" / "store.jsonl")
    (home / "store.jsonl").symlink_to("real/store.jsonl")
    archive(home)
    assert (home / "store.jsonl").is_symlink()
    assert contents(home / "real") == {"store.jsonl": NEW}


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

    with pytest.raises(Refused, match=r"store\.jsonl was changed by another process while it was swept$"):
        archive(home, progress=rewrite)
    assert list(contents(home)) == ["store.jsonl"]


def test_busy_store_is_refused(home: Path) -> None:
    """Two sweeps exclude each other; who waits too long says who holds the lock."""
    locks = LockFiles([Place(str(home / "store.jsonl"))], Deadline(0))
    try:
        text = rf"store\.jsonl is busy: process {os.getpid()} holds it \(waited 0\.05s\)$"
        with pytest.raises(Refused, match=text):
            archive(home)
        assert jsonl.scan_exponential_jsonl(home / "store.jsonl", **ARGUMENTS).pruned == 1
    finally:
        locks.release()
    assert archive(home).pruned == 1


FAILING = ["write_all", "sync", "sync_directory"]


@pytest.mark.parametrize("mode", ["append", "replace"])
@pytest.mark.parametrize("step", FAILING)
def test_any_failing_step_takes_everything_back(
    home: Path, monkeypatch: pytest.MonkeyPatch, step: str, mode: str
) -> None:
    """Fail every write and every fsync in turn: all files are as before, or all as after."""
    real: Callable[..., Any] = getattr(_staged, step)
    before = {"archive.jsonl": b"earlier", "audit.jsonl": b"earlier\n", "store.jsonl": OLD + NEW}
    fail_at = 0
    while True:
        for name, content in before.items():
            (home / name).write_bytes(content)
        fail_at += 1
        calls = 0

        def failing(*arguments: Any, at: int = fail_at) -> Any:
            nonlocal calls
            calls += 1
            if calls == at:
                raise OSError(5, "Input/output error")
            return real(*arguments)

        monkeypatch.setattr(_staged, step, failing)
        try:
            archive(home, archive_mode=mode, audit_mode=mode)
        except CommittedUncertain:
            assert contents(home)["store.jsonl"] == NEW
            assert contents(home)["archive.jsonl"].endswith(OLD)
        except OSError:
            assert contents(home) == before
        else:
            assert fail_at > 1
            assert list(contents(home)) == list(before)
            return


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
    assert jsonl.recover(home / "store.jsonl") is True
    assert jsonl.recover(home / "store.jsonl") is False
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


def test_a_foreign_journal_is_not_touched(home: Path) -> None:
    """A journal that this code cannot finish stops it, before anything changes."""
    journal = home / ".store.jsonl.recolva-journal"
    journal.write_bytes(b"{}")
    for call in (lambda: archive(home), lambda: jsonl.recover(home / "store.jsonl")):
        with pytest.raises(NeedsRecovery, match="recolva-journal"):
            call()
    assert contents(home) == {journal.name: b"{}", "store.jsonl": OLD + NEW}


def test_rollback_is_idempotent(home: Path) -> None:
    """A transaction can be given up at any time, more than once."""
    files = _transaction.Files(str(home / "store.jsonl"), str(home / "archive.jsonl"), mutate=True)
    transaction = _transaction.Transaction(files, 0)
    transaction.rollback()
    transaction.rollback()
    assert contents(home) == {"store.jsonl": OLD + NEW}
