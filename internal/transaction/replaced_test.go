package transaction

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/iamfaham/recolva/internal/storefs"
)

// stopped is a file system that a sweep is killed on: after the renaming to a
// name, or before it.
type stopped struct {
	storefs.FS
	at    string
	first bool
}

type killed struct{}

func (s stopped) Rename(oldName, newName string) error {
	if newName != s.at {
		return s.FS.Rename(oldName, newName)
	}
	if s.first {
		panic(killed{})
	}
	if err := s.FS.Rename(oldName, newName); err != nil {
		return err
	}
	panic(killed{})
}

// killAt sweeps with the archive replaced until the renaming to name.
func (s *shop) killAt(name string, first bool) {
	s.Helper()
	s.files.ArchiveMode = Replace
	s.put("archive", "earlier\n")
	s.killSweep(name, first)
}

// killSweep sweeps until the renaming to name.
func (s *shop) killSweep(name string, first bool) {
	s.Helper()
	defer func() {
		if _, ok := recover().(killed); !ok {
			s.Fatal("the sweep was not stopped")
		}
	}()
	t, err := Begin(context.Background(), stopped{storefs.OS(), s.path(name), first}, s.files, s.opts)
	if err != nil {
		s.Fatal(err)
	}
	for _, id := range []string{"a", "c"} {
		_, _ = t.Retained().Write([]byte(record(id, true) + "\n"))
	}
	_, _ = t.Pruned().Write([]byte(record("b", false) + "\n"))
	if _, err := t.Input().Read(make([]byte, t.InputSize())); err != nil {
		s.Fatal(err)
	}
	_, _, err = t.Commit(context.Background(), nil, nil)
	s.Fatalf("the sweep went on: %v", err)
}

func (s *shop) recover() error {
	_, err := Recover(context.Background(), storefs.OS(), s.files.Input, s.opts)
	return err
}

func (s *shop) appendTo(name string) *os.File {
	s.Helper()
	f, err := os.OpenFile(s.path(name), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = f.Close() })
	return f
}

// What a writer appends to an archive that is being replaced follows into the
// new one, once, if the sweep is killed right after its commit.
func TestLateLinesFollowAReplacedArchive(t *testing.T) {
	s := openShop(t)
	s.killAt("store", false)
	if got := s.get("archive"); got != record("b", false)+"\n" {
		t.Fatalf("the archive is %q", got)
	}
	writer := s.appendTo(".archive.recolva-prior")
	_, _ = writer.WriteString("late\n")
	_ = writer.Close()
	for range 2 {
		if err := s.recover(); err != nil {
			t.Fatal(err)
		}
		if got, want := s.get("archive"), record("b", false)+"\nlate\n"; got != want {
			t.Errorf("the archive is %q, want %q", got, want)
		}
	}
	s.noneLeft()
}

// renaming is a file system with a look at a file while it takes a name.
type renaming struct {
	storefs.FS
	at            string
	before, after func()
}

func (r renaming) Rename(oldName, newName string) error {
	if newName != r.at {
		return r.FS.Rename(oldName, newName)
	}
	r.before()
	err := r.FS.Rename(oldName, newName)
	r.after()
	return err
}

// So it does when nothing goes wrong, whether its last line was whole or not.
func TestLateLinesAreCarriedOver(t *testing.T) {
	for _, end := range []string{"", "\n"} {
		s := openShop(t)
		s.put("archive", "earlier"+end)
		s.files.ArchiveMode = Replace
		var writer *os.File
		fsys := renaming{storefs.OS(), s.path("archive"), func() { writer = s.appendTo("archive") }, func() {
			if end == "" {
				_, _ = writer.WriteString("\n")
			}
			_, _ = writer.WriteString("late\n")
			_ = writer.Close()
		}}
		tx, err := Begin(context.Background(), fsys, s.files, s.opts)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = tx.Input().Read(make([]byte, tx.InputSize()))
		_, _ = tx.Retained().Write([]byte(record("a", true) + "\n"))
		_, _ = tx.Pruned().Write([]byte(record("b", false) + "\n"))
		_, outcome, err := tx.Commit(context.Background(), nil, nil)
		if err != nil || outcome.CarriedBytes != int64(len("late\n")) {
			t.Errorf("%d bytes carried, %v", outcome.CarriedBytes, err)
		}
		if got, want := s.get("archive"), record("b", false)+"\nlate\n"; got != want {
			t.Errorf("the archive is %q, want %q", got, want)
		}
		s.noneLeft()
	}
}

