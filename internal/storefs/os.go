package storefs

import (
	"context"
	"io/fs"
	"os"
	"time"
)

// OS returns the real file system.
func OS() FS { return osFS{} }

type osFS struct{}

var processStart = time.Now()

func (osFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	for patience := openPatience; ; patience -= openPause {
		f, err := os.OpenFile(name, flag|openFlags, perm)
		if err == nil {
			return osFile{f, new(unsynced)}, nil
		}
		if !leased(err) || patience <= 0 {
			return nil, err
		}
		time.Sleep(openPause)
	}
}

// A probe for writers takes a lease for an instant, and whoever opens the file
// in that instant is sent away.
const openPatience, openPause = time.Second, time.Millisecond

func (osFS) Lstat(name string) (Info, error) { return lstat(name) }

func (osFS) Link(oldName, newName string) error   { return os.Link(oldName, newName) }
func (osFS) Rename(oldName, newName string) error { return os.Rename(oldName, newName) }
func (osFS) Remove(name string) error             { return unlink(name) }
func (osFS) SyncDir(dir string) error             { return syncDir(dir) }
func (osFS) Network(dir string) (string, error)   { return network(dir) }
func (osFS) Pid() int                             { return os.Getpid() }
func (osFS) RenamesOpenFiles() bool               { return renamesOpenFiles }
func (osFS) Now() time.Duration                   { return time.Since(processStart) }

func (osFS) UID() uint32 {
	if uid := os.Geteuid(); uid > 0 {
		return uint32(uid)
	}
	return 0
}

func (osFS) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// osFile adds to *os.File what the protocol needs beyond it; the rest is in
// the file of each system.
type osFile struct {
	*os.File
	unsynced *unsynced
}

func (f osFile) Stat() (Info, error) { return fstat(f.File) }

func (f osFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	if f.unsynced.grow(n) {
		f.startWriteBack()
	}
	return n, err
}

// unsynced counts the bytes written since the disk was last set to work, so
// that it works while more is written, and Sync finds little left to wait for.
type unsynced int64

const writeBackBytes = 8 << 20

// grow adds n bytes and tells whether that makes enough of them.
func (u *unsynced) grow(n int) bool {
	*u += unsynced(n)
	if *u < writeBackBytes {
		return false
	}
	*u = 0
	return true
}

// call runs fn on the descriptor, kept open meanwhile, again after an
// interrupting signal.
func (f osFile) call(what string, fn func(fd uintptr) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = conn.Control(func(fd uintptr) {
		for {
			inner = fn(fd)
			if !interrupted(inner) {
				return
			}
		}
	})
	if err == nil {
		err = inner
	}
	if err != nil {
		return &fs.PathError{Op: what, Path: f.Name(), Err: err}
	}
	return nil
}
