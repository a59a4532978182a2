package transaction

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/iamfaham/recolva/internal/storefs"
)

// foldingFS is a file system that takes names for equal which differ in case
// only, as those of macOS and Windows do.
type foldingFS struct{ storefs.FS }

func folded(name string) string {
	return filepath.Join(filepath.Dir(name), strings.ToLower(filepath.Base(name)))
}

func (f foldingFS) OpenFile(name string, flag int, perm fs.FileMode) (storefs.File, error) {
	return f.FS.OpenFile(folded(name), flag, perm)
}
func (f foldingFS) Lstat(name string) (storefs.Info, error) { return f.FS.Lstat(folded(name)) }
func (f foldingFS) Link(oldName, newName string) error {
	return f.FS.Link(folded(oldName), folded(newName))
}
func (f foldingFS) Rename(oldName, newName string) error {
	return f.FS.Rename(folded(oldName), folded(newName))
}
func (f foldingFS) Remove(name string) error { return f.FS.Remove(folded(name)) }

// Where case does not count, two names of one file are refused, whether it is there or not.
func TestNamesThatDifferInCase(t *testing.T) {
	for _, c := range []struct{ input, archive, audit string }{
		{"store", "Store", "audit"},
		{"STORE", "archive", "store"},
		{"store", "New", "NEW"},
		{"store", "Old", "oLD"},
	} {
		s := openShop(t)
		s.fs = foldingFS{storefs.OS()}
		s.put("old", "earlier\n")
		s.files = Files{Input: s.path(c.input), Archive: s.path(c.archive), Audit: s.path(c.audit)}
		s.refuses(Refused, "are the same file")
	}
}

// The other case of a store's name sweeps the same store, and the next sweep finds what it left.
func TestStoreInAnotherCase(t *testing.T) {
	s := openShop(t)
	s.fs = foldingFS{storefs.OS()}
	s.files.Input = s.path("StOrE")
	s.mustSweep()
	s.files.Input = s.path("store")
	s.mustSweep()
	if got := s.get("archive"); strings.Count(got, "\n") != 1 {
		t.Errorf("the archive holds %q, want one line", got)
	}
	s.noneLeft()
}

// A run that was killed is settled by any path, also where it used two for one directory.
func TestRecoveryOverABindMount(t *testing.T) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("mounting needs Linux and root")
	}
	for _, committed := range []bool{false, true} {
		for i := range 4 {
			s := openShop(t)
			twice := t.TempDir()
			if out, err := exec.Command("mount", "--bind", s.dir, twice).CombinedOutput(); err != nil {
				t.Skipf("no mount is allowed here: %v: %s", err, out)
			}
			t.Cleanup(func() { _ = exec.Command("umount", twice).Run() })
			s.files = Files{Input: filepath.Join(twice, "store"), Archive: s.path("archive"), Audit: filepath.Join(twice, "audit")}
			s.fs = stopped{storefs.OS(), s.files.Input, !committed}
			func() {
				defer func() { _ = recover() }()
				_ = s.sweep(nil)
			}()
			path := []string{s.path("store"), s.files.Input, s.path("archive"), filepath.Join(twice, "archive")}[i]
			r, err := Recover(context.Background(), storefs.OS(), path, s.opts)
			if err != nil || !r.Found || r.Committed > 0 != committed {
				t.Errorf("by %s: %+v, %v", path, r, err)
			}
			if got := strings.Count(s.get("store")+s.get("archive"), "\n"); got != 3 {
				t.Errorf("%d records are left of 3", got)
			}
		}
	}
}

// A killed run that had changed nothing does not bind its store to a disk that is read-only by now.
func TestHintOnAReadOnlyDisk(t *testing.T) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("mounting needs Linux and root")
	}
	s := openShop(t)
	disk := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "none", disk).CombinedOutput(); err != nil {
		t.Skipf("no mount is allowed here: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", disk).Run() })
	elsewhere := placeAt(filepath.Join(disk, "archive"))
	if err := os.WriteFile(elsewhere.side(lockSuffix), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.put(".store.recolva-lock", fmt.Sprintf(`{"pid":1,"with":[%q]}`+"\n", elsewhere.path))
	if out, err := exec.Command("mount", "-o", "remount,ro", disk).CombinedOutput(); err != nil {
		t.Skipf("no mount is allowed here: %v: %s", err, out)
	}
	if err := s.recover(); err != nil {
		t.Errorf("recovery: %v", err)
	}
	s.mustSweep()
	s.noneLeft()
}

// A directory that is mounted twice gives every file two names that no path reveals.
func TestBindMount(t *testing.T) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("mounting needs Linux and root")
	}
	s := openShop(t)
	twice := t.TempDir()
	if out, err := exec.Command("mount", "--bind", s.dir, twice).CombinedOutput(); err != nil {
		t.Skipf("no mount is allowed here: %v: %s", err, out)
	}
	defer func() {
		if out, err := exec.Command("umount", twice).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}()
	store := filepath.Join(twice, "store")
	for _, files := range []Files{
		{Input: s.path("store"), Archive: store},
		{Input: store, Archive: s.path("archive"), Audit: s.path("store")},
		{Input: store, Archive: s.path("archive"), Audit: filepath.Join(twice, "archive")},
	} {
		s.files = files
		s.refuses(Refused, "are the same file")
	}
}
