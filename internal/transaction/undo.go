package transaction

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/iamfaham/recolva/internal/storefs"
)

// planUndo finds out how to give a target its earlier content back. It stops,
// with nothing touched, when the file holds anything that the run cannot have
// written.
func (e *engine) planUndo(ctx context.Context, home place, tg *target) (func() error, error) {
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
	if tg.Mode == modeReplace {
		return e.planRestore(p, tg, f, info)
	}
	if tg.Existed && info.Ino != tg.Ino {
		return nil, needsPersonf("%s %s is not the file that an unfinished sweep of %s added to", tg.Role, show(p.path), show(home.path))
	}
	if err := e.checkCut(home, p, tg, f, info.Size); err != nil {
		return nil, err
	}
	return func() error {
		if !tg.Existed {
			e.data.release(p)
			return e.removeDurably(p)
		}
		if err := e.cutBack(f, p, info.Size, tg.Size); err != nil {
			return err
		}
		return e.syncFile(f, syncUndo) // an earlier cut may not be durable yet
	}, nil
}

// cutBack cuts a target whose bytes past size are known to be ours, as long as
// it has not grown since. Where the system can, it shuts everybody else out
// meanwhile; where others keep the file open, only a last look guards it.
func (e *engine) cutBack(f storefs.File, p place, from, size int64) error {
	if from == size {
		return nil
	}
	if !e.skips(cutAlone) {
		release, ok, err := f.TryExclusive()
		if err != nil && !errors.Is(err, storefs.ErrUnsupported) {
			return err
		}
		if ok {
			defer release()
		}
		now, err := f.Stat()
		if err != nil {
			return err
		}
		if now.Size != from {
			return needsPersonf("%s was appended to while an unfinished sweep was to be cut from it", show(p.path))
		}
	}
	return f.Truncate(size)
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

// checkCut makes sure that all bytes past the target's earlier length are
// ours: equal to what was staged, or zero where a power cut lost the data.
func (e *engine) checkCut(home, p place, tg *target, f storefs.File, size int64) error {
	switch {
	case size < tg.Size:
		return needsPersonf("%s %s is shorter (%d bytes) than before an unfinished sweep of %s (%d bytes)", tg.Role, show(p.path), size, show(home.path), tg.Size)
	case size == tg.Size || e.skips(checkForeign):
		return nil
	}
	foreign := needsPersonf("%s %s has bytes after offset %d that an unfinished sweep of %s did not write", tg.Role, show(p.path), tg.Size, show(home.path))
	if size > tg.Size+tg.added() {
		return foreign
	}
	staged, err := e.fs.OpenFile(home.side(appendSuffix(tg.Role)), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return foreign
	}
	if err != nil {
		return err
	}
	defer staged.Close()
	at := tg.Size
	if tg.Joint {
		var b [1]byte
		if _, err := readFull(f, b[:], at); err != nil {
			return err
		}
		if b[0] != '\n' && b[0] != 0 {
			return foreign
		}
		at++
	}
	ours, err := e.equalOrZero(f, at, size-at, staged, 0)
	if err == nil && !ours {
		err = foreign
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
	sum := sha256.New()
	if err := e.copyRange(sum, f, at, at+tg.Bytes); err != nil {
		return false, err
	}
	want, err := hex.DecodeString(tg.SHA256)
	return bytes.Equal(sum.Sum(nil), want), err
}

// planRestore undoes the replacement of a target.
func (e *engine) planRestore(p place, tg *target, f storefs.File, info storefs.Info) (func() error, error) {
	if info.Ino != tg.NextIno {
		if !tg.Existed || info.Ino != tg.Ino {
			return nil, needsPersonf("%s %s is neither the file before nor the one after an unfinished sweep", tg.Role, show(p.path))
		}
		// A power cut may have undone the renaming, but not what others wrote after it.
		next, exists, err := e.lookup(p.side(nextSuffix))
		if err == nil && exists && next.Ino == tg.NextIno && next.Size > tg.Bytes {
			err = needsPersonf("%s holds more than an unfinished sweep wrote to it", show(p.side(nextSuffix)))
		}
		if err != nil {
			return nil, err
		}
		return func() error { return e.syncDir(p.dir, syncDirUndo) }, nil
	}
	if ok, err := e.addedIntact(f, tg); err != nil || !ok || info.Size != tg.Bytes {
		return nil, needsPersonf("%s %s holds more than an unfinished sweep wrote to it", tg.Role, show(p.path))
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
