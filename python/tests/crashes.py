"""One sweep in a small world, stopped anywhere, recovered, and judged."""

from __future__ import annotations

import json
import os
import random
import warnings
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from recolva import _system, jsonl
from recolva._locks import Deadline, open_locked
from recolva._places import Place
from recolva._system import APPEND, File, System
from recolva.errors import CommittedUncertain, Refused
from tests.faults import Fault, Killed, Layer, lines_of
from tests.simdisk import Disk

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW, DAY = 87_400_000, 86_400_000
ARGUMENTS: dict[str, Any] = {"now": NOW, "half_life_millis": DAY, "threshold": 0.5, "lock_timeout": 0.0}


def record(name: str, *, old: bool) -> bytes:
    """Return a line; an old one is pruned by ARGUMENTS."""
    return json.dumps({"id": name, "last_accessed_ms": -85_400_000 if old else NOW}).encode() + b"\n"


STORE = record("a", old=True) + record("b", old=False) + record("c", old=True) + record("d", old=False)
PRUNED = record("a", old=True) + record("c", old=True)
EARLIER = record("earlier", old=True)
AUDITED = b'{"event":"run","run_id":"0"}\n'


@dataclass(frozen=True)
class Scenario:
    """What is swept, and who appends meanwhile."""

    mode: str = "archive"
    audit: bool = True
    prior: bool = True
    """Archive and audit hold something."""
    replace: bool = False
    """They are replaced."""
    open_end: bool = False
    """No file ends with a newline."""
    apart: bool = False
    """Archive and audit are in other directories."""
    agent: str = ""
    """`reopen`, `held` or `lock`: how somebody appends a line to the store at call `agent_at`.

    `archiver` or `keeper`: the same without the lock to the archive, from that call on, reopening
    it or by one descriptor. In a restore, that is the store.
    """
    agent_at: int = 0

    @property
    def folders(self) -> tuple[str, str, str]:
        return ("/d/", "/e/", "/f/") if self.apart else ("/d/", "/d/", "/d/")


