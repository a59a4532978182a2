package transaction

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/iamfaham/recolva/internal/storefs"
)

// isCommitted asks the one question of recovery: is the new input still under
// its own name?
func (e *engine) isCommitted(home place, j *journal) (bool, error) {
	if !j.Replace {
		return false, nil // its commit would have removed the journal
	}
	path := home.side(newSuffix)
	info, exists, err := e.lookup(path)
	if err != nil {
		return false, err
	}
	if exists {
		if info.Ino != j.New.Ino {
			return false, needsPersonf("%s is not the file that the journal beside it names", show(path))
		}
		return false, nil
	}
	input, exists, err := e.lookup(home.path)
	if err != nil {
		return false, err
	}
	if !exists {
		return false, needsPersonf("%s is missing, and its recovery needs it", show(home.path))
	}
	if input.Ino != j.Old.Ino {
		return true, nil
	}
	return false, e.checkIsOld(home, j)
}

// checkIsOld makes sure that an input with the inode number of the old one is
// the old one: on another disk, to which the files were moved, the new one may
// have got this number.
func (e *engine) checkIsOld(home place, j *journal) error {
	f, err := e.fs.OpenFile(home.path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	same, err := e.startsWith(f, j.Old.Bytes, j.Old.SHA256)
	if err == nil && !same {
		err = needsPersonf("%s has the inode number, but not the content, that it had before an unfinished sweep", show(home.path))
	}
	return err
}

// startsWith tells whether the first bytes of f have a sum.
func (e *engine) startsWith(f storefs.File, bytes int64, want string) (bool, error) {
	sum, err := e.sumOf(f, 0, bytes)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil
	}
	return sum == want, err
}

// checkIntact makes sure that nobody changed the new input in place after a
// rename that a power cut undid: that cannot be carried to the old one.
func (e *engine) checkIntact(f storefs.File, home place, j *journal) error {
	if e.skips(checkNewIntact) {
		return nil
	}
	same, err := e.startsWith(f, j.New.Bytes, j.New.SHA256)
	if err != nil || same {
		return err
	}
	return needsPersonf("%s was changed in place after it had become %s for a moment", show(home.side(newSuffix)), show(home.path))
}

// markTargets finds out which targets have no pointer to this journal beside
// them, though it was there before the journal and goes after it. The journal may
// be a copy, and the target the original's; or somebody took the pointer for a
// stale one where its home could not be seen. Nothing may be taken from such a
// target, and nothing that lies beside it is ours to remove.
func (e *engine) markTargets(home place, j *journal) error {
	own, _, err := e.lookup(home.side(journalSuffix))
	if err != nil {
		return err
	}
	for i := range j.Targets {
		tg := &j.Targets[i]
		p := tg.Path.place(home)
		if p.path == home.path {
			continue
		}
		pointed, found, err := e.readPointer(p)
		if err != nil {
			return err
		}
		note, exists, err := e.lookup(pointed.side(journalSuffix))
		if err != nil {
			return err
		}
		tg.unmarked = !found || !exists || !note.SameFile(own)
	}
	return nil
}

// verifyTargets makes sure, before the old input goes, that archive and audit
// really hold what the committed run added. Once draining has begun this was
// known, and others may have changed them since.
func (e *engine) verifyTargets(home place, j *journal) error {
	if j.Drain != nil {
		return nil
	}
	for i := range j.Targets {
		tg := &j.Targets[i]
		p := tg.Path.place(home)
		f, err := e.fs.OpenFile(p.path, os.O_RDONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return needsPersonf("%s %s is missing, but a finished sweep of %s added to it", tg.Role, show(p.path), show(home.path))
		}
		if err != nil {
			return err
		}
		err = e.verifyTarget(f, home, p, tg)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) verifyTarget(f storefs.File, home, p place, tg *target) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if tg.Existed && tg.Mode == modeAppend && info.Ino != tg.Ino || tg.Mode == modeReplace && info.Ino != tg.NextIno {
		e.warn(fmt.Sprintf("%s %s was replaced after the sweep of %s", tg.Role, show(p.path), show(home.path)))
		return nil
	}
	ok, err := e.addedIntact(f, tg)
	if (err != nil || !ok) && tg.Mode == modeAppend && tg.Role == roleArchive {
		ok, err = e.holdsLines(home, f, tg, info.Size)
	}
	if err != nil || !ok {
		return needsPersonf("%s %s does not hold what a finished sweep of %s added to it", tg.Role, show(p.path), show(home.path))
	}
	return nil
}

// holdsLines tells whether the target holds all lines that were staged for it,
// be it with lines of others in between.
func (e *engine) holdsLines(home place, f storefs.File, tg *target, size int64) (bool, error) {
	staged, err := e.openStaged(home, tg)
	if err != nil {
		return false, err
	}
	defer staged.Close()
	_, missing, err := e.compareLines(f, tg, staged, size)
	return len(missing) == 0, err
}
