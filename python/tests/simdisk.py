"""A disk in memory that loses at a power cut what was not made durable, in any order."""

from __future__ import annotations

import errno
import os
import random
import stat
from typing import Optional

from recolva._system import File, Info, System


class Node:
    """A file: what a reader sees, what is durable, and the changes between the two."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.content = bytearray()
        self.durable = b""
        self.changes: list[tuple[int, Optional[bytes]]] = []  # (offset, data), or (size, None) for a cut
        self.mode = stat.S_IFREG | 0o600
        self.stamp = 0
        self.leased = False

    def after_cut(self, choose: random.Random, how: str) -> bytes:
        """Return what a power cut leaves: zeros where a change before a kept one is lost."""
        content = bytearray(self.durable)
        keep = len(self.changes) if how == "all" else 0
        if how == "some":
            keep = choose.randint(0, len(self.changes))
        for number, (at, data) in enumerate(self.changes):
            if number >= keep and not (how == "some" and choose.random() < 0.3):
                continue
            if data is None:
                del content[at:]
                continue
            if how == "some" and choose.random() < 0.3:
                data = data[: choose.randint(0, len(data))]  # noqa: PLW2901 - torn
            content.extend(bytes(max(0, at - len(content))))
            content[at : at + len(data)] = data
        return bytes(content)


class Disk:
    """Files by path, and the changes of names that are not durable yet, by directory."""

    def __init__(self) -> None:
        self.names: dict[str, Node] = {}
        self.durable: dict[str, Node] = {}
        self.changes: dict[str, list[dict[str, Optional[Node]]]] = {}
        self.handles: list[SimFile] = []
        self.clock = 0
        self.seconds = 0.0

    def process(self, pid: int) -> Simulated:
        """Return a process that uses the disk."""
        return Simulated(self, pid)

    def change(self, names: dict[str, Optional[Node]]) -> None:
        """Change some names of one directory in one step."""
        self.changes.setdefault(os.path.dirname(next(iter(names))), []).append(names)
        _apply(self.names, names)

    def new_node(self) -> Node:
        """Make a file; the number of one that is gone is used again, as file systems do."""
        used = {node.number for names in (self.names, self.durable) for node in names.values()}
        used |= {handle.node.number for handle in self.handles}
        used |= {
            node.number for changes in self.changes.values() for names in changes for node in names.values() if node
        }
        return Node(next(number for number in range(2, 10**6) if number not in used))

    def put(self, path: str, content: bytes) -> None:
        """Make a durable file."""
        node = self.names.get(path) or self.new_node()
        node.content, node.durable, node.changes = bytearray(content), bytes(content), []
        self.names[path] = self.durable[path] = node

    def read(self, path: str) -> Optional[bytes]:
        """Return the content of a file, None if there is none."""
        node = self.names.get(path)
        return None if node is None else bytes(node.content)

    def power_cut(self, choose: random.Random, how: str) -> None:
        """Lose what is not durable; `how` says what survives.

        none, all or some of it; `names`: the names, not the contents; `but  2`: all but the third
        change of names; `only 2`: of the names only that.
        """
        names = dict(self.names if how == "names" else self.durable)
        one = int(how[5:]) if how.startswith(("but", "only")) else -1
        every = [change for changes in self.changes.values() for change in changes]
        for number, change in enumerate(every if one >= 0 else ()):
            if (number == one) == how.startswith("only"):
                _apply(names, change)
        for changes in self.changes.values() if one < 0 else ():
            keep = len(changes) if how == "all" else choose.randint(0, len(changes)) if how == "some" else 0
            for number, change in enumerate(changes):
                if number < keep or (how == "some" and choose.random() < 0.3):
                    _apply(names, change)
        nodes = {id(node): node for node in (*names.values(), *self.names.values())}
        for node in nodes.values():
            node.durable = node.after_cut(choose, how if one < 0 else "all")
            node.content, node.changes = bytearray(node.durable), []
        self.names, self.durable, self.changes = dict(names), dict(names), {}
        self.handles = []


def _apply(names: dict[str, Node], change: dict[str, Optional[Node]]) -> None:
    for path, node in change.items():
        if node is None:
            names.pop(path, None)
        else:
            names[path] = node


class Simulated(System):
    """One process on a disk."""

    def __init__(self, disk: Disk, pid: int = 1) -> None:
        self.disk, self._pid = disk, pid

    def open(self, path: str, flags: int, mode: int = 0o600) -> File:
        disk = self.disk
        node = disk.names.get(path)
        if node is None and not flags & os.O_CREAT:
            raise FileNotFoundError(errno.ENOENT, "No such file", path)
        if node is not None and flags & os.O_EXCL:
            raise FileExistsError(errno.EEXIST, "File exists", path)
        if node is None:
            node = disk.new_node()
            node.mode = stat.S_IFREG | mode
            disk.change({path: node})
        if node.leased:
            raise BlockingIOError(errno.EAGAIN, "Leased", path)
        file = SimFile(disk, node, path, flags)
        disk.handles.append(file)
        return file

    def lookup(self, path: str) -> Optional[Info]:
        node = self.disk.names.get(path)
        if node is not None:
            return _info(self.disk, node)
        if any(os.path.dirname(name) == path for name in self.disk.names):
            return Info(1, 1, stat.S_IFDIR | 0o700, 2, 0, 0, 0, 0, 0)
        return None

    def link(self, path: str, other: str) -> None:
        if other in self.disk.names:
            raise FileExistsError(errno.EEXIST, "File exists", other)
        self.disk.change({other: self.disk.names[path]})

    def rename(self, path: str, other: str) -> None:
        if path not in self.disk.names:
            raise FileNotFoundError(errno.ENOENT, "No such file", path)
        self.disk.change({other: self.disk.names[path], path: None})

    def remove(self, path: str) -> bool:
        if path not in self.disk.names:
            return False
        self.disk.change({path: None})
        return True

    def sync_directory(self, path: str) -> None:
        for change in self.disk.changes.pop(path, []):
            _apply(self.disk.durable, change)

    def real_path(self, path: str) -> str:
        return path

    def network(self, directory: str) -> str:
        return ""

    def pid(self) -> int:
        return self._pid

    def uid(self) -> int:
        return 0

    def now(self) -> float:
        return self.disk.seconds

    def sleep(self, seconds: float) -> None:
        self.disk.seconds += seconds


def _info(disk: Disk, node: Node) -> Info:
    links = sum(other is node for other in disk.names.values())
    return Info(1, node.number, node.mode, links, 0, 0, len(node.content), node.stamp, node.stamp)


class SimFile(File):
    """An open file of a simulated process."""

    def __init__(self, disk: Disk, node: Node, path: str, flags: int) -> None:
        self.disk, self.node, self.path, self.flags = disk, node, path, flags
        self.fd, self.position, self.locked = 1, 0, False

    def read_at(self, position: int, size: int) -> bytes:
        return bytes(self.node.content[position : position + size])

    def write(self, data: bytes) -> None:
        node = self.node
        at = len(node.content) if self.flags & os.O_APPEND else self.position
        node.content.extend(bytes(max(0, at - len(node.content))))
        node.content[at : at + len(data)] = data
        self.position = at + len(data)
        self._changed(at, data)

    def write_at(self, position: int, data: bytes) -> None:
        self.node.content[position : position + len(data)] = data
        self._changed(position, data)

    def _changed(self, at: int, data: Optional[bytes]) -> None:
        self.node.changes.append((at, data))
        self.disk.clock += 1
        self.node.stamp = self.disk.clock

    def info(self) -> Info:
        return _info(self.disk, self.node)

    def truncate(self, size: int) -> None:
        del self.node.content[size:]
        self._changed(size, None)

    def sync(self) -> None:
        node = self.node
        node.durable, node.changes = node.after_cut(random.Random(0), "all"), []

    def lose(self) -> None:
        """Drop what a failed sync did not write: readers see it, and no later sync brings it back."""
        self.node.changes = []

    def reserve(self, position: int, size: int) -> None:
        pass

    def try_lock(self) -> bool:
        if any(file.locked and file.node is self.node and file is not self for file in self.disk.handles):
            return False
        self.locked = True
        return True

    def unlock(self) -> None:
        self.locked = False

    def has_writers(self) -> Optional[bool]:
        return any(file.node is self.node and file.flags & os.O_RDWR for file in self.disk.handles)

    def try_exclusive(self) -> Optional[bool]:
        self.node.leased = not any(file.node is self.node and file is not self for file in self.disk.handles)
        return self.node.leased

    def end_exclusive(self) -> None:
        self.node.leased = False

    def copy_attributes(self, model: File, *, access_only: bool = False) -> None:
        self.node.mode = model.info().mode

    def close(self) -> None:
        self.fd = -1
        self.locked = self.node.leased = False
        if self in self.disk.handles:
            self.disk.handles.remove(self)