// A writer that holds the replaced archive on keeps the journal; the run after
// it moves the rest.
func TestHeldReplacedArchiveIsUncertain(t *testing.T) {
	s := openShop(t)
	s.killAt("store", false)
	writer := s.appendTo(".archive.recolva-prior")
	if held, err := hasWriters(s.path(".archive.recolva-prior")); err != nil || !held {
		t.Skipf("this system does not tell writers: %v", err)
	}
	_, _ = writer.WriteString("one\ntw")
	s.opts.LockTimeout = 0
	if err := s.recover(); ClassOf(err) != Uncertain || !strings.Contains(err.Error(), "still holds its old file open") {
		t.Errorf("got %v", err)
	}
	_, _ = writer.WriteString("o\n")
	_ = writer.Close()
	if err := s.recover(); err != nil {
		t.Error(err)
	}
	if got, want := s.get("archive"), record("b", false)+"\none\ntwo\n"; got != want {
		t.Errorf("the archive is %q, want %q", got, want)
	}
	s.noneLeft()
}

func hasWriters(path string) (bool, error) {
	f, err := storefs.OS().OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return f.HasWriters()
}

// A sweep that was killed when its archive was replaced already is finished:
// whoever found the new archive keeps what he writes to it.
func TestAReplacedArchiveIsNotTakenBack(t *testing.T) {
	s := openShop(t)
	s.killAt("store", true)
	writer := s.appendTo("archive")
	_, _ = writer.WriteString("late\n")
	if err := s.recover(); err != nil {
		t.Error(err)
	}
	_, _ = writer.WriteString("later\n")
	if got, want := s.get("archive"), record("b", false)+"\nlate\nlater\n"; got != want {
		t.Errorf("the archive is %q, want %q", got, want)
	}
	if got, want := s.get("store"), record("a", true)+"\n"+record("c", true)+"\n"; got != want {
		t.Errorf("the store is %q, want %q", got, want)
	}
	s.noneLeft()
}

// One that cannot be finished, because its store was rewritten since, is undone,
// but not while somebody has the new archive open for writing.
func TestRollBackWaitsForWriters(t *testing.T) {
	s := openShop(t)
	s.killAt("store", true)
	s.put("store", "rewritten\n")
	writer := s.appendTo("archive")
	if held, err := hasWriters(s.path("archive")); err != nil || !held {
		t.Skipf("this system does not tell writers: %v", err)
	}
	if err := s.recover(); ClassOf(err) != Refused || !strings.Contains(err.Error(), "open for writing") {
		t.Errorf("got %v", err)
	}
	_ = writer.Close()
	if err := s.recover(); err != nil {
		t.Error(err)
	}
	if got := s.get("archive"); got != "earlier\n" {
		t.Errorf("the archive is %q", got)
	}
	if got := s.get("store"); got != "rewritten\n" {
		t.Errorf("the store is %q", got)
	}
	s.noneLeft()
}

