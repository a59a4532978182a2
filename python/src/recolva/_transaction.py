"""One change of a store, its archive and its audit: all of it, or nothing.

    begin    lock; settle what a dead run left; refuse aliases and anything but plain files
    read     input -> the caller -> retained, pruned, audit: staged beside the input
    commit   lock the data files; carry over what others appended; fsync what is staged
             pointers beside archive and audit, then the journal beside the input, each durable
             append to the archive, fsync; append to the audit, fsync
             give the input a second name; rename the new one over it: the commit point
             move what others still write to the old input; remove the journal, then the rest

A kill or a power cut anywhere leaves all that the next run needs to finish or to undo it,
be it this code or the `decay-sweep` program: both keep the same protocol on disk.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

from recolva import _commit, _perform
from recolva._audit import NO_PREVIOUS
from recolva._engine import Engine
from recolva._places import ADD, AUD, NEW, NEXT, PRIOR, Files, Member, Members
from recolva._ranges import CutError, sha256
from recolva._recover import Recovery, Settler
from recolva._stage import Final, Input, Last, RunLine, Staged, chain_link
from recolva._system import READ
from recolva.errors import CommittedUncertain, Refused

if TYPE_CHECKING:
    from recolva._journal import Target
    from recolva._locks import Deadline, LockFiles
    from recolva._places import Place
    from recolva._system import Info


@dataclass(frozen=True)
class Options:
    """How to go about a transaction."""

    lock_timeout: float = 10.0
    """Seconds to wait for other processes."""
    allow_network_fs: bool = False
    """Change files even where locks may not reach other machines."""


class Transaction:
    """One sweep of one store. Everything written is staged until `commit`."""

    input: Input

    def __init__(self, files: Files, options: Options) -> None:
        """Lock and open the files, or raise; nothing was opened for writing then."""
        engine = self.engine = Engine(options.lock_timeout)
        self.system, self.data, self.notes = engine.system, engine.data, engine.notes
        self.files, self.options = files, options
        self.locks: Optional[LockFiles] = None
        self.retained: Optional[Staged] = None
        self.pruned: Optional[Staged] = None
        self.audit: Optional[Staged] = None
        self.audit_at: Optional[Info] = None
        """The audit as `prev` was computed; None if there was none."""
        self.prev = NO_PREVIOUS
        self.racy = False
        """The input's time of change may hide a later change."""
        self._done = False
        self.settler = Settler(engine)
        try:
            self._begin()
        except BaseException:
            with suppress(OSError):
                self.rollback()
            raise
        self._warn()

    def _begin(self) -> None:
        members = self.members = Members(self.system, self.files, allow_network_fs=self.options.allow_network_fs)
        members.inspect()
        changing = [member.place for member in members.changing()]
        if changing:
            self._take_over(changing)
        self.input = Input(self.system, members.input.place, hashed=bool(changing))
        info = self.input.info
        if not info.is_regular or (
            self.files.mutate and members.input.info is not None and not info.same_file(members.input.info)
        ):
            raise Refused(f"{members.input} was replaced meanwhile")
        self.racy = self.locks is not None and self.locks.may_hide_change(members.input.place, info)
        self._open_audit()
        self._stage()

    def _take_over(self, changing: list[Place]) -> None:
        """Lock what may be changed, settle what an interrupted run left there, and look again."""
        try:
            self.locks = self.settler.settle(changing, Recovery())
        except CommittedUncertain as error:
            raise Refused(f"an earlier sweep is not finished: {error}") from error
        self.members.inspect()
        self.members.check_names()
        self._sum_replaced(self.locks)

    def _sum_replaced(self, locks: LockFiles) -> None:
        """Take the sums of the files that will be replaced and whose times may hide a change to come."""
        for member in self.members:
            if member.mode != "replace" or member.info is None or not locks.may_hide_change(member.place, member.info):
                continue
            file = self.system.open(member.place.path, READ)
            try:
                member.sum = sha256(file, 0, member.info.size)
            except CutError:
                raise Refused(f"{member} was changed meanwhile") from None
            finally:
                file.close()

    def _open_audit(self) -> None:
        member = self.members.audit
        if member is None or member.info is None or member.mode == "replace":
            return
        file = self.system.open(member.place.path, READ)
        try:
            self.audit_at = file.info()
            self.prev = chain_link(file, self.audit_at.size)
        finally:
            file.close()

    def _stage(self) -> None:
        if self.files.mutate:
            self.retained = Staged(self.system, self.home.side(NEW))
            archive = self.members.archive
            self.pruned = Staged(self.system, None if archive is None else self._staged_path(archive))
        if self.members.audit is not None:
            if not self.files.mutate and self.members.audit.info is None:
                self._stage_new_audit(self.members.audit)
            if self.audit is None:
                self.audit = Staged(self.system, self._staged_path(self.members.audit))

    def _stage_new_audit(self, member: Member) -> None:
        """Stage the new audit of a dry-run where it only needs its name to be in place.

        So in replace mode: nothing is copied then. Stages nothing where the file system has no
        hard links, which give this name.
        """
        path, probe = member.place.side(NEXT), member.place.side(PRIOR)
        staged = self.audit = Staged(self.system, path)
        try:
            self.system.link(path, probe)
        except OSError:
            self.audit = None
            staged.drop()
            return
        member.mode = "replace"
        try:
            self.system.remove(probe)
        except OSError:
            self.remain()
            raise

    def _staged_path(self, member: Member) -> str:
        """Say where bytes wait: beside the home to be appended, else beside the file they replace."""
        if member.mode == "replace":
            return member.place.side(NEXT)
        return self.home.side(ADD if member.role == "archive" else AUD)

    @property
    def home(self) -> Place:
        """Return the place beside which the journal stands: the input, or the audit of a dry-run."""
        if self.files.mutate or self.members.audit is None:
            return self.members.input.place
        return self.members.audit.place

    def staged(self) -> list[Staged]:
        """Return everything that has a staged file."""
        every = (self.retained, self.pruned, self.audit)
        return [staged for staged in every if staged is not None and staged.file is not None]

    def target_files(self, target: Target) -> tuple[Member, Staged]:
        """Return the file that a target changes, and what is staged for it."""
        archive = target.role == "archive"
        member, staged = (self.members.archive, self.pruned) if archive else (self.members.audit, self.audit)
        if member is None or staged is None:
            raise ValueError(f"there is no {target.role}")
        return member, staged

    @property
    def input_size(self) -> int:
        """Length of the input when it was opened, in bytes."""
        return self.input.size

    def read(self, size: int) -> bytes:
        """Read the input as it was when it was opened, from start to end."""
        return self.input.read(size)

    def grew(self) -> bool:
        """Tell whether another process has appended to the input."""
        return self.input.file.info().size > self.input.size

    def deadline(self) -> Deadline:
        """Return how long to wait for a lock from now on."""
        return self.engine.deadline()

    def commit(self, last: Optional[Last], run_line: Optional[RunLine]) -> Final:
        """Make everything staged happen; on any error but CommittedUncertain nothing has."""
        if self._done:
            raise ValueError("the transaction is over")
        try:
            final, journal = _commit.prepare(self, last, run_line)
            if journal is None:
                self.rollback()
            else:
                self._done = True
                _perform.perform(self, journal)
        except BaseException:
            with suppress(OSError):
                self.rollback()
            raise
        finally:
            self.release()
        self._warn()
        return final

    def rollback(self) -> None:
        """Drop everything staged and release the locks; does nothing after a commit."""
        if not self._done:
            self._done = True
            try:
                for staged in self.staged():
                    staged.drop()
            except OSError:
                self.remain()
                raise
            finally:
                self.release()

    def remain(self) -> None:
        """Note that files of ours remain, for the next run to be found."""
        if self.locks is not None:
            self.locks.leave = True

    def release(self) -> None:
        """Give every lock and open file up."""
        if hasattr(self, "input"):
            self.input.file.close()
        for staged in self.staged():
            staged.close()
        self.data.release_all()
        if self.locks is not None:
            self.locks.release()

    def _warn(self) -> None:
        """Pass warnings on, now that everything is in order again."""
        while self.engine.warnings:
            warnings.warn(self.engine.warnings.pop(0), RuntimeWarning, stacklevel=6)
