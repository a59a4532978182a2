package transaction

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/iamfaham/recolva/internal/storefs"
)

// standing says where in a target stands what a run appended to it.
type standing uint8

const (
	atEnd   standing = iota // at its end, with nothing behind it: all, a part, zeros, or nothing
	amid                    // whole lines of it are there, and bytes of others
	nowhere                 // there are only bytes of others
)

// standing looks for what was staged behind the target's earlier length.
func (e *engine) standing(home, p place, tg *target, f storefs.File, size int64) (standing, error) {
	switch {
	case size < tg.Size:
		return atEnd, needsPersonf("%s %s is shorter (%d bytes) than before an unfinished sweep of %s (%d bytes)", tg.Role, show(p.path), size, show(home.path), tg.Size)
	case size == tg.Size || e.skips(checkForeign):
		return atEnd, nil
	}
	staged, err := e.openStaged(home, tg)
	if errors.Is(err, fs.ErrNotExist) {
		return atEnd, needsPersonf("%s", foreignText(home, p, tg))
	}
	if err != nil {
		return atEnd, err
	}
	defer staged.Close()
	ours, err := e.oursOrZero(f, tg, staged, size)
	if err != nil || ours {
		return atEnd, err
	}
	held, _, err := e.compareLines(f, tg, staged, size)
	if len(held) > 0 {
		return amid, err
	}
	return nowhere, err
}

