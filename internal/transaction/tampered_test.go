package transaction

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/iamfaham/recolva/internal/storefs"
)

// side is the path of a companion of a file.
func (s *shop) side(name, suffix string) string { return placeAt(s.path(name)).side(suffix) }

// needsPerson wants a recovery that leaves everything to a person.
func (s *shop) needsPerson(phrase string) {
	s.Helper()
	store, archive := s.get("store"), s.get("archive")
	if err := s.recover(); ClassOf(err) != NeedsPerson || !strings.Contains(err.Error(), phrase) {
		s.Errorf("got %v (class %d), want %q", err, ClassOf(err), phrase)
	}
	if s.get("store") != store || s.get("archive") != archive {
		s.Error("store or archive were changed")
	}
}

// A sweep whose lock file was taken away gives way to the next, and touches nothing of it.
func TestLockFileTakenAway(t *testing.T) {
	s := openShop(t)
	var second *Transaction
	err := s.sweep(func() {
		for _, name := range []string{"store", "archive", "audit"} {
			if err := os.Remove(s.side(name, lockSuffix)); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if second, err = Begin(context.Background(), s.fs, s.files, s.opts); err != nil {
			t.Fatal(err)
		}
	})
	if ClassOf(err) != Refused || !strings.Contains(err.Error(), "was removed by another program") {
		t.Errorf("got %v", err)
	}
	for _, suffix := range []string{newSuffix, addSuffix, audSuffix, lockSuffix} {
		if _, err := os.Stat(s.side("store", suffix)); err != nil {
			t.Error(err)
		}
	}
	if err := second.Rollback(); err != nil {
		t.Error(err)
	}
	s.mustSweep()
	if got := s.get("store") + s.get("archive"); got != record("a", true)+"\n"+record("c", true)+"\n"+record("b", false)+"\n" {
		t.Errorf("store and archive hold %q", got)
	}
	s.noneLeft()
}

// takenName is a file system where another run puts its own staged file under a
// name, right before it is looked at for the last time.
type takenName struct {
	storefs.FS
	name string
}

func (f takenName) Link(oldName, newName string) error {
	err := f.FS.Link(oldName, newName)
	if err == nil && strings.HasSuffix(newName, oldSuffix) {
		_ = os.Remove(f.name)
		err = os.WriteFile(f.name, nil, 0o600)
	}
	return err
}

// A file that another run staged never takes the store's place.
func TestStagedFileOfAnotherRun(t *testing.T) {
	s := openShop(t)
	s.fs = takenName{storefs.OS(), s.side("store", newSuffix)}
	before := s.get("store")
	if err := s.sweep(nil); ClassOf(err) != NeedsPerson || !strings.Contains(err.Error(), "was replaced meanwhile") {
		t.Errorf("got %v", err)
	}
	if got := s.get("store"); got != before {
		t.Errorf("the store holds %q", got)
	}
}

// A swept store that got the inode number of the unswept one, on another disk,
// is not taken for it.
func TestNumberOfTheOldStore(t *testing.T) {
	s := openShop(t)
	s.killSweep("store", false)
	if err := os.WriteFile(s.side("store", oldSuffix), []byte(s.get("store")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.side("store", oldSuffix), s.path("store")); err != nil {
		t.Fatal(err)
	}
	s.needsPerson("has the inode number, but not the content")
}

// An archive that somebody cut in place, so that our lines are elsewhere in it,
// is left to a person.
func TestArchiveCutInPlace(t *testing.T) {
	s := openShop(t)
	s.put("archive", "earlier\nmore\n")
	s.killSweep("store", true)
	s.put("archive", strings.TrimPrefix(s.get("archive"), "earlier\n"))
	s.needsPerson("was changed in place")
}

// A journal without its mark beside the archive, as in a copy of the store, takes
// nothing from the archive: its run is finished.
func TestJournalOfACopy(t *testing.T) {
	s := openShop(t)
	s.put("archive", "earlier\n")
	s.killSweep("store", true)
	if err := os.Remove(s.side("archive", pendingSuffix)); err != nil {
		t.Fatal(err)
	}
	archive := s.get("archive")
	if err := s.recover(); err != nil {
		t.Fatal(err)
	}
	if got, want := s.get("store"), record("a", true)+"\n"+record("c", true)+"\n"; got != want || s.get("archive") != archive {
		t.Errorf("store %q, archive %q", got, s.get("archive"))
	}
	s.noneLeft()
}

// What was staged is not used if it is no longer what it was.
func TestDamagedStage(t *testing.T) {
	s := openShop(t)
	s.put("archive", "earlier\n")
	s.killSweep("store", true)
	staged := s.get(".store.recolva-add")
	s.put(".store.recolva-add", strings.Replace(staged, "strong", "wrong!", 1))
	_, _ = s.appendTo("archive").WriteString("late\n")
	s.needsPerson("is damaged")
}
