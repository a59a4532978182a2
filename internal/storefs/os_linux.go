package storefs

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"
)

func changeNanos(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }

// networkMagic names the file systems (statfs f_type, from linux/magic.h and
// the file systems' own sources) on which locks, leases or appends may stay
// local to one machine or one server process.
var networkMagic = map[uint32]string{
	0x6969: "NFS", 0x517B: "SMB", 0xFF534D42: "CIFS", 0xFE534D42: "SMB2",
	0x01021997: "9p", 0x65735546: "FUSE", 0x5346414F: "AFS", 0x73757245: "Coda",
	0x564C: "NCP", 0x00C36400: "Ceph", 0x01161970: "GFS2", 0x7461636F: "OCFS2",
	0x0BD00BD0: "Lustre", 0x786F4256: "vboxsf", 0xBACBACBC: "vmhgfs", 0x7C7C6673: "prl_fs",
}

func network(dir string) (string, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return "", fmt.Errorf("statfs %s: %w", dir, err)
	}
	return networkMagic[uint32(st.Type)], nil
}

const fallocKeepSize = 1

func (f osFile) Reserve(offset, length int64) error {
	err := f.call("fallocate", func(fd uintptr) error {
		return syscall.Fallocate(int(fd), fallocKeepSize, offset, length)
	})
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return nil
	}
	return err
}

// setLease asks for a lease (fcntl F_SETLEASE). The kernel grants a read lease
// only while nobody has the file open for writing, and a write lease only
// while nobody else has it open at all.
func (f osFile) setLease(kind int) (bool, error) {
	err := f.call("lease", func(fd uintptr) error {
		err := fcntlLease(fd, kind)
		if errors.Is(err, syscall.EACCES) {
			err = asOwner(fd, func() error { return fcntlLease(fd, kind) })
		}
		return err
	})
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, syscall.EAGAIN):
		return false, nil
	default: // EINVAL: no leases on this file system; EACCES: neither the owner nor root
		return false, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
}

func fcntlLease(fd uintptr, kind int) error {
	_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_SETLEASE, uintptr(kind))
	if errno != 0 {
		return errno
	}
	return nil
}

// asOwner calls fn with the file rights of the file's owner, on this thread
// only. The kernel gives leases to the owner and to who has CAP_LEASE, which
// root in a container may lack.
func asOwner(fd uintptr, fn func() error) error {
	var st syscall.Stat_t
	if err := syscall.Fstat(int(fd), &st); err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = syscall.Setfsuid(int(st.Uid)) // it never says whether it could
	defer func() { _ = syscall.Setfsuid(os.Geteuid()) }()
	return fn()
}

func (f osFile) HasWriters() (bool, error) {
	granted, err := f.setLease(syscall.F_RDLCK)
	if err != nil {
		return false, err
	}
	if granted {
		_, err = f.setLease(syscall.F_UNLCK)
	}
	return !granted, err
}

func (f osFile) TryExclusive() (func(), bool, error) {
	granted, err := f.setLease(syscall.F_WRLCK)
	if err != nil || !granted {
		return nil, false, err
	}
	return func() { _, _ = f.setLease(syscall.F_UNLCK) }, true, nil
}

const accessACL = "system.posix_acl_access"

func (f osFile) copyXattrs(from osFile, what Attributes) error {
	names, err := from.listXattrs()
	if err != nil {
		return err
	}
	for _, name := range names {
		if what == AccessOnly && name != accessACL {
			continue
		}
		if err := f.copyXattr(from, name); err != nil && !optionalXattr(name) {
			return err
		}
	}
	return nil
}

// optionalXattr tells names that the system itself sets and may forbid us to
// set: their loss is not a loss of what the user attached to the file.
func optionalXattr(name string) bool {
	return strings.HasPrefix(name, "security.") || strings.HasPrefix(name, "trusted.")
}

func (f osFile) listXattrs() ([]string, error) {
	list, err := f.sized("list attributes", func(fd uintptr, buf []byte) (int, error) {
		r, _, errno := syscall.Syscall(syscall.SYS_FLISTXATTR, fd,
			uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)))
		if errno != 0 {
			return 0, errno
		}
		return int(r), nil
	})
	if errors.Is(err, syscall.EOPNOTSUPP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(string(list), func(r rune) bool { return r == 0 }), nil
}
