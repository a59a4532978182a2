package transaction

import (
	"errors"
	"os"

	"github.com/iamfaham/recolva/internal/storefs"
)

// Pending reports whether an interrupted run left a journal beside the file of
// that name, or the mark that one elsewhere concerns it. It only looks; a run
// that is at work shows the same.
func Pending(path string) (bool, error) {
	e := newEngine(storefs.OS(), Options{}, hooks{})
	real, err := e.fs.RealPath(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, suffix := range []string{journalSuffix, pendingSuffix} {
		if _, exists, err := e.lookup(placeAt(real).side(suffix)); err != nil || exists {
			return exists, err
		}
	}
	return false, nil
}
