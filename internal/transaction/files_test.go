package transaction

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iamfaham/recolva/internal/storefs"
)

// shop is a directory with real files.
type shop struct {
	*testing.T
	dir   string
	fs    storefs.FS
	files Files
	opts  Options
}

func openShop(t *testing.T) *shop {
	t.Helper()
	return shopIn(t, t.TempDir())
}

func shopIn(t *testing.T, dir string) *shop {
	s := &shop{T: t, dir: dir, fs: storefs.OS()}
	s.files = Files{Input: s.path("store"), Archive: s.path("archive"), Audit: s.path("audit")}
	s.opts = Options{Mutate: true, LockTimeout: 2 * time.Second}
	s.put("store", record("a", true)+"\n"+record("b", false)+"\n"+record("c", true)+"\n")
	return s
}

func (s *shop) path(name string) string { return filepath.Join(s.dir, name) }

func (s *shop) put(name, text string) {
	s.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o640); err != nil {
		s.Fatal(err)
	}
}

func (s *shop) get(name string) string {
	data, _ := os.ReadFile(s.path(name))
	return string(data)
}

// sweep prunes the weak records; during is called before the commit.
func (s *shop) sweep(during func()) error {
	t, err := Begin(context.Background(), s.fs, s.files, s.opts)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(t.Input())
	for line := range bytes.Lines(data) {
		switch {
		case t.Retained() == nil:
		case isStrong(line):
			_, err = t.Retained().Write(line)
		default:
			_, err = t.Pruned().Write(line)
		}
		if err == nil && t.Audit() != nil {
			_, err = fmt.Fprintf(t.Audit(), "{\"id\":\"%s\",\"pruned\":%t}\n", recordID(string(line)), !isStrong(line))
		}
		if err != nil {
			return errors.Join(err, t.Rollback())
		}
	}
	if err != nil {
		return errors.Join(err, t.Rollback())
	}
	if during != nil {
		during()
	}
	_, _, err = t.Commit(context.Background(), nil, func(Final) []byte { return []byte(runMark + `"prev":"` + t.Prev() + "\"}\n") })
	return err
}

func (s *shop) mustSweep() {
	s.Helper()
	if err := s.sweep(nil); err != nil {
		s.Fatal(err)
	}
}

// refuses wants an error of a class whose text holds a phrase, and nothing
// changed or left behind.
func (s *shop) refuses(class Class, phrase string) {
	s.Helper()
	before := s.get("store")
	err := s.sweep(nil)
	if err == nil || ClassOf(err) != class || !strings.Contains(err.Error(), phrase) {
		s.Errorf("got %v (class %d), want %q (class %d)", err, ClassOf(err), phrase, class)
	}
	if s.get("store") != before {
		s.Error("the store was changed")
	}
	s.noneLeft()
}

func (s *shop) noneLeft() {
	s.Helper()
	entries, _ := os.ReadDir(s.dir)
	for _, e := range entries {
		if strings.Contains(e.Name(), sideMark) {
			s.Errorf("%s is left", e.Name())
		}
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("needs root on Linux")
	}
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Skipf("%s %v: %v: %s", name, args, err, out)
	}
}

// A second archive run adds to the archive, with a newline where it lacks one.
func TestArchiveAdds(t *testing.T) {
	s := openShop(t)
	s.put("archive", "older")
	s.mustSweep()
	if want := "older\n" + record("b", false) + "\n"; s.get("archive") != want {
		t.Errorf("archive is %q, want %q", s.get("archive"), want)
	}
	if want := record("a", true) + "\n" + record("c", true) + "\n"; s.get("store") != want {
		t.Errorf("store is %q, want %q", s.get("store"), want)
	}
	s.noneLeft()
}

// A sweep that prunes nothing touches neither store nor archive.
func TestNothingPrunedTouchesNothing(t *testing.T) {
	s := openShop(t)
	s.put("store", record("a", true))
	before, _ := os.Stat(s.path("store"))
	s.mustSweep()
	after, _ := os.Stat(s.path("store"))
	if !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Error("the store was touched")
	}
	if _, err := os.Stat(s.path("archive")); err == nil {
		t.Error("an archive was made")
	}
	s.noneLeft()
}

