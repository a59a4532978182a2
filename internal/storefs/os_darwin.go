package storefs

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"unsafe"
)

func changeNanos(st *syscall.Stat_t) int64 { return st.Ctimespec.Nano() }

const mountLocal = 0x1000 // MNT_LOCAL in sys/mount.h

func network(dir string) (string, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return "", fmt.Errorf("statfs %s: %w", dir, err)
	}
	if st.Flags&mountLocal != 0 {
		return "", nil
	}
	var name []byte
	for _, c := range st.Fstypename {
		if c == 0 {
			break
		}
		name = append(name, byte(c))
	}
	return string(name), nil
}

// Reserve does nothing: F_PREALLOCATE may round up past a quota.
func (f osFile) Reserve(_, _ int64) error { return nil }

func (f osFile) HasWriters() (bool, error) { return false, ErrUnsupported }

func (f osFile) TryExclusive() (func(), bool, error) { return nil, false, ErrUnsupported }

// copyXattrs copies the extended attributes. macOS keeps its ACLs elsewhere;
// AccessOnly has nothing to copy.
func (f osFile) copyXattrs(from osFile, what Attributes) error {
	if what == AccessOnly {
		return nil
	}
	list, err := from.sized("list attributes", func(fd uintptr, buf []byte) (int, error) {
		r, _, errno := syscall.Syscall6(syscall.SYS_FLISTXATTR, fd,
			uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), 0, 0, 0)
		return result(r, errno)
	})
	if errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range strings.FieldsFunc(string(list), func(r rune) bool { return r == 0 }) {
		err := f.copyXattr(from, name)
		if err != nil && !strings.HasPrefix(name, "com.apple.") {
			return err
		}
	}
	return nil
}

func (f osFile) copyXattr(from osFile, name string) error {
	value, err := from.xattr(name)
	if err != nil {
		return err
	}
	if mine, err := f.xattr(name); err == nil && bytes.Equal(mine, value) {
		return nil
	}
	n, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	return f.call("set attribute "+name, func(fd uintptr) error {
		_, err := result2(syscall.Syscall6(syscall.SYS_FSETXATTR, fd, uintptr(unsafe.Pointer(n)),
			uintptr(unsafe.Pointer(unsafe.SliceData(value))), uintptr(len(value)), 0, 0))
		return err
	})
}

func (f osFile) xattr(name string) ([]byte, error) {
	n, err := syscall.BytePtrFromString(name)
	if err != nil {
		return nil, err
	}
	return f.sized("get attribute "+name, func(fd uintptr, buf []byte) (int, error) {
		r, _, errno := syscall.Syscall6(syscall.SYS_FGETXATTR, fd, uintptr(unsafe.Pointer(n)),
			uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), 0, 0)
		return result(r, errno)
	})
}

func (f osFile) sized(what string, fn func(fd uintptr, buf []byte) (int, error)) ([]byte, error) {
	buf := make([]byte, 64<<10)
	n := 0
	err := f.call(what, func(fd uintptr) (err error) {
		n, err = fn(fd, buf)
		return err
	})
	return buf[:max(n, 0)], err
}

func result(r uintptr, errno syscall.Errno) (int, error) {
	if errno != 0 {
		return 0, errno
	}
	return int(r), nil
}

func result2(r, _ uintptr, errno syscall.Errno) (int, error) { return result(r, errno) }
