package transaction

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/iamfaham/recolva/internal/storefs"
)

// planUndo finds out how to give a target its earlier content back. It stops,
// with nothing touched, when the file holds anything that the run cannot have
// written.
func (e *engine) planUndo(ctx context.Context, home place, tg *target, evenInUse bool) (func() error, error) {
	p := tg.Path.place(home)
	f, err := e.data.get(ctx, p, e.deadline())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if f == nil {
		if tg.Existed {
			return nil, needsPersonf("%s %s is missing, and an unfinished sweep of %s must be cut from it", tg.Role, show(p.path), show(home.path))
		}
		return func() error { return e.syncDir(p.dir, syncDirUndo) }, nil
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if placed := tg.Mode == modeReplace && info.Ino == tg.NextIno; tg.unmarked && (placed || tg.Mode == modeAppend && info.Size > tg.Size) {
		return nil, &staysError{text: fmt.Sprintf("nothing beside %s %s says that an unfinished sweep of %s concerns it", tg.Role, show(p.path), show(home.path))}
	}
	if tg.Mode == modeReplace {
		return e.planRestore(p, tg, f, info, evenInUse)
	}
	if tg.Existed && info.Ino != tg.Ino {
		return nil, needsPersonf("%s %s is not the file that an unfinished sweep of %s added to", tg.Role, show(p.path), show(home.path))
	}
	stand, err := e.standing(home, p, tg, f, info.Size)
	switch {
	case err != nil:
		return nil, err
	case stand == amid:
		return nil, &staysError{text: foreignText(home, p, tg)}
	case stand == nowhere && tg.Role == roleAudit: // a part of a line of ours would break its chain
		return nil, needsPersonf("%s", foreignText(home, p, tg))
	case stand == nowhere: // killed before the first byte of ours
		if err := e.checkStart(f, p, tg); err != nil {
			return nil, err
		}
		return func() error { return e.syncFile(f, syncUndo) }, nil
	case info.Size > tg.Size && !evenInUse:
		if err := e.checkAlone(f, p); err != nil {
			return nil, err
		}
	}
	return func() error {
		if !tg.Existed {
			return e.takeBack(f, p, info.Size, func() error { return e.removeHeld(p) }, evenInUse)
		}
		if err := e.cutBack(f, p, info.Size, tg.Size, evenInUse); err != nil {
			return err
		}
		return e.syncFile(f, syncUndo) // an earlier cut may not be durable yet
	}, nil
}

// checkStart makes sure that what comes after a target's earlier length begins a
// line, as it did: else somebody edited the file, and what was added may be there.
func (e *engine) checkStart(f storefs.File, p place, tg *target) error {
	open, err := endsOpen(f, tg.Size)
	if err == nil && open && !tg.Joint {
		err = needsPersonf("%s %s was changed in place while an unfinished sweep waited to be undone", tg.Role, show(p.path))
	}
	return err
}

func foreignText(home, p place, tg *target) string {
	return fmt.Sprintf("%s %s has bytes after offset %d that an unfinished sweep of %s did not write", tg.Role, show(p.path), tg.Size, show(home.path))
}

// checkAlone tells, by a staysError, that somebody else has the file open.
func (e *engine) checkAlone(f storefs.File, p place) error {
	return e.takeBack(f, p, -1, func() error { return nil }, false)
}

// cutBack cuts a target whose bytes past size are known to be ours.
func (e *engine) cutBack(f storefs.File, p place, from, size int64, evenInUse bool) error {
	if from == size {
		return nil
	}
	return e.takeBack(f, p, from, func() error { return f.Truncate(size) }, evenInUse)
}

// takeBack does what takes bytes away from a file, as long as it is size bytes
// long (-1: any length) and, where the system can tell, nobody else has it
// open; everybody is shut out meanwhile. With evenInUse a last look at the
// length must do where others have it open.
func (e *engine) takeBack(f storefs.File, p place, size int64, take func() error, evenInUse bool) error {
	if e.skips(cutAlone) {
		return take()
	}
	release, ok, err := f.TryExclusive()
	switch {
	case ok:
		defer release()
	case errors.Is(err, storefs.ErrUnsupported):
	case err != nil:
		return err
	case !evenInUse:
		return &staysError{fmt.Sprintf("%s is open in another process", show(p.path)), true}
	}
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if size >= 0 && now.Size != size {
		return &staysError{text: fmt.Sprintf("%s was appended to while an unfinished sweep was to be cut from it", show(p.path))}
	}
	return take()
}

// removeHeld removes a file of which the data lock is held, and, where open
// files can be removed, gives the lock up only then.
func (e *engine) removeHeld(p place) error {
	if !e.fs.RenamesOpenFiles() {
		e.data.release(p)
	}
	return e.removeDurably(p)
}

func (e *engine) removeDurably(p place) error {
	if err := e.remove(p.path); err != nil {
		return err
	}
	return e.syncDir(p.dir, syncDirUndo)
}

// checkUnused refuses to take a file from under its name while somebody has it
// open for writing: what that one wrote would be gone with it.
func (e *engine) checkUnused(p place) error {
	f, err := e.fs.OpenFile(p.path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	writers, err := f.HasWriters()
	if err == nil && writers {
		return refusedf("%s cannot be put back: another process has it open for writing", show(p.path))
	}
	if errors.Is(err, storefs.ErrUnsupported) {
		return nil
	}
	return err
}

// equalOrZero compares n bytes of f from off with those of want from wantOff;
// a zero in f counts as equal.
func (e *engine) equalOrZero(f storefs.File, off, n int64, want storefs.File, wantOff int64) (bool, error) {
	size := min(int64(e.chunk()), max(n, 1))
	a, b := make([]byte, size), make([]byte, size)
	for n > 0 {
		k := min(size, n)
		if _, err := readFull(f, a[:k], off); err != nil {
			return false, err
		}
		_, err := readFull(want, b[:k], wantOff)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if !prefixOrZero(a[:k], b[:k]) {
			return false, nil
		}
		off, wantOff, n = off+k, wantOff+k, n-k
	}
	return true, nil
}

func prefixOrZero(have, want []byte) bool {
	for i, c := range have {
		if c != want[i] && c != 0 {
			return false
		}
	}
	return true
}

// addedIntact tells whether the target holds, at its place, what was added.
func (e *engine) addedIntact(f storefs.File, tg *target) (bool, error) {
	at := tg.Size
	if tg.Mode == modeReplace {
		at = 0
	}
	if tg.Joint {
		open, err := endsOpen(f, at+1)
		if err != nil || open {
			return false, err
		}
		at++
	}
	sum, err := e.sumOf(f, at, at+tg.Bytes)
	return err == nil && sum == tg.SHA256, err
}

// planUnplaced leaves a target as it is in whose place the staged file is not:
// the one before, or one that somebody made meanwhile.
func (e *engine) planUnplaced(p place, tg *target, info storefs.Info) (func() error, error) {
	next, exists, err := e.lookup(p.side(nextSuffix))
	if err != nil {
		return nil, err
	}
	waits := exists && next.Ino == tg.NextIno
	if info.Ino != tg.Ino && (tg.Existed || !waits) {
		return nil, needsPersonf("%s %s is neither the file before nor the one after an unfinished sweep", tg.Role, show(p.path))
	}
	// A power cut may have undone the renaming, but not what others wrote after it.
	if waits && next.Size > tg.Bytes {
		return nil, needsPersonf("%s holds more than an unfinished sweep wrote to it", show(p.side(nextSuffix)))
	}
	return func() error { return e.syncDir(p.dir, syncDirUndo) }, nil
}

// planRestore undoes the replacement of a target, where the run cannot be
// finished: whoever opens the new file in the instant in which it is taken from
// under its name writes to a file that nobody will see.
func (e *engine) planRestore(p place, tg *target, f storefs.File, info storefs.Info, evenInUse bool) (func() error, error) {
	if info.Ino != tg.NextIno {
		return e.planUnplaced(p, tg, info)
	}
	if !evenInUse {
		return nil, &staysError{fmt.Sprintf("%s %s is replaced already", tg.Role, show(p.path)), true}
	}
	if ok, err := e.addedIntact(f, tg); err != nil || !ok || info.Size != tg.Bytes {
		return nil, &staysError{text: fmt.Sprintf("%s %s holds more than an unfinished sweep wrote to it", tg.Role, show(p.path))}
	}
	if !tg.Existed {
		return func() error {
			e.data.release(p)
			return e.removeDurably(p)
		}, nil
	}
	prior, exists, err := e.lookup(p.side(priorSuffix))
	if err != nil {
		return nil, err
	}
	if !exists || prior.Ino != tg.Ino {
		return nil, needsPersonf("%s is not there to take the place of %s again", show(p.side(priorSuffix)), show(p.path))
	}
	return func() error {
		e.data.release(p)
		if err := e.checkUnused(p); err != nil {
			return err
		}
		if err := e.fs.Rename(p.side(priorSuffix), p.path); err != nil {
			return err
		}
		return e.syncDir(p.dir, syncDirUndo)
	}, nil
}