// openStaged opens what a run staged to be appended, and makes sure that it is
// still that.
func (e *engine) openStaged(home place, tg *target) (storefs.File, error) {
	path := home.side(appendSuffix(tg.Role))
	f, err := e.fs.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	same, err := e.startsWith(f, tg.Bytes, tg.SHA256)
	if err == nil && !same {
		err = needsPersonf("%s is damaged: it is not what an unfinished sweep of %s staged", show(path), show(home.path))
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// oursOrZero tells whether all bytes past the target's earlier length equal
// what was staged, or are zero where a power cut lost the data.
func (e *engine) oursOrZero(f storefs.File, tg *target, staged storefs.File, size int64) (bool, error) {
	if size > tg.Size+tg.added() {
		return false, nil
	}
	at := tg.Size
	if tg.Joint {
		var b [1]byte
		if _, err := readFull(f, b[:], at); err != nil {
			return false, err
		}
		if b[0] != '\n' && b[0] != 0 {
			return false, nil
		}
		at++
	}
	return e.equalOrZero(f, at, size-at, staged, 0)
}

// span is a range of bytes of a file.
type span struct{ from, to int64 }

func extend(spans []span, from, to int64) []span {
	if n := len(spans); n > 0 && spans[n-1].to == from {
		spans[n-1].to = to
		return spans
	}
	return append(spans, span{from, to})
}

// compareLines finds which lines of what was staged the target holds past its
// earlier length, among lines of others: held are their ranges in the target,
// missing the ranges of the staged file that are not there. They are expected
// in their order; but zeros in the place of a part of a line are a hole that a
// power cut left, and an earlier recovery may have added such a line further on.
func (e *engine) compareLines(f storefs.File, tg *target, staged storefs.File, size int64) (held, missing []span, err error) {
	at, starts := tg.Size, true // whether a line starts at at
	if tg.Joint && at < size {
		at, starts, err = e.afterJoint(f, at, size)
	}
	next, hole := lineOf{to: tg.Bytes}, lineOf{} // the lines that may come now
	for err == nil && at < size && (next.from < tg.Bytes || len(missing) > 0) {
		if err = e.load(staged, &next); err != nil {
			break
		}
		if len(missing) > 0 {
			hole.seek(missing[0])
			if err = e.load(staged, &hole); err != nil {
				break
			}
		}
		have := make([]byte, min(int64(max(len(next.line), len(hole.line))), size-at))
		if _, err = readFull(f, have, at); err != nil {
			break
		}
		switch n := int64(len(next.line)); {
		case starts && n > 0 && bytes.HasPrefix(have, next.line):
			held = extend(held, at, at+n)
			at, next = at+n, lineOf{from: next.from + n, to: next.to}
		case starts && len(missing) > 0 && bytes.HasPrefix(have, hole.line):
			n = int64(len(hole.line))
			held = extend(held, at, at+n)
			at += n
			if missing[0].from += n; missing[0].from == missing[0].to {
				missing = missing[1:]
			}
		case n > 0 && prefixOrZero(have[:min(n, int64(len(have)))], next.line): // or torn at the very end
			missing = extend(missing, next.from, next.from+n)
			starts = have[min(n, int64(len(have)))-1] == '\n'
			at, next = min(at+n, size), lineOf{from: next.from + n, to: next.to}
		default:
			at, err = e.afterLine(f, at, size)
			starts = true
		}
	}
	if next.from < tg.Bytes {
		missing = extend(missing, next.from, tg.Bytes)
	}
	return held, missing, err
}

// lineOf is the line of a file that begins at from.
type lineOf struct {
	from, to int64 // of what is left
	line     []byte
}

func (l *lineOf) seek(s span) {
	if l.from != s.from || l.to != s.to {
		*l = lineOf{from: s.from, to: s.to}
	}
}

func (e *engine) load(f storefs.File, l *lineOf) (err error) {
	if l.line == nil && l.from < l.to {
		l.line, err = e.lineAt(f, l.from, l.to)
	}
	return err
}

// afterJoint skips the newline that was put before what was added, or what
// somebody else wrote in its place.
func (e *engine) afterJoint(f storefs.File, at, size int64) (after int64, starts bool, err error) {
	var b [1]byte
	if _, err := readFull(f, b[:], at); err != nil || b[0] == 0 {
		return at + 1, false, err
	}
	after, err = e.afterLine(f, at, size)
	return after, true, err
}

// afterLine returns the offset behind the next newline of f[at:size).
func (e *engine) afterLine(f storefs.File, at, size int64) (int64, error) {
	for n := int64(min(4<<10, e.chunk())); at < size; n = min(2*n, int64(e.chunk())) {
		buf := make([]byte, min(n, size-at))
		if _, err := readFull(f, buf, at); err != nil {
			return at, err
		}
		if i := bytes.IndexByte(buf, '\n'); i >= 0 {
			return at + int64(i) + 1, nil
		}
		at += int64(len(buf))
	}
	return size, nil
}

// lineAt reads the line that begins at from, at most up to end.
func (e *engine) lineAt(f storefs.File, from, end int64) ([]byte, error) {
	to, err := e.afterLine(f, from, end)
	if err != nil {
		return nil, err
	}
	line := make([]byte, to-from)
	_, err = readFull(f, line, from)
	return line, err
}

// appendLines appends a range of lines to dst in pieces of whole lines, each
// with one write. A newline goes before them where the last one is missing.
// Nobody else has the file open while a piece is written, if such a moment
// comes.
func (e *engine) appendLines(dst, src storefs.File, s span) error {
	info, err := dst.Stat()
	if err != nil {
		return err
	}
	// A full disk must not tear a line.
	if err := dst.Reserve(info.Size, s.to-s.from+1); err != nil {
		return err
	}
	for patience := shutOutTime; s.from < s.to; {
		data, err := e.nextLines(src, s.from, s.to)
		if err != nil {
			return err
		}
		s.from += int64(len(data))
		if patience, err = e.appendPiece(dst, data, patience); err != nil {
			return err
		}
	}
	return nil
}

// appendPiece returns how patient to be with the next piece: not at all where
// somebody has the file open for good.
func (e *engine) appendPiece(dst storefs.File, data []byte, patience time.Duration) (time.Duration, error) {
	release, alone, open, err := e.holdEnd(dst, patience)
	if !alone {
		patience = 0
	}
	if errors.Is(err, errMidLine) {
		open, err = e.awaitLineEnd(dst), nil
	}
	defer release()
	if err != nil {
		return patience, err
	}
	if open {
		data = append([]byte{'\n'}, data...)
	}
	_, err = dst.Write(data)
	return patience, err
}

// shutOutTime is how long to try for a moment in which nobody else has a file
// open. Writers that open it for each line leave one soon.
const shutOutTime = 100 * time.Millisecond

// holdEnd shuts others out of f, trying as long as patience lasts, and tells
// whether it ends without a newline. If it does, and others cannot be shut out,
// the rest of the line may still come: that is errMidLine.
func (e *engine) holdEnd(f storefs.File, patience time.Duration) (release func(), alone, open bool, err error) {
	release, alone, unknown := e.shutOut(f, patience)
	info, err := f.Stat()
	if err == nil {
		open, err = endsOpen(f, info.Size)
	}
	if err == nil && open && !alone && !unknown {
		err = errMidLine
	}
	return release, alone, open, err
}

// shutOut returns what lets others in again, whether they are out, and whether
// the system cannot tell.
func (e *engine) shutOut(f storefs.File, patience time.Duration) (release func(), alone, unknown bool) {
	for wait := time.Millisecond; ; wait *= 2 {
		release, ok, err := f.TryExclusive()
		switch {
		case ok:
			return release, true, false
		case err != nil:
			return func() {}, false, true
		case patience <= 0:
			return func() {}, false, false
		}
		patience -= wait
		if e.fs.Sleep(context.Background(), wait) != nil {
			patience = 0
		}
	}
}

// lineEnd returns the length of f and whether it ends without a newline, or
// errMidLine.
func (e *engine) lineEnd(f storefs.File) (size int64, open bool, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, false, err
	}
	if open, err = endsOpen(f, info.Size); err != nil || !open {
		return info.Size, open, err
	}
	release, _, open, err := e.holdEnd(f, 0)
	defer release()
	if info, statErr := f.Stat(); statErr == nil {
		return info.Size, open, err
	}
	return info.Size, open, err
}

// awaitLineEnd gives others a little time to end a line that they have begun in
// f, and tells whether f ends without a newline then.
func (e *engine) awaitLineEnd(f storefs.File) bool {
	for deadline := e.drainDeadline(); ; {
		_, open, err := e.lineEnd(f)
		if !errors.Is(err, errMidLine) || e.fs.Now() >= deadline {
			return open
		}
		if e.fs.Sleep(context.Background(), lockPoll) != nil {
			return open
		}
	}
}

// nextLines reads whole lines of about pieceBytes from f[from:end), or one line
// that is longer; what ends without a newline is the rest. A line is never cut:
// a part of ours at the end of a file would look like the begun line of another
// program.
func (e *engine) nextLines(f storefs.File, from, end int64) ([]byte, error) {
	for size := int64(min(pieceBytes, 4*e.chunk())); ; size *= 2 {
		n := min(size, end-from)
		if n <= 0 {
			return nil, nil
		}
		data := make([]byte, n)
		if _, err := readFull(f, data, from); err != nil {
			return nil, err
		}
		if i := bytes.LastIndexByte(data, '\n'); i >= 0 {
			return data[:i+1], nil
		}
		if from+n == end {
			return data, nil
		}
	}
}
