//go:build linux || darwin

package storefs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openFlags keep an open from following a link planted under the name and
// from waiting for the other end of a FIFO.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_CLOEXEC

const renamesOpenFiles = true

func interrupted(err error) bool { return errors.Is(err, syscall.EINTR) }

// leased tells that an open was refused because of somebody's lease.
func leased(err error) bool { return errors.Is(err, syscall.EWOULDBLOCK) }

// absolute puts the working directory before a name, and leaves the rest as it
// is.
func absolute(name string) (string, error) {
	if name == "" || name[0] == '/' {
		return name, nil
	}
	dir, err := os.Getwd()
	return dir + "/" + name, err
}

func lstat(name string) (Info, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return Info{}, err
	}
	return infoOf(info), nil
}

func fstat(f *os.File) (Info, error) {
	info, err := f.Stat()
	if err != nil {
		return Info{}, err
	}
	return infoOf(info), nil
}

func infoOf(info fs.FileInfo) Info {
	st := info.Sys().(*syscall.Stat_t)
	i := Info{
		Dev: uint64(st.Dev), Ino: st.Ino, Mode: info.Mode(), Nlink: uint64(st.Nlink),
		UID: st.Uid, GID: st.Gid, Size: info.Size(), ModNanos: info.ModTime().UnixNano(),
	}
	i.ChangeNano = changeNanos(st)
	return i
}

// unlink removes a file, and never a directory, as os.Remove would.
func unlink(name string) error {
	for {
		err := syscall.Unlink(name)
		if !interrupted(err) {
			if err != nil {
				err = &fs.PathError{Op: "unlink", Path: name, Err: err}
			}
			return err
		}
	}
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) { // a file system without directory fsync
		err = nil
	}
	return errors.Join(err, d.Close())
}

func (f osFile) TryLock() (bool, error) {
	err := f.call("flock", func(fd uintptr) error {
		return syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB)
	})
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func (f osFile) Unlock() error {
	return f.call("flock", func(fd uintptr) error { return syscall.Flock(int(fd), syscall.LOCK_UN) })
}

func (f osFile) CopyAttributes(from File, what Attributes) error {
	model, err := from.Stat()
	if err != nil {
		return err
	}
	mode := model.Mode & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
	private, err := f.copyOwner(model, what)
	if err != nil {
		return err
	}
	if private {
		return f.Chmod(mode & 0o600)
	}
	if err := f.copyXattrs(from.(osFile), what); err != nil {
		return err
	}
	return f.Chmod(mode) // last: a change of owner clears set-id bits
}

// copyOwner gives the file its model's owner and group. private tells that
// this was not allowed and that AccessOnly permits going on without.
func (f osFile) copyOwner(model Info, what Attributes) (private bool, err error) {
	mine, err := f.Stat()
	if err != nil || mine.UID == model.UID && mine.GID == model.GID {
		return false, err
	}
	err = f.Chown(int(model.UID), int(model.GID))
	if err != nil && what == AccessOnly && errors.Is(err, fs.ErrPermission) {
		return true, nil
	}
	return false, err
}
