package transaction

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/iamfaham/recolva/internal/storefs"
)

// coarse is a file system whose time stamps are as good as none.
type coarse struct{ storefs.FS }

type coarseFile struct{ storefs.File }

func (c coarse) OpenFile(name string, flag int, perm fs.FileMode) (storefs.File, error) {
	f, err := c.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return coarseFile{f}, nil
}

func (c coarse) Lstat(name string) (storefs.Info, error) {
	info, err := c.FS.Lstat(name)
	info.ModNanos, info.ChangeNano = 0, 0
	return info, err
}

func (f coarseFile) Stat() (storefs.Info, error) {
	info, err := f.File.Stat()
	info.ModNanos, info.ChangeNano = 0, 0
	return info, err
}

func (f coarseFile) CopyAttributes(from storefs.File, what storefs.Attributes) error {
	return f.File.CopyAttributes(from.(coarseFile).File, what)
}

// A file that is to be replaced is looked at once more where its times cannot
// tell that somebody changed it in place.
func TestChangeInOneTickBeforeReplacing(t *testing.T) {
	for _, change := range []string{"earlier\n", "changed\n"} {
		s := openShop(t)
		s.fs, s.files.ArchiveMode = coarse{storefs.OS()}, Replace
		s.put("archive", "earlier\n")
		err := s.sweep(func() { s.put("archive", change) })
		if same := change == "earlier\n"; same != (err == nil) || !same && !strings.Contains(err.Error(), "was changed meanwhile") {
			t.Errorf("%q: got %v", change, err)
		}
		if err != nil && s.get("archive") != change {
			t.Errorf("the archive holds %q", s.get("archive"))
		}
		s.noneLeft()
	}
}
