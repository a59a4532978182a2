"""Finding in a file, among lines of others, what a run appended to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Optional

from recolva import _ranges
from recolva._locks import Deadline
from recolva._places import Place, show
from recolva._stage import staged_name
from recolva._system import READ, UPDATE
from recolva.errors import NeedsRecovery, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recolva._engine import Engine
    from recolva._journal import Target
    from recolva._system import File, System

PIECE_BYTES = 1 << 20
"""Aimed length of a piece of whole lines."""

AT_END, AMID, NOWHERE = "at end", "amid", "nowhere"
"""Where it stands: with nothing of others behind it; whole lines of it among bytes of others; not there."""


DRAIN_SECONDS = 2.0
"""Bounds the wait for a writer that holds an old file open, or is in the middle of a line."""


def drain_deadline(engine: Engine) -> Deadline:
    """Return until when it is worth to wait for such a writer."""
    return Deadline(engine.system, min(engine.lock_timeout, DRAIN_SECONDS))


class Span(NamedTuple):
    """A range of bytes of a file."""

    start: int
    end: int


def foreign_text(home: Place, place: Place, target: Target) -> str:
    """Say that a target holds bytes of others."""
    text = f"has bytes after offset {target.size} that an unfinished sweep of {show(home.path)} did not write"
    return f"{target.role} {show(place.path)} {text}"


def standing(engine: Engine, home: Place, place: Place, target: Target, file: File) -> str:
    """Look for what was staged behind the earlier length of a target."""
    size = file.info().size
    if size < target.size:
        text = f"is shorter ({size} bytes) than before an unfinished sweep of {show(home.path)} ({target.size} bytes)"
        raise NeedsRecovery(f"{target.role} {show(place.path)} {text}")
    if size == target.size:
        return AT_END
    try:
        staged = open_staged(engine, home, target)
    except FileNotFoundError:
        raise NeedsRecovery(foreign_text(home, place, target)) from None
    try:
        if _is_ours(target, file, size, staged):
            return AT_END
        held, _ = compare_lines(file, target, staged, size)
        return AMID if held else NOWHERE
    finally:
        staged.close()


def open_staged(engine: Engine, home: Place, target: Target) -> File:
    """Open what a run staged to be appended, and make sure that it is still that."""
    path = home.side(staged_name(target.role))
    file = engine.system.open(path, READ)
    try:
        if not _ranges.starts_with(file, target.bytes, target.sha256):
            text = f"is damaged: it is not what an unfinished sweep of {show(home.path)} staged"
            raise NeedsRecovery(f"{show(path)} {text}")
    except BaseException:
        file.close()
        raise
    return file


def _is_ours(target: Target, file: File, size: int, staged: File) -> bool:
    """Tell whether all that follows the earlier content was staged, or is zero where power failed."""
    if size > target.size + target.added:
        return False
    at = target.size
    if target.joint:
        if _ranges.read_full(file, at, 1) not in (b"\n", b"\0"):
            return False
        at += 1
    return equal_or_zero(file, at, size, staged)


def equal_or_zero(file: File, start: int, end: int, want: File) -> bool:
    """Compare the bytes [start, end) with the beginning of another file; zeros count as equal."""
    at = 0
    for have in _ranges.chunks(file, start, end):
        try:
            if not _ranges.equal_or_zero(have, _ranges.read_full(want, at, len(have))):
                return False
        except _ranges.CutError:
            return False
        at += len(have)
    return True


def compare_lines(file: File, target: Target, staged: File, size: int) -> tuple[list[Span], list[Span]]:
    """Find which of the staged lines a target holds past its earlier length, among lines of others.

    Return their ranges in the target, and the ranges of the staged file that are not there. They
    are expected in their order; but zeros in the place of a part of a line are a hole that a power
    cut left, and an earlier recovery may have added such a line further on.
    """
    held: list[Span] = []
    missing: list[Span] = []
    at, starts = target.size, True  # whether a line starts at `at`
    if target.joint and at < size:
        starts = _ranges.read_full(file, at, 1) != b"\0"
        at = after_line(file, at, size) if starts else at + 1
    done, line, hole = 0, b"", b""
    while at < size and (done < target.bytes or missing):
        if not line and done < target.bytes:
            line = _line_at(staged, done, target.bytes)
        if missing:
            hole = _line_at(staged, *missing[0])
        have = _ranges.read_full(file, at, min(max(len(line), len(hole)), size - at))
        if starts and line and have.startswith(line):
            _extend(held, at, at + len(line))
            at, done, line = at + len(line), done + len(line), b""
        elif starts and missing and have.startswith(hole):
            _extend(held, at, at + len(hole))
            at += len(hole)
            first = missing[0]._replace(start=missing[0].start + len(hole))
            missing[:1] = [first] if first.start < first.end else []
        elif line and _ranges.equal_or_zero(have[: len(line)], line):  # or torn at the very end
            _extend(missing, done, done + len(line))
            starts = have[: len(line)].endswith(b"\n")
            at, done, line = min(at + len(line), size), done + len(line), b""
        else:
            at, starts = after_line(file, at, size), True
    if done < target.bytes:
        _extend(missing, done, target.bytes)
    return held, missing


def _extend(spans: list[Span], start: int, end: int) -> None:
    if spans and spans[-1].end == start:
        spans[-1] = spans[-1]._replace(end=end)
    else:
        spans.append(Span(start, end))


def after_line(file: File, start: int, end: int) -> int:
    """Return the offset behind the next newline of [start, end)."""
    size = 4096
    while start < end:
        data = _ranges.read_full(file, start, min(size, end - start))
        cut = data.find(b"\n") + 1
        if cut:
            return start + cut
        start += len(data)
        size = min(2 * size, _ranges.CHUNK_BYTES)
    return end


def _line_at(file: File, start: int, end: int) -> bytes:
    return _ranges.read_full(file, start, after_line(file, start, end) - start)


class MidLineError(Exception):
    """Somebody may be in the middle of a line: what is appended now would split it."""


def line_end(file: File) -> tuple[int, bool]:
    """Return the length of a file and whether it ends without a newline.

    Raises MidLineError if it does and another process has it open: the rest of the line may
    still come.
    """
    size = file.info().size
    if not _ranges.ends_open(file, size):
        return size, False
    alone = file.try_exclusive()
    if alone is None:
        return size, True
    if not alone:
        raise MidLineError
    try:
        size = file.info().size
        return size, _ranges.ends_open(file, size)
    finally:
        file.end_exclusive()


class HeldEnd:
    """Shuts others out of a file while something is appended, if such a moment comes.

    Writers that open it for each line leave one soon; `patience` is how many seconds to try.
    `open` tells whether the file ends without a newline. If it does, and others cannot be shut
    out, the rest of the line may still come: entering raises MidLineError.
    """

    def __init__(self, system: System, file: File, patience: float) -> None:
        self._system, self._file, self._patience = system, file, patience
        self.open = False
        self.alone: Optional[bool] = None
        """None where the system cannot tell."""

    def __enter__(self) -> HeldEnd:  # noqa: PYI034 - Python 3.9 has no Self
        wait = 0.001
        while not (alone := self._file.try_exclusive()) and alone is not None and self._patience > 0:
            self._system.sleep(wait)
            self._patience, wait = self._patience - wait, 2 * wait
        self.alone = alone
        try:
            self.open = _ranges.ends_open(self._file, self._file.info().size)
            if self.open and alone is False:
                raise MidLineError
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.alone:
            self._file.end_exclusive()


SHUT_OUT_SECONDS = 0.1


def await_line_end(engine: Engine, file: File) -> bool:
    """Give others a little time to end a line; tell whether the file ends without a newline then."""
    deadline = drain_deadline(engine)
    while (ends := _ends_open(file)) is None:
        if deadline.over:
            return True
        engine.system.sleep(0.01)
    return ends


def _ends_open(file: File) -> Optional[bool]:
    """Tell whether a file ends without a newline; None while somebody may be about to write one."""
    try:
        return line_end(file)[1]
    except MidLineError:
        return None


def append_lines(engine: Engine, file: File, source: File, span: Span) -> None:
    """Append a range of lines in pieces of whole lines, each with one write.

    A newline goes before them where the last one is missing. Nobody else has the file open
    while a piece is written, if such a moment comes.
    """
    file.reserve(file.info().size, span.end - span.start + 1)  # a full disk must not tear a line
    patience = SHUT_OUT_SECONDS
    for data in _pieces(source, span):
        patience = _append_piece(engine, file, data, patience)


def _append_piece(engine: Engine, file: File, data: bytes, patience: float) -> float:
    """Return how patient to be with the next piece: not at all where somebody has the file open for good."""
    held = HeldEnd(engine.system, file, patience)
    try:
        with held:
            file.write(b"\n" + data if held.open else data)
    except MidLineError:
        file.write(b"\n" + data if await_line_end(engine, file) else data)
        return 0
    return patience if held.alone else 0


def _pieces(source: File, span: Span) -> Iterator[bytes]:
    at = span.start
    while at < span.end:
        data = next_lines(source, at, span.end)
        yield data
        at += len(data)


def next_lines(source: File, start: int, end: int) -> bytes:
    """Read whole lines of about the aimed length from [start, end), or one line that is longer.

    What ends without a newline is the rest. A line is never cut: a part of ours at the end of a
    file would look like the begun line of another program.
    """
    size = PIECE_BYTES
    while start < end:
        data = _ranges.read_full(source, start, min(size, end - start))
        cut = data.rfind(b"\n") + 1
        if cut:
            return data[:cut]
        if start + len(data) == end:
            return data
        size *= 2
    return b""


def write_again(engine: Engine, place: Place, file: File, held: list[Span]) -> None:
    """Write ranges of lines over themselves, each with the newline before it.

    That an earlier fsync of them succeeded is not known, and calling fsync again proves nothing.
    """
    if not held:
        return
    writer = engine.system.open(place.path, UPDATE)  # `file` only appends
    try:
        if not writer.info().same_file(file.info()):
            raise Refused(f"{show(place.path)} was replaced meanwhile")
        for span in held:
            at = max(0, span.start - 1)
            for data in _ranges.chunks(file, at, span.end):
                writer.write_at(at, data)
                at += len(data)
    finally:
        writer.close()