// What was written to a new archive, whose renaming a power cut undid, needs a
// person: it is not removed.
func TestLinesInAnUndoneArchiveNeedAPerson(t *testing.T) {
	s := openShop(t)
	s.killAt("store", true)
	for _, err := range []error{
		os.Rename(s.path("archive"), s.path(".archive.recolva-next")),
		os.Rename(s.path(".archive.recolva-prior"), s.path("archive")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, _ = s.appendTo(".archive.recolva-next").WriteString("late\n")
	if err := s.recover(); ClassOf(err) != NeedsPerson || !strings.Contains(err.Error(), "holds more than") {
		t.Errorf("got %v", err)
	}
	if got, want := s.get(".archive.recolva-next"), record("b", false)+"\nlate\n"; got != want {
		t.Errorf("what was staged is %q, want %q", got, want)
	}
}

// What a writer still adds to the old store follows into the new one only when
// nobody is in the middle of a line there, even if that takes another run.
func TestDrainSplitsNoLine(t *testing.T) {
	for _, patient := range []bool{true, false} {
		s := openShop(t)
		if !patient {
			s.opts.LockTimeout = 50 * time.Millisecond
		}
		old := s.appendTo("store")
		s.fs = renaming{FS: storefs.OS(), at: s.path("store"), before: func() {}, after: func() {
			next := s.appendTo("store")
			_, _ = next.WriteString(`{"id":"slow",`)
			_, _ = old.WriteString("late\n")
			_ = old.Close()
			finish := func() {
				_, _ = next.WriteString("}\n")
				_ = next.Close()
			}
			if patient {
				time.AfterFunc(100*time.Millisecond, finish)
			} else {
				s.Cleanup(finish)
			}
		}}
		err := s.sweep(nil)
		want := record("a", true) + "\n" + record("c", true) + "\n" + `{"id":"slow",`
		if patient {
			want += "}\nlate\n"
		}
		if patient && err != nil || !patient && (ClassOf(err) != Uncertain || !strings.Contains(err.Error(), "begun a line")) {
			t.Errorf("patient %t: got %v", patient, err)
		}
		if got := s.get("store"); got != want {
			t.Errorf("patient %t: the store is %q, want %q", patient, got, want)
		}
	}
}

// making is a file system on which somebody makes a file right before a link
// would get its name.
type making struct {
	storefs.FS
	at   string
	make func()
}

func (m making) Link(oldName, newName string) error {
	if newName == m.at {
		m.make()
	}
	return m.FS.Link(oldName, newName)
}

// An archive that somebody makes in the last instant is never replaced, and no
// person is needed for it.
func TestArchiveMadeMeanwhile(t *testing.T) {
	s := openShop(t)
	s.files.ArchiveMode = Replace
	before := s.get("store")
	s.fs = making{storefs.OS(), s.path("archive"), func() { s.put("archive", "precious\n") }}
	if err := s.sweep(nil); ClassOf(err) != Refused || !strings.Contains(err.Error(), "it was made meanwhile") {
		t.Errorf("got %v, want a refusal", err)
	}
	if s.get("store") != before || s.get("archive") != "precious\n" {
		t.Errorf("the store is %q and the archive %q", s.get("store"), s.get("archive"))
	}
	s.noneLeft()
}

// A run that was stopped before it replaced its audit, and behind whose lines
// in the archive somebody has written, is finished with the new audit.
func TestReplacedAuditIsFinished(t *testing.T) {
	s := openShop(t)
	s.put("audit", "earlier\n")
	s.files.AuditMode = Replace
	s.fs = stopped{storefs.OS(), s.path("audit"), true}
	func() {
		defer func() {
			if _, ok := recover().(killed); !ok {
				t.Fatal("the sweep was not stopped")
			}
		}()
		_ = s.sweep(nil)
	}()
	writer := s.appendTo("archive")
	_, _ = writer.WriteString("late\n")
	_ = writer.Close()
	if err := s.recover(); err != nil {
		t.Fatal(err)
	}
	if got, want := s.get("archive"), record("b", false)+"\nlate\n"; got != want {
		t.Errorf("the archive is %q, want %q", got, want)
	}
	if got, want := s.get("store"), record("a", true)+"\n"+record("c", true)+"\n"; got != want {
		t.Errorf("the store is %q, want %q", got, want)
	}
	if got := s.get("audit"); !strings.HasPrefix(got, `{"id":"a","pruned":false}`) {
		t.Errorf("the audit is %q", got)
	}
	s.noneLeft()
}

// linkless is a file system without hard links, like FAT.
type linkless struct{ storefs.FS }

func (linkless) Link(_, _ string) error { return os.ErrPermission }

// A dry-run makes its new audit whether or not the file system has hard links.
func TestDryRunMakesItsAudit(t *testing.T) {
	for staged, fsys := range map[string]storefs.FS{nextSuffix: storefs.OS(), audSuffix: linkless{storefs.OS()}} {
		s := openShop(t)
		s.fs, s.opts.Mutate, s.files = fsys, false, Files{Input: s.files.Input, Audit: s.files.Audit}
		err := s.sweep(func() {
			for _, suffix := range []string{nextSuffix, audSuffix, priorSuffix} {
				_, err := os.Stat(placeAt(s.files.Audit).side(suffix))
				if there := err == nil; there != (suffix == staged) {
					t.Errorf("staged in %s: %s is there: %t", staged, suffix, there)
				}
			}
		})
		if err != nil || strings.Count(s.get("audit"), "\n") != 4 {
			t.Errorf("staged in %s: %v, audit %q", staged, err, s.get("audit"))
		}
		s.noneLeft()
	}
}
