package transaction

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/iamfaham/recolva/internal/storefs"
)

// Files that are one file by any alias are refused.
func TestSameFileIsRefused(t *testing.T) {
	for _, alias := range []string{"dot", "symlink", "hard link", "bind mount", "parent link"} {
		t.Run(alias, func(t *testing.T) {
			s := openShop(t)
			other := s.path("other")
			switch alias {
			case "dot":
				other = s.dir + "/./store"
			case "symlink":
				_ = os.Symlink("store", other)
			case "hard link":
				_ = os.Link(s.path("store"), other)
			case "parent link":
				_ = os.Symlink(s.dir, filepath.Join(t.TempDir(), "d"))
				other = filepath.Join(s.dir, "..", filepath.Base(s.dir), "store")
			case "bind mount":
				needRoot(t)
				s.put("other", "")
				run(t, "mount", "--bind", s.path("store"), other)
				defer exec.Command("umount", other).Run()
			}
			s.files.Archive = other
			s.refuses(Refused, "are the same file")
			s.files.Archive, s.files.Audit = s.path("archive"), other
			s.refuses(Refused, "are the same file")
		})
	}
	t.Run("archive and audit that are not there", func(t *testing.T) {
		s := openShop(t)
		s.files.Audit = s.path("archive")
		s.refuses(Refused, "are the same file")
	})
}

// Only regular files with one name are changed.
func TestKindsAreRefused(t *testing.T) {
	s := openShop(t)
	_ = os.Mkdir(s.path("dir"), 0o755)
	_ = os.Symlink("nowhere", s.path("dangling"))
	_ = os.Symlink("loop", s.path("loop"))
	archive := s.files.Archive
	for name, text := range map[string]string{
		s.path("dir"): "is a directory", "/dev/zero": "is a device", "/dev/null": "is a device",
	} {
		s.files.Archive = name
		s.refuses(Refused, text)
	}
	if runtime.GOOS == "linux" {
		run(t, "mkfifo", s.path("fifo"))
		s.files.Archive = s.path("fifo")
		s.refuses(Refused, "is a FIFO")
	}
	s.files.Archive = s.path("dangling")
	s.refuses(Failed, "missing file")
	s.files.Archive = s.path("loop")
	s.refuses(Failed, "too many")
	s.files.Archive = s.path("no/where")
	s.refuses(Failed, "no such file")
	s.files.Archive = s.path(".store.recolva-journal")
	s.refuses(Refused, "keeps for itself")
	s.files.Archive = archive
	_ = os.Link(s.path("store"), s.path("second name"))
	s.refuses(Refused, "has 2 hard links")
}

// A read-only file system gives one clear error and changes nothing.
func TestReadOnlyDirectory(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	run(t, "mount", "-t", "tmpfs", "none", dir)
	defer exec.Command("umount", dir).Run()
	s := shopIn(t, dir)
	run(t, "mount", "-o", "remount,ro", dir)
	s.refuses(Failed, "read-only file system")
}

// A store that was rewritten or replaced meanwhile is refused, unchanged.
func TestRewrittenStoreIsRefused(t *testing.T) {
	for name, change := range map[string]func(s *shop){
		"rewritten": func(s *shop) {
			f, _ := os.OpenFile(s.path("store"), os.O_WRONLY, 0)
			_, _ = f.WriteAt([]byte("y"), 30)
			_ = f.Close()
		},
		"replaced": func(s *shop) {
			s.put("fresh", s.get("store"))
			_ = os.Rename(s.path("fresh"), s.path("store"))
		},
		"cut": func(s *shop) { _ = os.Truncate(s.path("store"), 5) },
	} {
		s := openShop(t)
		var changed string
		err := s.sweep(func() { change(s); changed = s.get("store") })
		if ClassOf(err) != Refused || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
		if s.get("store") != changed || s.get("archive")+s.get("audit") != "" {
			t.Errorf("%s: something was changed", name)
		}
		s.noneLeft()
	}
}

// A journal that somebody else could have planted is not followed.
func TestPlantedJournalNeedsAPerson(t *testing.T) {
	s := openShop(t)
	s.put("victim", "precious\n")
	info, _ := storefs.OS().Lstat(s.path("victim"))
	j := &journal{Version: 1, Home: "store", Targets: []target{{
		Role: roleArchive, Path: "victim", Mode: modeAppend, Existed: true, Ino: info.Ino, Size: 0, Bytes: 9, SHA256: strings.Repeat("0", 64),
	}}}
	note, _ := encodeNote(j)
	path := s.path(".store.recolva-journal")
	for name, plant := range map[string]func(){
		"can be written by others": func() { _ = os.WriteFile(path, note, 0o600); _ = os.Chmod(path, 0o666) },
		"is damaged":               func() { _ = os.WriteFile(path, append(note, 'x'), 0o600) },
		"concerns it":              func() { _ = os.WriteFile(path, note, 0o600) },
		"did not write": func() {
			mark, _ := encodeNote(&pointer{Version: 1, Home: "store"})
			_ = os.WriteFile(path, note, 0o600)
			_ = os.WriteFile(s.path(".victim.recolva-pending"), mark, 0o600)
		},
		"is a directory": func() { _ = os.Mkdir(path, 0o700) },
		"other names":    func() { _ = os.WriteFile(s.path("j"), note, 0o600); _ = os.Link(s.path("j"), path) },
	} {
		plant()
		err := s.sweep(nil)
		if ClassOf(err) != NeedsPerson || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
		if s.get("victim") != "precious\n" {
			t.Fatalf("%s: the victim was cut", name)
		}
		_ = os.RemoveAll(path)
		_ = os.Remove(s.path("j"))
		_ = os.Remove(s.path(".victim.recolva-pending"))
	}
}

