package transaction

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/iamfaham/recolva/internal/storefs"
)

// replaceInput is the commit point: one rename. The old input, which was has
// described, gets a second name before, so that what others still write to it
// can never be lost. Where open files cannot be renamed over, closeInput is
// called, and next closed.
func (e *engine) replaceInput(home place, was storefs.Info, next storefs.File, closeInput func()) error {
	if !e.skips(linkOld) {
		if err := e.linkOld(home, was); err != nil {
			return err
		}
	}
	path := home.side(newSuffix)
	if !e.skips(lockNew) {
		// Cooperating writers that find the new file wait until its name is durable.
		if err := lockStaged(next, path); err != nil {
			return err
		}
	}
	staged, err := next.Stat()
	if err != nil {
		return err
	}
	if err := e.checkStaged(path, staged.Ino); err != nil {
		return err
	}
	if !e.skips(checkInodeLast) {
		if err := e.checkStillThere(home, was); err != nil {
			return err
		}
	}
	if !e.fs.RenamesOpenFiles() {
		closeInput()
		_ = next.Close()
	}
	if err := e.fs.Rename(path, home.path); err != nil {
		return fmt.Errorf("cannot replace %s: %w", show(home.path), bare(err))
	}
	if err := e.syncDir(home.dir, syncDirCommit); err != nil {
		return fmt.Errorf("%w: %w", errUnconfirmed, err)
	}
	return nil
}

// linkOld gives the input its second name, if an interrupted run has not.
func (e *engine) linkOld(home place, was storefs.Info) error {
	path := home.side(oldSuffix)
	old, exists, err := e.lookup(path)
	switch {
	case err != nil:
		return err
	case exists && !old.SameFile(was):
		return refusedf("%s is another file", show(path))
	case !exists:
		if err := e.fs.Link(home.path, path); err != nil {
			return fmt.Errorf("cannot replace %s: %w", show(home.path), bare(err))
		}
	}
	return e.syncDir(home.dir, syncDirOld)
}

func (e *engine) checkStillThere(home place, was storefs.Info) error {
	current, exists, err := e.lookup(home.path)
	if err == nil && (!exists || !current.SameFile(was)) {
		err = refusedf("input %s was replaced meanwhile", show(home.path))
	}
	return err
}

// checkStaged makes sure that the name of a staged file still leads to it: if
// somebody took our lock away, another run may have put its own there.
func (e *engine) checkStaged(path string, ino uint64) error {
	current, exists, err := e.lookup(path)
	if err == nil && (!exists || current.Ino != ino) {
		err = refusedf("%s was replaced meanwhile", show(path))
	}
	return err
}

func lockStaged(f storefs.File, path string) error {
	got, err := f.TryLock()
	if err == nil && !got {
		err = refusedf("%s is locked by another process", show(path))
	}
	return err
}

func (e *engine) linkPrior(p place) error {
	if err := e.fs.Link(p.path, p.side(priorSuffix)); err != nil {
		return bare(err)
	}
	return bare(e.syncDir(p.dir, syncDirPrior))
}

// placeNext gives the staged file the target's name. Where there was none, by a
// link, which never goes over a file that somebody made meanwhile.
func (e *engine) placeNext(p place, tg *target) error {
	path := p.side(nextSuffix)
	err := e.checkStaged(path, tg.NextIno)
	switch {
	case err != nil:
		return err
	case tg.Existed:
		err = e.fs.Rename(path, p.path)
	default:
		if err = e.fs.Link(path, p.path); errors.Is(err, fs.ErrExist) {
			return refusedf("it was made meanwhile")
		}
	}
	if err != nil {
		return bare(err)
	}
	return e.syncDir(p.dir, syncDirReplaced)
}