// A symbolic link to the store goes on pointing; its target is replaced.
func TestSymlinkedStoreStaysLinked(t *testing.T) {
	s := openShop(t)
	_ = os.Symlink("store", s.path("link"))
	s.files.Input = s.path("link")
	s.mustSweep()
	if to, err := os.Readlink(s.path("link")); err != nil || to != "store" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if strings.Contains(s.get("store"), `"b"`) {
		t.Error("the target was not swept")
	}
	s.noneLeft()
}

// Mode, owner, extended attributes and ACL of a replaced store are kept, and a
// new archive is no wider than the store.
func TestAttributesAreKept(t *testing.T) {
	needRoot(t)
	s := openShop(t)
	store := s.path("store")
	_ = os.Chmod(store, 0o604)
	_ = os.Chown(store, 1234, 5678)
	run(t, "setfattr", "-n", "user.note", "-v", "kept", store)
	run(t, "setfacl", "-m", "u:4321:r", store)
	before, _ := storefs.OS().Lstat(store)
	acl, _ := exec.Command("getfacl", "-n", "-c", store).Output()
	s.mustSweep()
	for _, name := range []string{"store", "archive", "audit"} {
		after, _ := storefs.OS().Lstat(s.path(name))
		if after.Mode != before.Mode || after.UID != before.UID || after.GID != before.GID {
			t.Errorf("%s: %v %d:%d, want %v %d:%d", name, after.Mode, after.UID, after.GID, before.Mode, before.UID, before.GID)
		}
		now, _ := exec.Command("getfacl", "-n", "-c", s.path(name)).Output()
		if !bytes.Equal(now, acl) {
			t.Errorf("%s: the ACL is %s, want %s", name, now, acl)
		}
	}
	note, _ := exec.Command("getfattr", "--only-values", "-n", "user.note", store).Output()
	if string(note) != "kept" {
		t.Errorf("the attribute is %q", note)
	}
}

// Whatever space a disk has, a sweep does all or nothing.
func TestFullDisk(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	run(t, "mount", "-t", "tmpfs", "-o", "size=256k", "none", dir)
	defer exec.Command("umount", dir).Run()
	s := shopIn(t, dir)
	done, refused := 0, 0
	for free := 0; free < 112; free += 4 {
		var store strings.Builder
		for i := range 300 {
			store.WriteString(record(fmt.Sprintf("n%d", i), i%3 != 0) + "\n")
		}
		_ = os.Remove(s.path("filler"))
		_ = os.Remove(s.path("archive"))
		_ = os.Remove(s.path("audit"))
		s.put("store", store.String())
		filler, _ := os.Create(s.path("filler"))
		for filler.Truncate(0); ; {
			if _, err := filler.Write(make([]byte, 4096)); err != nil {
				break
			}
		}
		info, _ := filler.Stat()
		_ = filler.Truncate(max(0, info.Size()-int64(free)<<10))
		_ = filler.Close()
		err := s.sweep(nil)
		lines := strings.Count(s.get("store")+s.get("archive"), "\n")
		switch {
		case lines != 300:
			t.Fatalf("%d KiB free: %d lines are left, error %v", free, lines, err)
		case err == nil:
			done++
			if s.get("store") == store.String() {
				t.Fatalf("%d KiB free: nothing was swept", free)
			}
		default:
			refused++
			if s.get("store") != store.String() || s.get("archive") != "" || s.get("audit") != "" || ClassOf(err) != Failed {
				t.Fatalf("%d KiB free: changed in spite of %v", free, err)
			}
		}
		s.noneLeft()
	}
	if done == 0 || refused == 0 {
		t.Errorf("%d done, %d refused: both must occur", done, refused)
	}
}

