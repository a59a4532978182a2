//go:build linux || darwin

package storefs

import (
	"bytes"
	"syscall"
	"unsafe"
)

// The calls take six arguments on macOS and five on Linux, which passes over the
// sixth; what is 0 here are the flags and macOS's position.

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
		_, _, errno := syscall.Syscall6(syscall.SYS_FSETXATTR, fd, uintptr(unsafe.Pointer(n)),
			uintptr(unsafe.Pointer(unsafe.SliceData(value))), uintptr(len(value)), 0, 0)
		if errno != 0 {
			return errno
		}
		return nil
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
		if errno != 0 {
			return 0, errno
		}
		return int(r), nil
	})
}

// sized runs an attribute call with the kernel's limit of 64 KiB as buffer.
func (f osFile) sized(what string, fn func(fd uintptr, buf []byte) (int, error)) ([]byte, error) {
	buf := make([]byte, 64<<10)
	n := 0
	err := f.call(what, func(fd uintptr) (err error) {
		n, err = fn(fd, buf)
		return err
	})
	return buf[:max(n, 0)], err
}
