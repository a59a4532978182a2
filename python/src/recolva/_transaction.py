"""One change of a store, its archive and its audit: all of it, or nothing.

    begin    lock; refuse aliases and anything but plain files; open the input
    read     input -> the caller -> retained, pruned, audit: staged beside the input
    commit   carry over what others appended meanwhile; fsync what is staged
             append to the archive, fsync; append to the audit, fsync
             rename the new input over the old one, fsync its directory

So a pruned record is durable in the archive before it leaves the input, and an
error before the rename takes everything back. A kill or a power cut between the
append and the rename leaves the pruned records in both files, never in none. The
staged files have fixed names, so the next run removes what a dead one left.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import Callable, NamedTuple, Optional

from recolva import _staged as staged
from recolva._audit import NO_PREVIOUS, NOTHING, Digest
from recolva._locks import Deadline, LockFiles, lock_new, open_locked
from recolva._places import Path, Place, check_distinct, check_kind, locate, open_file, same_file, show
from recolva._recovery import settle
from recolva._staged import Input, Staged
from recolva._targets import Change, append_to, keep_attributes, replace_by
from recolva.errors import CommittedUncertain, Refused


@dataclass(frozen=True)
class Files:
    """The files of a transaction; `mutate` says whether the input may change."""

    input: Path
    archive: Optional[Path] = None
    audit: Optional[Path] = None
    archive_mode: str = "append"
    audit_mode: str = "append"
    mutate: bool = False


class Last(NamedTuple):
    """A last line without newline, and what it adds to each output if it is decided."""

    line: bytes
    retained: bytes = b""
    pruned: bytes = b""
    audit: bytes = b""


class Final(NamedTuple):
    """What the run line of an audit says about the files."""

    grew: bool
    """The last line was not decided but carried over."""
    before: Digest
    after: Digest
    archived: Digest
    audited: Digest


class Transaction:
    """One sweep of one store. Everything written is staged until `commit`."""

    def __init__(self, files: Files, lock_timeout: float) -> None:
        """Lock and open the files, or raise; nothing was opened for writing then."""
        self._files, self._timeout = files, lock_timeout
        self._members: list[tuple[str, Place, Optional[os.stat_result]]] = []
        self._locks: Optional[LockFiles] = None
        self._input: Optional[Input] = None
        self._staged: list[Staged] = []
        self._changes: list[Change] = []
        self._audit_size = 0
        self.retained: Optional[Staged] = None
        self.pruned: Optional[Staged] = None
        self.audit: Optional[Staged] = None
        self.prev = NO_PREVIOUS
        try:
            self._begin()
        except BaseException:
            self.rollback()
            raise

    def _begin(self) -> None:
        files = self._files
        self._home = locate("input", files.input)
        self._archive = None if files.archive is None else locate("archive", files.archive)
        self._audit = None if files.audit is None else locate("audit", files.audit)
        self._inspect()
        changing = [place for role, place, _ in self._members if files.mutate or role == "audit"]
        if changing:
            self._locks = LockFiles(changing, Deadline(self._timeout))
            self._inspect()
            for place in changing:
                settle(place)
        for role, place, info in self._members:
            if info is not None and info.st_nlink > 1 and place in changing:
                raise Refused(f"{role} {show(place.path)} has {info.st_nlink} names (hard links)")
        self._input = Input(self._home, hashed=bool(changing))
        self._stage(self._home if files.mutate else self._audit)

    def _inspect(self) -> None:
        """Look at all files and refuse what is no plain file, or one file in two roles."""
        places = [("input", self._home), ("archive", self._archive), ("audit", self._audit)]
        self._members = [
            (role, place, check_kind(role, place, required=role == "input"))
            for role, place in places
            if place is not None
        ]
        check_distinct(self._members)

    def _stage(self, home: Optional[Place]) -> None:
        if self._audit is not None and home is not None:
            self.audit = self._new(home.side("aud"))
            if self._files.audit_mode == "append" and self._audit.info() is not None:
                self.prev = self._link(self._audit)
        if self._files.mutate and home is not None:
            self.retained = self._new(home.side("new"))
            self.pruned = self._new(home.side("add") if self._archive else None)

    def _new(self, path: Optional[str]) -> Staged:
        self._staged.append(Staged(path))
        return self._staged[-1]

    def _link(self, audit: Place) -> str:
        file = open_file(audit.path, os.O_RDONLY)
        try:
            self._audit_size = os.fstat(file).st_size
            return staged.chain_link(file, self._audit_size)
        finally:
            os.close(file)

    @property
    def _opened(self) -> Input:
        if self._input is None:
            raise ValueError("the transaction is over")
        return self._input

    @property
    def input_size(self) -> int:
        """Length of the input when it was opened, in bytes."""
        return self._opened.size

    def read(self, size: int) -> bytes:
        """Read the input as it was when it was opened, from start to end."""
        return self._opened.read(size)

    def grew(self) -> bool:
        """Tell whether another process has appended to the input."""
        info = self._home.info()
        return info is not None and info.st_size > self._opened.size

    def commit(self, last: Optional[Last], run_line: Callable[[Final], bytes]) -> Final:
        """Make everything staged happen; on any error but CommittedUncertain nothing has."""
        try:
            return self._commit(last, run_line)
        finally:
            self.rollback()

    def _commit(self, last: Optional[Last], run_line: Callable[[Final], bytes]) -> Final:
        deadline = Deadline(self._timeout)
        store = open_locked(self._home, os.O_RDWR | os.O_APPEND, deadline) if self._files.mutate else None
        try:
            grew = self.grew() if store is None else self._check_store(store)
            final = self._finish(last, run_line, grew=grew)
            if store is not None and self.pruned is not None and self.pruned.size:
                self._replace(store, last, final, deadline)
            elif self.audit is not None:
                self._add(self._audit, self.audit, self._files.audit_mode, deadline)
            self._keep_changes()
        finally:
            if store is not None:
                os.close(store)
        return final

    def _check_store(self, store: int) -> bool:
        """Refuse a store that is not the one that was read; tell whether it grew."""
        info, opened = os.fstat(store), self._opened
        changed = not same_file(info, opened.info) or info.st_size < opened.size
        if not changed and info.st_mtime_ns != opened.info.st_mtime_ns:
            digest = hashlib.sha256()
            staged.copy(store, 0, opened.size, digest.update)
            changed = digest.hexdigest() != opened.digest(0).sha256
        if changed:
            raise self._rewritten()
        return info.st_size > opened.size

    def _rewritten(self) -> Refused:
        return Refused(f"{show(self._home.path)} was changed by another process while it was swept")

    def _finish(self, last: Optional[Last], run_line: Callable[[Final], bytes], *, grew: bool) -> Final:
        """Complete what is staged: the last line, unless the file grew, and the run line."""
        undecided = len(last.line) if last and grew else 0
        if last and not grew:
            for to, data in ((self.retained, last.retained), (self.pruned, last.pruned), (self.audit, last.audit)):
                if to is not None and data:
                    to.write(data)
        before = self._opened.digest(undecided)
        final = Final(
            grew and last is not None,
            before,
            before if self.retained is None else self.retained.digest(),
            NOTHING if self.pruned is None or self.pruned.path is None else self.pruned.digest(),
            NOTHING if self.audit is None else self.audit.digest(),
        )
        if self.audit is not None:
            self.audit.write(run_line(final))
        return final

    def _replace(self, store: int, last: Optional[Last], final: Final, deadline: Deadline) -> None:
        """Append to archive and audit, then put the new input in the place of the old one."""
        new, opened = self.retained, self._opened
        if new is None or new.path is None or self.pruned is None:
            raise ValueError("nothing is staged")
        carried = final.before.bytes
        carried = self._carry(store, carried, new)
        keep_attributes(store, new.file)
        if self._archive is not None:
            self._add(self._archive, self.pruned, self._files.archive_mode, deadline)
        if self.audit is not None:
            self._add(self._audit, self.audit, self._files.audit_mode, deadline)
        if self._carry(store, carried, new) > carried == opened.size and last is not None and not final.grew:
            raise self._rewritten()  # more was added to a line that is decided already
        staged.sync(new.file)
        lock_new(new.file)
        info = self._home.info()
        if info is None or not same_file(info, os.fstat(store)):
            raise self._rewritten()
        # From here on nothing is taken back: an interrupt between the two statements must not
        # cut the archive of a store that is replaced already.
        changes, self._changes = self._changes, []
        try:
            os.replace(new.path, self._home.path)
        except OSError:
            self._changes = changes
            raise
        new.path = None
        for change in changes:
            change.keep()
        try:
            staged.sync_directory(self._home.directory)
        except OSError as error:
            text = f"{show(self._home.path)} is swept, but the disk did not confirm it: {error.strerror}"
            raise CommittedUncertain(text) from error

    @staticmethod
    def _carry(store: int, start: int, new: Staged) -> int:
        """Append to the new input what others have appended to the old one from `start` on."""
        end = os.fstat(store).st_size
        staged.copy(store, start, end, lambda data: staged.write_all(new.file, data))
        return end

    def _add(self, place: Optional[Place], content: Staged, mode: str, deadline: Deadline) -> None:
        """Bring staged content to its file, by appending or replacing; remember how to undo it."""
        if place is None:
            return
        if mode == "replace" or place.info() is None:
            self._changes.append(replace_by(place, content, self._opened.file))
            return
        unchanged = self._audit_size if content is self.audit else None
        self._changes.append(append_to(place, content, unchanged, deadline))

    def _keep_changes(self) -> None:
        while self._changes:
            self._changes.pop().keep()

    def rollback(self) -> None:
        """Take everything back and release the locks; does nothing after a commit."""
        while self._changes:
            self._changes.pop().undo()
        while self._staged:
            self._staged.pop().close()
        if self._input is not None:
            self._input.close()
        if self._locks is not None:
            self._locks.release()
            self._locks = None
