package storefs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// An open for writing waits while somebody looks who has the file open.
func TestOpenOutlivesALook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OS().OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if granted, err := f.(osFile).setLease(syscall.F_RDLCK); err != nil || !granted {
		t.Skipf("no leases here: %v", err)
	}
	time.AfterFunc(20*time.Millisecond, func() { _, _ = f.(osFile).setLease(syscall.F_UNLCK) })
	w, err := OS().OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatalf("opening beside a lease: %v", err)
	}
	_ = w.Close()
}
