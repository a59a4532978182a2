package storefs_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/iamfaham/recolva/internal/storefs"
	"github.com/iamfaham/recolva/internal/storefs/simfs"
)

// TestContract: the real file system and the simulated one keep the same
// promises, so that what the simulator proves holds outside it.
func TestContract(t *testing.T) {
	t.Run("OS", func(t *testing.T) { checkContract(t, storefs.OS(), t.TempDir()) })
	t.Run("simulated", func(t *testing.T) { checkContract(t, simfs.New("/d").Process(1), "/d") })
}

const appendFlags = os.O_RDWR | os.O_APPEND

func open(t *testing.T, fsys storefs.FS, name string, flag int) storefs.File {
	t.Helper()
	f, err := fsys.OpenFile(name, flag, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func checkContract(t *testing.T, fsys storefs.FS, dir string) {
	a, b := dir+"/a", dir+"/b"
	if _, err := fsys.Lstat(a); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Lstat of a missing file: %v", err)
	}
	f := open(t, fsys, a, appendFlags|os.O_CREATE|os.O_EXCL)
	if _, err := fsys.OpenFile(a, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("O_EXCL on an existing file: %v", err)
	}
	g := open(t, fsys, a, appendFlags)
	_, _ = f.Write([]byte("one"))
	_, _ = g.Write([]byte("two"))
	var buf [8]byte
	if n, _ := f.ReadAt(buf[:], 0); string(buf[:n]) != "onetwo" {
		t.Errorf("two appends give %q", buf[:n])
	}
	checkLocks(t, f, g)
	checkLeases(t, fsys, a, f, g)
	checkNames(t, fsys, a, b)
	if err := f.Truncate(3); err != nil {
		t.Error(err)
	}
	if info, _ := f.Stat(); info.Size != 3 {
		t.Errorf("%d bytes after the cut", info.Size)
	}
	if err := errors.Join(f.Sync(), fsys.SyncDir(dir), f.Reserve(3, 10)); err != nil {
		t.Error(err)
	}
}

func checkLocks(t *testing.T, f, g storefs.File) {
	got, err := f.TryLock()
	second, err2 := g.TryLock()
	if !got || second || err != nil || err2 != nil {
		t.Errorf("locks: %t %v, then %t %v", got, err, second, err2)
	}
	_ = f.Unlock()
	if got, _ := g.TryLock(); !got {
		t.Error("the lock is not free after Unlock")
	}
	_ = g.Unlock()
}

func checkLeases(t *testing.T, fsys storefs.FS, name string, f, g storefs.File) {
	reader := open(t, fsys, name, os.O_RDONLY)
	writers, err := reader.HasWriters()
	if errors.Is(err, storefs.ErrUnsupported) {
		if runtime.GOOS == "linux" {
			t.Skip("no leases on this file system")
		}
		return
	}
	if !writers || err != nil {
		t.Errorf("writers: %t, %v, want two", writers, err)
	}
	if _, ok, _ := f.TryExclusive(); ok {
		t.Error("exclusive, while others have the file open")
	}
	_ = g.Close()
	_ = reader.Close()
	release, ok, err := f.TryExclusive()
	if !ok || err != nil {
		t.Fatalf("not exclusive: %v", err)
	}
	release()
	_ = f.Unlock()
}

func checkNames(t *testing.T, fsys storefs.FS, a, b string) {
	if err := fsys.Link(a, b); err != nil {
		t.Fatal(err)
	}
	if err := fsys.Link(a, b); !errors.Is(err, fs.ErrExist) {
		t.Errorf("link over a name: %v", err)
	}
	info, _ := fsys.Lstat(a)
	if other, _ := fsys.Lstat(b); !info.SameFile(other) || info.Nlink != 2 {
		t.Errorf("after a link: %+v %+v", info, other)
	}
	if err := fsys.Rename(a, b); err != nil {
		t.Error(err)
	}
	if _, err := fsys.Lstat(a); err != nil && runtime.GOOS != "windows" {
		t.Error("a rename between two names of one file must change nothing")
	}
	if err := fsys.Remove(b); err != nil {
		t.Error(err)
	}
	if err := fsys.Remove(b); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removing a missing file: %v", err)
	}
}

// TestRemoveKeepsDirectories: a directory, even an empty one, is not removed.
func TestRemoveKeepsDirectories(t *testing.T) {
	path := filepath.Join(t.TempDir(), "directory")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := storefs.OS().Remove(path); err == nil {
		t.Error("it was removed")
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// TestPowerCut: what was made durable survives, what was not may be lost whole,
// and a rename is never half done.
func TestPowerCut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	d := simfs.New("/d")
	d.Put("/d/old", []byte("old"), 0o600)
	p := d.Process(1)
	f := open(t, p, "/d/new", appendFlags|os.O_CREATE)
	_, _ = f.Write(bytes.Repeat([]byte{'s'}, 200))
	_ = errors.Join(f.Sync(), p.SyncDir("/d"))
	_, _ = f.Write(bytes.Repeat([]byte{'u'}, 200))
	_ = p.Rename("/d/new", "/d/old")
	seen := map[string]bool{}
	for range 200 {
		c := d.PowerCut(simfs.Subset, r)
		old, _ := c.Get("/d/old")
		renamed, isNew := c.Get("/d/new")
		switch {
		case isNew == (string(old) != "old"):
			t.Fatal("the rename is half done")
		case isNew:
			old = renamed
		}
		if !bytes.HasPrefix(old, bytes.Repeat([]byte{'s'}, 200)) {
			t.Fatalf("durable bytes were lost: %q", old)
		}
		seen[string(old)] = true
	}
	if len(seen) < 4 {
		t.Errorf("only %d outcomes of a torn write", len(seen))
	}
	none := d.PowerCut(simfs.None, r)
	if data, _ := none.Get("/d/new"); len(data) != 200 {
		t.Errorf("%d bytes without what was not durable", len(data))
	}
}

// TestFailedFsyncDrops: after a failed fsync a second one succeeds and proves
// nothing.
func TestFailedFsyncDrops(t *testing.T) {
	d := simfs.New("/d")
	d.Put("/d/f", []byte("kept"), 0o600)
	p := d.Process(1)
	f := open(t, p, "/d/f", appendFlags)
	_, _ = f.Write([]byte("dropped"))
	p.Before = func(name, _ string, _ bool) simfs.Fault {
		if name == "fsync" {
			return simfs.Fail
		}
		return simfs.NoFault
	}
	if f.Sync() == nil {
		t.Error("the fault did not come")
	}
	p.Before = nil
	if err := f.Sync(); err != nil {
		t.Error(err)
	}
	if data, _ := d.PowerCut(simfs.All, nil).Get("/d/f"); string(data) != "kept" {
		t.Errorf("%q survived", data)
	}
}