// A second sweep waits, then is refused and names the process that holds the
// store.
func TestSweepsExcludeEachOther(t *testing.T) {
	s := openShop(t)
	err := s.sweep(func() {
		other := *s
		other.opts.LockTimeout = 30 * time.Millisecond
		other.files.Archive = s.path("another archive")
		want := fmt.Sprintf("process %d", os.Getpid())
		if err := other.sweep(nil); ClassOf(err) != Refused || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got %v, want a refusal that names %s", err, want)
		}
		other.files = Files{Input: s.path("archive other"), Archive: s.path("store")}
		other.put("archive other", "x\n")
		if err := other.sweep(nil); ClassOf(err) != Refused {
			t.Errorf("got %v for the store as an archive", err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	s.noneLeft()
}

// Sweeps that move records in opposite directions never wait for each other.
func TestOppositeMovesDoNotDeadlock(t *testing.T) {
	s := openShop(t)
	var group sync.WaitGroup
	for _, files := range []Files{{Input: "x", Archive: "y"}, {Input: "y", Archive: "x"}} {
		s.put(files.Input, record("k"+files.Input, false)+"\n")
		group.Go(func() {
			mine := *s
			mine.opts.LockTimeout = 20 * time.Second
			mine.files = Files{Input: s.path(files.Input), Archive: s.path(files.Archive)}
			for range 15 {
				if err := mine.sweep(nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	all := s.get("x") + s.get("y")
	for _, id := range []string{"kx", "ky"} {
		if strings.Count(all, `"`+id+`"`) != 1 {
			t.Errorf("%s is there %d times", id, strings.Count(all, `"`+id+`"`))
		}
	}
	s.noneLeft()
}

// Lines that others append while a sweep runs are carried over, whether they
// open the store for each line or hold it open.
func TestAppendedLinesAreCarriedOver(t *testing.T) {
	for _, held := range []bool{false, true} {
		t.Run(fmt.Sprintf("held=%t", held), func(t *testing.T) {
			if held && runtime.GOOS != "linux" {
				t.Skip("needs leases")
			}
			s := openShop(t)
			stop := make(chan bool)
			var written []string
			var writer sync.WaitGroup
			writer.Go(func() { written = s.appendUntil(stop, held) })
			for range 10 {
				if err := s.sweep(func() { time.Sleep(3 * time.Millisecond) }); err != nil {
					t.Error(err)
					break
				}
			}
			close(stop)
			writer.Wait()
			if _, err := Recover(context.Background(), storefs.OS(), s.files.Input, s.opts); err != nil {
				t.Fatal(err)
			}
			all := s.get("store") + s.get("archive")
			for _, line := range written {
				if n := strings.Count(all, line+"\n"); n != 1 {
					t.Fatalf("%d times: %s", n, line)
				}
			}
			if len(written) < 10 {
				t.Errorf("only %d lines were written", len(written))
			}
			s.noneLeft()
		})
	}
}

// appendUntil appends lines without any lock: one per opening, or several.
func (s *shop) appendUntil(stop chan bool, held bool) (written []string) {
	for n := 0; ; {
		select {
		case <-stop:
			return written
		default:
		}
		f, err := os.OpenFile(s.path("store"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			s.Error(err)
			return written
		}
		for k := 0; k == 0 || held && k < 5; k++ {
			line := record(fmt.Sprintf("w%d", n), n%2 == 0)
			n++
			if _, err := f.WriteString(line + "\n"); err == nil {
				written = append(written, line)
			}
			time.Sleep(100 * time.Microsecond)
		}
		_ = f.Close()
	}
}

// While a writer holds the old file open for good, the sweep is committed and
// says so; what is written later is moved by the next recovery.
func TestHeldForGoodIsUncertain(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs leases")
	}
	s := openShop(t)
	s.opts.LockTimeout = 50 * time.Millisecond
	f, err := os.OpenFile(s.path("store"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.sweep(nil); ClassOf(err) != Uncertain {
		t.Fatalf("got %v", err)
	}
	if err := s.sweep(nil); ClassOf(err) != Refused || !strings.Contains(err.Error(), "still holds") {
		t.Errorf("got %v", err)
	}
	_, _ = f.WriteString(record("late", true) + "\n")
	_ = f.Close()
	result, err := Recover(context.Background(), storefs.OS(), s.files.Input, s.opts)
	if err != nil || result.Committed != 1 || result.MovedBytes == 0 {
		t.Errorf("recovered %+v, %v", result, err)
	}
	if want := record("a", true) + "\n" + record("c", true) + "\n" + record("late", true) + "\n"; s.get("store") != want {
		t.Errorf("store is %q, want %q", s.get("store"), want)
	}
	s.noneLeft()
}

// A dry-run without audit makes no file, not even a lock.
func TestDryRunMakesNoFile(t *testing.T) {
	s := openShop(t)
	s.opts.Mutate, s.files = false, Files{Input: s.files.Input}
	if err := s.sweep(func() { s.noneLeft() }); err != nil {
		t.Error(err)
	}
}