class Folder:
    """A real directory, seen as the disk in memory is."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in "def":
            (root / name).mkdir()

    @property
    def names(self) -> list[str]:
        return [str(path) for path in self.root.rglob("*") if path.is_file()]

    def put(self, path: str, content: bytes) -> None:
        Path(path).write_bytes(content)

    def read(self, path: str) -> Optional[bytes]:
        return Path(path).read_bytes() if os.path.exists(path) else None

    def process(self, pid: int) -> System:
        return System()


class World:
    """A disk with the files of a scenario, in memory if no directory is given."""

    def __init__(self, scenario: Scenario, root: Optional[Path] = None) -> None:
        self.scenario, self.disk = scenario, Disk() if root is None else Folder(root)
        cut = -1 if scenario.open_end else None
        store, archive, audit = (f"{root or ''}{folder}" for folder in scenario.folders)
        self.store, self.archive, self.audit = f"{store}s", f"{archive}a", f"{audit}u"
        self.disk.put(self.store, STORE[:cut])
        for folder in {store, archive, audit}:
            self.disk.put(f"{folder}.keep", b"")
        self.journal = f"{store}.s.recolva-journal"
        self.before: dict[str, Optional[bytes]] = {self.archive: None, self.audit: None}
        if scenario.prior:
            self.before = {self.archive: EARLIER[:cut], self.audit: AUDITED[:cut]}
            for path, content in self.before.items():
                self.disk.put(path, content or b"")
        self.appended: list[bytes] = []
        self.noted: list[bytes] = []
        """What was appended to the archive."""
        self.held: Optional[File] = None
        self.committed: Optional[bool] = None
        """Known from what the sweep returned."""

    def sweep(self, fault: Fault, skip: int = 0) -> Layer:
        """Sweep with a fault, leaving a call out; return the layer."""
        scenario = self.scenario
        layer = Layer(self.disk.process(1), fault, skip)
        if scenario.agent == "held":
            self.held = self.disk.process(9).open(self.store, APPEND)
        layer.before = self.append if scenario.agent else None
        options = {**ARGUMENTS, "audit_mode": "replace" if scenario.replace else "append"}
        options["audit"] = self.audit if scenario.audit else None
        with using(layer):
            try:
                if scenario.mode == "archive":
                    options["archive_mode"] = options["audit_mode"]
                    jsonl.archive_exponential_jsonl(self.store, self.archive, **options)
                elif scenario.mode == "delete":
                    jsonl.delete_exponential_jsonl(self.store, **options)
                else:
                    jsonl.scan_exponential_jsonl(self.store, **options)
                self.committed = True
            except CommittedUncertain:
                if not self.disk.read(self.journal):
                    self.committed = None
            except (OSError, Refused) as error:
                if "next run" not in str(error):
                    self.committed = False
                    self.check_untouched()
            except Killed:
                pass
        layer.end()
        return layer

    def check_untouched(self) -> None:
        """An error that promises nothing else has changed nothing."""
        added = b"".join(self.appended)
        assert lines_of(self.disk.read(self.store)) == lines_of(STORE + added), "store changed by an error"
        for path, content in self.before.items():
            found = self.without_noted() if path == self.archive else self.disk.read(path)
            assert whole(found) == whole(content), f"{path} changed by an error"

    def without_noted(self) -> Optional[bytes]:
        """Return the archive without what others appended to it, each of which is there once.

        What a write of ours that was cut in the middle left is no line.
        """
        content = self.disk.read(self.archive)
        if not self.noted or content is None:
            return content
        lines = [line + b"\n" for line in content.split(b"\n") if line]
        for line in self.noted:
            assert lines.count(line) == 1, f"{line!r} is {lines.count(line)} times in {content!r}"
            lines.remove(line)
        return b"".join(line for line in lines if line.endswith(b"}\n"))

    def note(self, call: int) -> None:
        """Append a line to the archive without the lock, if there is one."""
        agent = self.disk.process(9)
        if self.held is None:
            try:
                self.held = agent.open(self.archive, APPEND)
            except (FileNotFoundError, BlockingIOError):
                return
        line = record(f"note{call}", old=True)
        data = self.held.read_at(0, self.held.info().size)
        self.held.write(line if data.endswith(b"\n") or not data else b"\n" + line)
        self.held.sync()
        agent.sync_directory(os.path.dirname(self.archive))
        self.noted.append(line)
        if self.scenario.agent == "archiver":
            self.held.close()
            self.held = None

    def append(self, call: int) -> None:
        """Append a line as the agent does it."""
        if self.scenario.agent in ("archiver", "keeper"):
            if self.scenario.agent_at <= call < self.scenario.agent_at + 3:
                self.note(call)
            return
        if call != self.scenario.agent_at:
            return
        line, agent = record(f"late{call}", old=False), self.disk.process(9)
        if self.scenario.agent == "held" and self.held is not None:
            self.write(self.held, line)
            return
        try:
            if self.scenario.agent == "lock":
                file = open_locked(agent, Place(self.store), Deadline(agent, 0))
            else:
                file = agent.open(self.store, APPEND)
        except Refused:
            return
        self.write(file, line)
        file.close()

    def write(self, file: File, line: bytes) -> None:
        data = file.read_at(0, file.info().size)
        file.write(line if data.endswith(b"\n") or not data else b"\n" + line)
        file.sync()
        self.appended.append(line)

    def recover(self, choose: random.Random, cut: str, nested: int) -> None:
        """Lose power if `cut` says how, recover, dying at a call if `nested` says so, and recover again."""
        if cut:
            self.disk.power_cut(choose, cut)
            self.held = None
        home = self.audit if self.scenario.mode == "dry-run" else self.store
        start = home if choose.random() < 0.5 else choose.choice([self.store, self.archive, self.audit])
        if nested:
            layer = Layer(self.disk.process(2), Fault(nested, "kill"))
            with using(layer), suppress(Killed, CommittedUncertain):
                jsonl.recover(start, lock_timeout=0)
            layer.end()
            if cut:
                self.disk.power_cut(choose, cut)
        if self.noted and self.held is None and not cut:
            self.note(0)
        if self.scenario.agent == "keeper" and self.held is not None:
            with using(self.disk.process(3)), suppress(CommittedUncertain):
                jsonl.recover(start, lock_timeout=0)
            self.note(99)
            if self.held is not None:
                self.held.close()
        elif self.held is not None:
            with using(self.disk.process(3)), suppress(CommittedUncertain):
                jsonl.recover(start, lock_timeout=0)
            self.write(self.held, record("last", old=False))
            self.held.close()
        with using(self.disk.process(4)):
            jsonl.recover(start, lock_timeout=0)
            jsonl.recover(home, lock_timeout=0)

    def check_left(self, *, all_of_it: bool) -> None:
        """Nothing of ours is left beside the home; nowhere, unless names came back or could not go."""
        home = ".u." if self.scenario.mode == "dry-run" else ".s."
        left = [name for name in self.disk.names if ".recolva-" in name and (all_of_it or home in name)]
        assert not left, f"left: {left}"

    def again(self) -> None:
        """Sweep again, which finishes and cleans up everything."""
        self.committed = None
        archived = self.disk.read(self.archive) if self.scenario.mode == "archive" else None
        with using(self.disk.process(5)):
            options = {**ARGUMENTS, "audit": self.audit}
            jsonl.archive_exponential_jsonl(self.store, self.archive, **options)
        self.check_left(all_of_it=True)
        wanted = lines_without_pruned() + b"".join(self.appended)
        assert lines_of(self.disk.read(self.store)) == lines_of(wanted), "again: store"
        assert archived is None or self.disk.read(self.archive).startswith(archived), "again: archive"

    def check(self) -> None:
        """Judge what is there now."""
        disk, scenario = self.disk, self.scenario
        store, archive, audit = disk.read(self.store), self.without_noted(), disk.read(self.audit)
        added = b"".join(self.appended)
        gone = lines_of(store) == lines_of(lines_without_pruned() + added)
        kept = lines_of(store) == lines_of(STORE + added)
        assert gone != kept, f"store {store!r}, appended {self.appended}"
        mutates = scenario.mode != "dry-run"
        assert mutates or kept, "a dry-run changed the store"
        before = self.before[self.archive]
        if scenario.mode == "archive" and gone:
            expected = b"" if scenario.replace else whole(before)
            assert whole(archive) == expected + PRUNED, f"archive {archive!r}"
        elif self.noted:
            assert whole(archive) == whole(before), f"archive {archive!r}"
        else:
            assert archive == before, f"archive {archive!r}"
        before = self.before[self.audit]
        if scenario.audit and audit != before:
            base = b"" if scenario.replace else whole(before)
            assert audit is not None and audit.startswith(base), f"audit {audit!r}"  # noqa: PT018
            block = [json.loads(line) for line in audit[len(base) :].splitlines()]
            assert block[-1].get("scanned") == len(block) - 1 >= 4 - scenario.open_end, f"audit {audit!r}"
            assert gone == mutates, "audited, but not done"
        elif scenario.audit:
            assert kept, "done, but not audited"
        done = gone if mutates else audit != before
        if self.committed is not None:
            assert done == self.committed, f"reported {self.committed}, found {done}"


def whole(content: Optional[bytes]) -> bytes:
    """Return a content with its last newline."""
    return b"" if not content else content if content.endswith(b"\n") else content + b"\n"


def lines_without_pruned() -> bytes:
    return b"".join(line for line in STORE.splitlines(keepends=True) if line not in PRUNED.splitlines(keepends=True))


@contextmanager
def using(system: System) -> Iterator[None]:
    """Let all transactions use a system."""
    before, _system.SYSTEM = _system.SYSTEM, system
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
    finally:
        _system.SYSTEM = before


def calls_of(scenario: Scenario) -> list[str]:
    """Return the calls of a sweep without a fault."""
    world = World(replace(scenario, agent="", agent_at=0))
    return world.sweep(Fault()).calls


def trial(scenario: Scenario, fault: Fault, cut: str, nested: int, seed: int, *, skip: int = 0) -> None:
    """Run one world to its end and judge it; raise with all that is needed to do it again."""
    world, choose = World(scenario), random.Random(seed)
    try:
        world.sweep(fault, skip)
        world.recover(choose, cut, nested)
        world.check_left(all_of_it=not cut and fault.kind in ("kill", "torn"))
        world.check()
        if seed % 4 == 0:
            world.again()
    except Exception as error:
        raise AssertionError(f"{error!r} in {scenario}, {fault}, cut={cut!r}, nested={nested}, seed={seed}") from error
