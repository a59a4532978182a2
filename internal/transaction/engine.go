package transaction

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/iamfaham/recolva/internal/storefs"
)

// chunkBytes bounds every buffer that does not have to hold a whole line.
const chunkBytes = 256 << 10

// engine carries what every step needs.
type engine struct {
	fs    storefs.FS
	opts  Options
	hooks hooks
	data  dataLocks
}

// hooks let the tests of this package make buffers small and switch off one
// step of the protocol, to prove that a test notices. They are zero in use.
type hooks struct {
	chunk int
	skip  step
}

func newEngine(fsys storefs.FS, o Options, h hooks) *engine {
	e := &engine{fs: fsys, opts: o, hooks: h}
	e.data.engine = e
	return e
}

func (e *engine) chunk() int {
	if e.hooks.chunk > 0 {
		return e.hooks.chunk
	}
	return chunkBytes
}

func (e *engine) skips(s step) bool { return e.hooks.skip == s }

func (e *engine) warn(text string) {
	if e.opts.Warn != nil {
		e.opts.Warn(text)
	}
}

func (e *engine) syncFile(f storefs.File, s step) error {
	if e.skips(s) {
		return nil
	}
	return f.Sync()
}

func (e *engine) syncDir(dir string, s step) error {
	if e.skips(s) {
		return nil
	}
	return e.fs.SyncDir(dir)
}

// lookup is Lstat that tells a missing file from an error.
func (e *engine) lookup(path string) (info storefs.Info, exists bool, err error) {
	info, err = e.fs.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return info, false, nil
	}
	return info, err == nil, err
}

// remove deletes a name if it is there.
func (e *engine) remove(path string) error {
	err := e.fs.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// create makes a file that must not exist yet, private to this user.
func (e *engine) create(path string) (storefs.File, error) {
	return e.fs.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

func (e *engine) deadline() time.Duration { return e.fs.Now() + e.opts.LockTimeout }