// A dry-run tells what a mutation would refuse.
func TestDryRunTellsWhatWouldBeRefused(t *testing.T) {
	s := openShop(t)
	_ = os.Link(s.path("store"), s.path("second name"))
	tx, err := Begin(context.Background(), storefs.OS(), s.files, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if got := tx.WouldRefuse(); len(got) != 1 || !strings.Contains(got[0], "2 hard links") {
		t.Errorf("got %q", got)
	}
}

// A lock file that is another name of some file is not written into, be it the
// store itself.
func TestPlantedLockIsNotWrittenInto(t *testing.T) {
	s := openShop(t)
	s.put("victim", "precious\n")
	for _, victim := range []string{"victim", "store", "archive"} {
		for _, locked := range []string{"store", "archive", "audit"} {
			lock := s.path("." + locked + ".recolva-lock")
			s.put("archive", "earlier\n")
			before := s.get(victim)
			if err := os.Link(s.path(victim), lock); err != nil {
				t.Fatal(err)
			}
			err := s.sweep(nil)
			if ClassOf(err) != Refused || !strings.Contains(err.Error(), "2 names (hard links)") {
				t.Errorf("%s as the lock of %s: got %v", victim, locked, err)
			}
			if got := s.get(victim); got != before {
				t.Fatalf("%s was changed to %q", victim, got)
			}
			_ = os.Remove(lock)
			s.noneLeft()
		}
	}
}

// A name that ends like a directory's is refused, not taken for a file's.
func TestDirectoryNamesAreRefused(t *testing.T) {
	s := openShop(t)
	s.files.Archive = s.path("archives") + "/"
	s.refuses(Refused, "names a directory")
	s.files.Archive, s.files.Input = s.path("archive"), s.path("store")+"/"
	s.refuses(Refused, "names a directory")
}

// What has no name of its own is refused in plain words.
func TestNamelessInputIsRefused(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	s := openShop(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	s.files.Input = fmt.Sprintf("/proc/self/fd/%d", r.Fd())
	s.refuses(Failed, "has no name")
	s.files.Input = s.path("gone")
	s.put("gone", "x\n")
	f, err := os.Open(s.files.Input)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_ = os.Remove(s.files.Input)
	s.files.Input = fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	s.refuses(Failed, "has no name")
}

// A name is swept up to the length that leaves room for the files beside it;
// a longer one is refused before anything is made.
func TestLongNames(t *testing.T) {
	s := openShop(t)
	content := s.get("store")
	for n, fits := range map[int]bool{maxNameBytes: true, maxNameBytes + 1: false, 241: false, 255: false} {
		for _, role := range []*string{&s.files.Input, &s.files.Archive, &s.files.Audit} {
			before := s.files
			name := strings.Repeat("n", n)
			*role = s.path(name)
			s.put("store", content)
			if role == &s.files.Input {
				s.put(name, content)
			}
			if !fits {
				s.refuses(Refused, fmt.Sprintf("has a name of %d bytes", n))
			} else if err := s.sweep(nil); err != nil {
				t.Errorf("%d bytes: %v", n, err)
			}
			s.noneLeft()
			s.files = before
			_ = os.Remove(s.path(name))
		}
	}
	s.put(strings.Repeat("n", 255), content)
	s.opts.Mutate, s.files = false, Files{Input: s.path(strings.Repeat("n", 255))}
	if err := s.sweep(nil); err != nil {
		t.Errorf("dry-run of a long name: %v", err)
	}
}

// A directory that has the name of a temporary file is left alone, though it is
// empty: the sweep is refused.
func TestDirectoriesAreNotCleanedUp(t *testing.T) {
	for _, suffix := range allSides {
		s := openShop(t)
		path := s.path(".store.recolva-" + suffix)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		phrase := "is a directory, and would have the name of a temporary file"
		class := Refused
		if suffix == pendingSuffix {
			phrase, class = "is a directory", NeedsPerson
		}
		if err := s.sweep(nil); ClassOf(err) != class || !strings.Contains(err.Error(), phrase) {
			t.Errorf("%s: sweep: %v", suffix, err)
		}
		if err := s.recover(); ClassOf(err) != class || !strings.Contains(err.Error(), phrase) {
			t.Errorf("%s: recover: %v", suffix, err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}
