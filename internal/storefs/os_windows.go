package storefs

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"
)

const openFlags = 0

// Go opens files without FILE_SHARE_DELETE, so neither side of a rename may
// be open, in this process or in another one.
const renamesOpenFiles = false

var (
	kernel32         = syscall.NewLazyDLL("kernel32.dll")
	procLockFileEx   = kernel32.NewProc("LockFileEx")
	procUnlockFileEx = kernel32.NewProc("UnlockFileEx")
	procGetDriveType = kernel32.NewProc("GetDriveTypeW")
)

func interrupted(error) bool { return false }

func leased(error) bool { return false }

// unlink removes a file, and never a directory, as os.Remove would.
func unlink(name string) error {
	if info, err := os.Lstat(name); err == nil && info.IsDir() {
		return &os.PathError{Op: "unlink", Path: name, Err: syscall.EISDIR}
	}
	return os.Remove(name)
}

// absolute drops each ".." with what stands before it, as the system does.
func absolute(name string) (string, error) { return filepath.Abs(name) }

func lstat(name string) (Info, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return Info{}, err
	}
	i := Info{Mode: info.Mode(), Size: info.Size(), ModNanos: info.ModTime().UnixNano(), Nlink: 1}
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return Info{}, err
	}
	const openReparsePoint = 0x00200000 // FILE_FLAG_OPEN_REPARSE_POINT
	h, err := syscall.CreateFile(path, 0,
		syscall.FILE_SHARE_READ|syscall.FILE_SHARE_WRITE|syscall.FILE_SHARE_DELETE, nil,
		syscall.OPEN_EXISTING, syscall.FILE_FLAG_BACKUP_SEMANTICS|openReparsePoint, 0)
	if err != nil {
		return Info{}, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer syscall.CloseHandle(h)
	return i, identify(h, &i)
}

func fstat(f *os.File) (Info, error) {
	info, err := f.Stat()
	if err != nil {
		return Info{}, err
	}
	i := Info{Mode: info.Mode(), Size: info.Size(), ModNanos: info.ModTime().UnixNano(), Nlink: 1}
	err = osFile{File: f}.call("stat", func(fd uintptr) error { return identify(syscall.Handle(fd), &i) })
	return i, err
}

func identify(h syscall.Handle, i *Info) error {
	var d syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(h, &d); err != nil {
		return err
	}
	i.Dev = uint64(d.VolumeSerialNumber)
	i.Ino = uint64(d.FileIndexHigh)<<32 | uint64(d.FileIndexLow)
	i.Nlink = uint64(d.NumberOfLinks)
	return nil
}

// syncDir does nothing: Windows has no way to flush a directory. A sweep is
// safe there against the end of the process, not against a power cut.
func syncDir(string) error { return nil }

func network(dir string) (string, error) {
	root, err := syscall.UTF16PtrFromString(filepath.VolumeName(dir) + `\`)
	if err != nil {
		return "", err
	}
	const driveRemote = 4
	kind, _, _ := procGetDriveType.Call(uintptr(unsafe.Pointer(root)))
	if kind == driveRemote {
		return "network drive", nil
	}
	return "", nil
}

// The lock covers one byte far past the end, because Windows locks are
// mandatory: readers and appenders must not run into it.
const (
	lockOffsetHigh    = 0x40000000
	lockExclusive     = 2
	lockFailAtOnce    = 1
	errorLockConflict = syscall.Errno(33) // ERROR_LOCK_VIOLATION
)

func (f osFile) TryLock() (bool, error) {
	err := f.call("lock", func(fd uintptr) error {
		o := syscall.Overlapped{OffsetHigh: lockOffsetHigh}
		ok, _, err := procLockFileEx.Call(fd, lockExclusive|lockFailAtOnce, 0, 1, 0, uintptr(unsafe.Pointer(&o)))
		if ok == 0 {
			return err
		}
		return nil
	})
	if errors.Is(err, errorLockConflict) || errors.Is(err, syscall.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

func (f osFile) Unlock() error {
	return f.call("unlock", func(fd uintptr) error {
		o := syscall.Overlapped{OffsetHigh: lockOffsetHigh}
		ok, _, err := procUnlockFileEx.Call(fd, 0, 1, 0, uintptr(unsafe.Pointer(&o)))
		if ok == 0 {
			return err
		}
		return nil
	})
}

func (f osFile) Reserve(_, _ int64) error { return nil }

func (f osFile) HasWriters() (bool, error) { return false, ErrUnsupported }

func (f osFile) TryExclusive() (func(), bool, error) { return nil, false, ErrUnsupported }

// CopyAttributes keeps the read-only bit; access lists come from the directory.
func (f osFile) CopyAttributes(from File, _ Attributes) error {
	model, err := from.Stat()
	if err != nil {
		return err
	}
	return os.Chmod(f.Name(), model.Mode.Perm())
}
