"""Moving to the store what others wrote to a file that has lost its name.

The lines go piece by piece. Each piece stands in the journal before it is written, so that
after a crash it can be told from one that was not.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Optional

from recolva import _ranges
from recolva._journal import Drain, Journal, Piece, place_of
from recolva._places import NEW, OLD, PRIOR, Place, show
from recolva._standing import SHUT_OUT_SECONDS, HeldEnd, MidLineError, drain_deadline, line_end, next_lines
from recolva._system import READ
from recolva.errors import CommittedUncertain, NeedsRecovery, Refused

if TYPE_CHECKING:
    from recolva._engine import Engine
    from recolva._journal import NewInput, Target
    from recolva._system import File

_GRACE_SECONDS = 0.2
"""How long a file must not grow where the system cannot tell whether it has a writer."""


class Mover:
    """Moves the lines of a nameless file to where they belong: the store of a home, in the end its archive."""

    def __init__(self, engine: Engine, home: Place, journal: Journal) -> None:
        self._engine, self._system, self._home, self._journal = engine, engine.system, home, journal
        self._store = home
        self._open_at = 0  # where a line was settled that had no newline; 0 for none
        self.moved = 0
        """Bytes that were moved."""

    def drain(self) -> None:
        """Move what others write to the old input, then to an archive that was replaced.

        It goes on until nobody has these files open for writing.
        """
        if self._journal.drain is None or self._journal.drain.source == "old":
            self._drain_input()
        for target in self._journal.targets or []:
            if target.role == "archive" and target.mode == "replace" and target.existed and not target.unmarked:
                self._drain_prior(target)

    def _drain_input(self) -> None:
        old = self._journal.old
        source = self._open_old(self._home.side(OLD), None if old is None else old.ino)
        if source is None or old is None:
            return
        try:
            drain = self._journal.drain = self._journal.drain or Drain("old", old.bytes)
            self._open_at = old.bytes if old.open else 0
            self._resume(source, drain)
            self._run(source, drain)
        finally:
            source.close()

    def _drain_prior(self, target: Target) -> None:
        """Drain the archive that was replaced into the one in its place; in a restore it is the store."""
        place = place_of(target.path, self._home)
        self._engine.data.release(place)  # we would count as its writer
        source = self._open_old(place.side(PRIOR), target.ino)
        if source is None:
            return
        try:
            drain = self._journal.drain
            if drain is None or drain.source != "prior":
                drain = self._journal.drain = Drain("prior", target.size)
            self._store = place
            self._open_at = target.size if _ranges.ends_open(source, target.size) else 0
            self._resume(source, drain)
            self._run(source, drain)
        finally:
            source.close()

    def _open_old(self, path: str, inode: Optional[int]) -> Optional[File]:
        """Open a file under its second name; None if a run was cut off after its last drain."""
        try:
            source = self._system.open(path, READ)
        except FileNotFoundError:
            return None
        try:
            if source.info().inode != inode:
                raise NeedsRecovery(f"{show(path)} is not the file that the journal beside it names")
        except BaseException:
            source.close()
            raise
        return source

    def move_extra(self) -> None:
        """Save lines that a writer appended to a new input whose commit a power cut undid."""
        path, new = self._home.side(NEW), self._journal.new
        info = self._system.lookup(path)
        if info is None or new is None:
            return
        source = self._system.open(path, READ)
        try:
            check_intact(source, self._home, new)
            if info.size == new.bytes and self._journal.drain is None:
                return
            drain = self._journal.drain = self._journal.drain or Drain("new", new.bytes)
            self._resume(source, drain)
            while self._move(source, drain, whole=True):
                pass
        except MidLineError:
            raise Refused(f"{show(self._home.path)} ends within a line that a program is writing") from None
        finally:
            source.close()

    def _run(self, source: File, drain: Drain) -> None:
        """Go on until the source has no writer and nothing is left in it."""
        system = self._system
        deadline = drain_deadline(self._engine)
        calm, wait = system.now(), 0.001
        while True:
            known = source.has_writers()
            # Windows lets nobody keep a file open that is renamed over.
            grace = system.renames_open_files and system.now() < calm + _GRACE_SECONDS
            writers = grace if known is None else known
            try:
                if self._move(source, drain, whole=not writers):
                    calm, wait = system.now(), 0.001
                    continue
            except MidLineError:
                if deadline.over:
                    text = "is swept, but a writer has begun a line in it and not ended it"
                    rest = "what was written to the old file is moved by the next run"
                    raise CommittedUncertain(f"{show(self._store.path)} {text}; {rest}") from None
                system.sleep(wait)
                continue
            if not writers:
                return
            if known is not None and deadline.over:
                text = "is swept, but a writer still holds its old file open; what it writes is moved by the next run"
                raise CommittedUncertain(f"{show(self._store.path)} {text}")
            system.sleep(wait)
            wait = min(2 * wait, 0.05)

    def _move(self, source: File, drain: Drain, *, whole: bool) -> bool:
        """Move the next piece; False if there is none.

        `whole` says that the last line of the source is as whole as it will ever be.
        """
        data = self._next_piece(source, drain.from_, whole=whole)
        if not data:
            return False
        if self._completes_last(drain, data):
            drain.from_ += 1
            return True
        store = self._engine.data.get(self._store, self._engine.deadline())
        try:
            self._append(store, drain, data)
        finally:
            self._engine.data.release(self._store)
        drain.from_, drain.piece = drain.from_ + len(data), None
        self.moved += len(data)
        return True

    def _completes_last(self, drain: Drain, data: bytes) -> bool:
        """Tell whether data begins with the newline of the last line, swept without one.

        That line is settled already, and whatever is appended behind it gets a newline first.
        """
        return drain.from_ == self._open_at > 0 and data.startswith(b"\n")

    def _append(self, store: File, drain: Drain, data: bytes) -> None:
        size, joint = line_end(store)
        store.reserve(size, len(data) + 1)
        digest = hashlib.sha256(data).hexdigest()
        drain.piece = Piece(drain.from_ + len(data), store.info().inode, size, joint, digest)
        self._engine.notes.write_journal(self._home, self._journal)
        with HeldEnd(self._system, store, SHUT_OUT_SECONDS) as end:
            if end.open != joint:  # the journal took its time
                raise MidLineError
            store.write(b"\n" + data if joint else data)
        store.sync()

    def _next_piece(self, source: File, start: int, *, whole: bool) -> bytes:
        """Read whole lines of about the aimed length, or one line that is longer.

        A last line without newline counts only when whole.
        """
        data = next_lines(source, start, source.info().size)
        return data if whole or data.endswith(b"\n") else b""

    def _resume(self, source: File, drain: Drain) -> None:
        """Settle the piece that a crash interrupted: it is in the store, or a part of it, or nothing."""
        piece = drain.piece
        if piece is None:
            return
        data = _ranges.read_full(source, drain.from_, piece.to - drain.from_)
        if hashlib.sha256(data).hexdigest() != piece.sha256:
            raise NeedsRecovery(f"the old file of {show(self._store.path)} was changed while it was moved")
        store = self._engine.data.get(self._store, self._engine.deadline())
        try:
            done = self._settle_piece(store, piece, data)
            store.sync()
        finally:
            self._engine.data.release(self._store)
        drain.from_, drain.piece = drain.from_ + done, None

    def _settle_piece(self, store: File, piece: Piece, data: bytes) -> int:
        """Return how many bytes of the piece the store holds for good."""
        info = store.info()
        # Where somebody rewrote the store: look everywhere.
        base = piece.base if info.inode == piece.ino and info.size >= piece.base else 0
        match = find_piece(store, data, base, info.size, base + piece.joint)
        if match == len(data):
            return match
        if base == piece.base and self._cut_torn(store, piece, data, info.size):
            return 0
        lines = data.rfind(b"\n", 0, match) + 1
        if match > lines:
            text = "a line that was moved to its end is torn there, and follows once more whole"
            self._engine.warnings.append(f"{show(self._store.path)}: {text}")
        return lines

    def _cut_torn(self, store: File, piece: Piece, data: bytes, size: int) -> bool:
        """Cut a torn piece off the store, but only while nobody else has the store open."""
        if piece.joint:
            data = b"\n" + data
        if size == piece.base or size > piece.base + len(data):
            return size == piece.base
        if not _ranges.equal_or_zero(_ranges.read_full(store, piece.base, size - piece.base), data):
            return False
        if not store.try_exclusive():
            return False
        try:
            if store.info().size != size:
                return False
            store.truncate(piece.base)
        finally:
            store.end_exclusive()
        return True


def check_intact(file: File, home: Place, new: NewInput) -> None:
    """Make sure that nobody changed a new input in place after a rename that a power cut undid."""
    if not _ranges.starts_with(file, new.bytes, new.sha256):
        text = f"was changed in place after it had become {show(home.path)} for a moment"
        raise NeedsRecovery(f"{show(home.side(NEW))} {text}")


def find_piece(store: File, data: bytes, base: int, size: int, exact: int) -> int:
    """Look in store[base:size] for the line start from which the most bytes equal data.

    Return their number. A part of data counts only when it holds a whole line or stands at
    its exact place.
    """
    best, start = 0, base
    while start < size:
        window = _ranges.read_full(store, start, min(len(data) + _ranges.CHUNK_BYTES, size - start))
        last = start + len(window) >= size
        at = 0 if start == base else window.find(b"\n") + 1  # else seen in the window before
        # No later start can match better where no more bytes are left; blank lines by the million do match.
        while best < len(data) and len(window) - at > best and (last or len(window) - at >= len(data)):
            if (at or start == base) and window.startswith(data[: best + 1], at):
                match = common(window[at : at + len(data)], data)
                if match > best and (b"\n" in data[:match] or start + at == exact):
                    best = match
            at = window.find(b"\n", at) + 1
            if not at:
                break
        if best == len(data) or last:
            break
        start += len(window) - len(data)  # what may begin a match stays in the window
    return best


def common(one: bytes, other: bytes) -> int:
    """Count how many bytes two strings begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
