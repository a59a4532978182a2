package storefs

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"unsafe"
)

// Root without CAP_LEASE, as containers have it, sees who has the file of another user open.
func TestLeaseWithoutCapability(t *testing.T) {
	name := filepath.Join(t.TempDir(), "store")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(name, 1234, 1234); err != nil {
		t.Skip(err)
	}
	seen := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with what it lost
		seen <- func() error {
			if err := dropLease(); err != nil {
				return err
			}
			f, err := OS().OpenFile(name, os.O_RDONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			for _, open := range []bool{false, true, false} {
				var w *os.File
				if open {
					if w, err = os.OpenFile(name, os.O_WRONLY, 0); err != nil {
						return err
					}
				}
				if writers, err := f.HasWriters(); err != nil || writers != open {
					t.Errorf("open for writing: %t, seen: %t (%v)", open, writers, err)
				}
				_ = w.Close()
			}
			return nil
		}()
	}()
	if err := <-seen; err != nil {
		t.Fatal(err)
	}
}

// dropLease takes CAP_LEASE from this thread.
func dropLease() error {
	const version3, capLease = 0x20080522, 28
	header := struct {
		version uint32
		pid     int32
	}{version: version3}
	var sets [2]struct{ effective, permitted, inheritable uint32 }
	for _, call := range []uintptr{syscall.SYS_CAPGET, syscall.SYS_CAPSET} {
		_, _, errno := syscall.RawSyscall(call, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets)), 0)
		if errno != 0 {
			return errno
		}
		sets[0].effective &^= 1 << capLease
		sets[0].permitted &^= 1 << capLease
	}
	return nil
}
