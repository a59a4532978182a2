package storefs

import (
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

func result(r uintptr, errno syscall.Errno) (int, error) {
	if errno != 0 {
		return 0, errno
	}
	return int(r), nil
}
