package transaction

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
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
	sum := sha256.New()
	err := e.copyRange(sum, f, 0, bytes)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil
	}
	return hex.EncodeToString(sum.Sum(nil)) == want, err
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
