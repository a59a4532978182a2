package sweep

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iamfaham/recolva/internal/ledger"
	"github.com/iamfaham/recolva/internal/transaction"
)

// world is a store with its archive and audit, and what was done to them.
type world struct {
	t    *testing.T
	job  Job
	runs []string // ids of the runs that archived something
}

func newWorld(t *testing.T, content string) *world {
	w := &world{t: t, job: testStore(t, content)}
	w.job.Policy.OnInvalid = Keep
	return w
}

func (w *world) read(path string) string {
	w.t.Helper()
	content, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return string(content)
}

func (w *world) store() string { return w.read(w.job.Files.Input) }

func (w *world) sweep(now int64, mode Mode) *Summary {
	w.t.Helper()
	job := w.job
	job.NowMillis, job.Mode = now, mode
	s, err := Run(context.Background(), job)
	if err != nil {
		w.t.Fatal(err)
	}
	if mode == Archive && s.Pruned > 0 {
		w.runs = append(w.runs, s.RunID)
	}
	return s
}

func (w *world) append(text string) {
	w.t.Helper()
	f, err := os.OpenFile(w.job.Files.Input, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	if before := w.store(); before != "" && !strings.HasSuffix(before, "\n") {
		text = "\n" + text
	}
	if _, err := f.WriteString(text); err != nil {
		w.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) restore(run string, ids ...string) *Restored {
	w.t.Helper()
	out, err := Restore(context.Background(), RestoreJob{
		Store: w.job.Files.Input, Archive: w.job.Files.Archive, Audit: w.job.Files.Audit, Run: run, IDs: ids,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) verify() *ledger.Report {
	w.t.Helper()
	r, err := ledger.Verify(context.Background(), ledger.VerifyJob{
		Store: w.job.Files.Input, Archive: w.job.Files.Archive, Audit: w.job.Files.Audit,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// proves expects that every run is proved.
func (w *world) proves(when string) {
	w.t.Helper()
	r := w.verify()
	if !r.Consistent || r.Counts[ledger.Proved] != len(r.Runs) {
		w.t.Fatalf("%s: %s", when, r.AppendJSON(nil))
	}
}

// lines counts every line of store and archive, blank ones aside.
func (w *world) lines() map[string]int {
	all := map[string]int{}
	for _, content := range []string{w.store(), w.read(w.job.Files.Archive)} {
		for line := range strings.SplitSeq(strings.TrimPrefix(content, "\xef\xbb\xbf"), "\n") {
			if strings.TrimSpace(line) != "" {
				all[line]++
			}
		}
	}
	return all
}

// Runs that are restored from the last to the first give every earlier state back, byte for byte.
func TestRestoreBackwards(t *testing.T) {
	for seed := range uint64(15) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(t, randomStore(rng, true))
		var before []string
		for k := range int64(1 + rng.IntN(4)) {
			content, runs := w.store(), len(w.runs)
			w.sweep(testNow+k*day/3, []Mode{Archive, Archive, DryRun}[rng.IntN(3)])
			if len(w.runs) > runs {
				before = append(before, content)
			}
		}
		w.proves(fmt.Sprintf("seed %d", seed))
		for i, run := range slices.Backward(w.runs) {
			out := w.restore(run)
			if out.Placed != ledger.Merged || w.store() != before[i] {
				t.Fatalf("seed %d: run %s came back %s: %q, want %q", seed, run, out.Placed, w.store(), before[i])
			}
			w.proves(fmt.Sprintf("seed %d, restored %s", seed, run))
			if again := w.restore(run); again.Restored != 0 || again.RunID != "" {
				t.Fatalf("seed %d: run %s came back twice", seed, run)
			}
		}
		if left := w.read(w.job.Files.Archive); left != "" {
			t.Fatalf("seed %d: the archive still holds %q", seed, left)
		}
	}
}

// Whatever is appended, swept and restored in whatever order, every line is in exactly one place, and provably so.
func TestRestoreAnyOrder(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		w := newWorld(t, randomStore(rng, false))
		want, next := w.lines(), 0
		for step := range 8 {
			switch rng.IntN(5) {
			case 0, 1:
				w.sweep(testNow+int64(step)*day/4, Archive)
			case 2:
				line := testRecord(fmt.Sprint("new", next), rng.Int64N(2*day))
				next++
				want[line]++
				w.append(line + []string{"\n", ""}[rng.IntN(2)])
			case 3:
				if len(w.runs) > 0 {
					w.restore(w.runs[rng.IntN(len(w.runs))])
				}
			case 4:
				if len(w.runs) == 0 {
					break // there is no archive yet
				}
				w.restore("", fmt.Sprint(rng.IntN(60)), "new0", "id1")
			}
			if got := w.lines(); !maps.Equal(got, want) {
				t.Fatalf("seed %d, step %d: lines %v, want %v", seed, step, got, want)
			}
		}
		if w.read(w.job.Files.Audit) == "" {
			continue
		}
		w.proves(fmt.Sprintf("seed %d", seed))
		for _, run := range w.runs {
			w.restore(run)
			w.proves(fmt.Sprintf("seed %d, restored %s", seed, run))
		}
		if left := w.read(w.job.Files.Archive); left != "" {
			t.Fatalf("seed %d: the archive still holds %q", seed, left)
		}
	}
}

// One byte changed in store, archive or audit shows.
func TestVerifyTampering(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for seed := range uint64(6) {
		w := newWorld(t, testRecord("a", 2*day)+"\n"+testRecord("b", 0)+"\n"+testRecord("c", 3*day/4)+"\n"+testRecord("d", 9*day)+"\n")
		w.sweep(testNow, Archive)
		w.sweep(testNow+day/2, Archive)
		if seed%3 == 1 {
			w.restore(w.runs[0])
		}
		if seed%3 == 2 {
			w.restore("", "a")
		}
		w.sweep(testNow+day/2, DryRun)
		w.proves("untouched")
		for file, path := range map[string]string{"store": w.job.Files.Input, "archive": w.job.Files.Archive, "audit": w.job.Files.Audit} {
			good := []byte(w.read(path))
			for range 12 {
				bad := bytes.Clone(good)
				at := rng.IntN(len(bad))
				if file == "audit" && bytes.LastIndex(good, []byte(`{"event":"run"`)) < at {
					continue // nothing vouches yet for all of the last run line
				}
				bad[at] ^= byte(1 << rng.IntN(7))
				if err := os.WriteFile(path, bad, 0o644); err != nil {
					t.Fatal(err)
				}
				r := w.verify()
				if r.Consistent || !slices.ContainsFunc(r.Findings, func(f ledger.Finding) bool { return f.File == file }) {
					t.Errorf("seed %d: byte %d of the %s was changed: %s", seed, at, file, r.AppendJSON(nil))
				}
			}
			if err := os.WriteFile(path, good, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A dry-run of a restore tells what would happen and changes nothing.
func TestRestoreDryRun(t *testing.T) {
	w := newWorld(t, testRecord("a", 2*day)+"\n"+testRecord("b", 0)+"\n")
	w.sweep(testNow, Archive)
	before := state(t, w.job)
	out, err := Restore(context.Background(), RestoreJob{
		Store: w.job.Files.Input, Archive: w.job.Files.Archive, Audit: w.job.Files.Audit, Run: w.runs[0], DryRun: true,
	})
	if err != nil || out.Restored != 1 || out.Placed != ledger.Merged || out.RunID != "" {
		t.Errorf("preview is %+v (%v)", out, err)
	}
	if after := state(t, w.job); after != before {
		t.Errorf("a preview changed %s to %s", before, after)
	}
}

// While a program has written half a line, a restore waits, and adds nothing in its midst.
func TestRestoreBesideHalfALine(t *testing.T) {
	w := newWorld(t, testRecord("a", 2*day)+"\n"+testRecord("b", 0)+"\n")
	w.sweep(testNow, Archive)
	job := RestoreJob{Store: w.job.Files.Input, Archive: w.job.Files.Archive, IDs: []string{"a"}}
	f, err := os.OpenFile(job.Store, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if writers, _, err := (&restoring{restore: &restore{job: &job}}).lookAtStore(); err != nil || !writers {
		t.Skipf("this system does not tell writers (%v)", err)
	}
	late := testRecord("c", 0) + "\n"
	if _, err := f.WriteString(late[:9]); err != nil {
		t.Fatal(err)
	}
	_, err = Restore(context.Background(), job)
	if err == nil || transaction.ClassOf(err) != transaction.Refused || !strings.Contains(err.Error(), "would split the line") {
		t.Errorf("got %v, want a refusal", err)
	}
	time.AfterFunc(100*time.Millisecond, func() { _, _ = f.WriteString(late[9:]) })
	job.Options.LockTimeout = 10 * time.Second
	if _, err := Restore(context.Background(), job); err != nil {
		t.Fatal(err)
	}
	if got, want := w.store(), testRecord("b", 0)+"\n"+late+testRecord("a", 2*day)+"\n"; got != want {
		t.Errorf("the store holds %q, want %q", got, want)
	}
}

// A store that somebody holds open for writing is appended to, so that what that one writes is not lost.
func TestRestoreBesideWriter(t *testing.T) {
	w := newWorld(t, testRecord("a", 2*day)+"\n"+testRecord("b", 0)+"\n")
	w.sweep(testNow, Archive)
	f, err := os.OpenFile(w.job.Files.Input, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if out := w.restore(w.runs[0]); out.Placed != ledger.Appended {
		t.Skipf("restored %s: this system does not tell writers", out.Placed)
	}
	if _, err := f.WriteString(testRecord("c", 0) + "\n"); err != nil {
		t.Fatal(err)
	}
	if got, want := w.store(), testRecord("b", 0)+"\n"+testRecord("a", 2*day)+"\n"+testRecord("c", 0)+"\n"; got != want {
		t.Errorf("store is %q, want %q", got, want)
	}
}

// With two stores in one archive and one audit, each is verified and restored on its own.
func TestTwoStores(t *testing.T) {
	one := newWorld(t, testRecord("a", 2*day)+"\n"+testRecord("b", 0)+"\n")
	two := newWorld(t, testRecord("x", 0)+"\n"+testRecord("y", 3*day)+"\n"+testRecord("z", 4*day)+"\n")
	two.job.Files.Archive, two.job.Files.Audit = one.job.Files.Archive, one.job.Files.Audit
	originals := []string{one.store(), two.store()}
	check := func(when string) {
		t.Helper()
		for _, w := range []*world{one, two} {
			if r := w.verify(); !r.Consistent || r.Counts[ledger.OtherStore]+r.Counts[ledger.Proved] != len(r.Runs) || r.Counts[ledger.Proved] == 0 {
				t.Errorf("%s, %s: %s", when, filepath.Base(filepath.Dir(w.job.Files.Input)), r.AppendJSON(nil))
			}
		}
	}
	one.sweep(testNow, Archive)
	two.sweep(testNow, Archive)
	one.sweep(testNow, DryRun)
	check("swept")
	one.restore(one.runs[0])
	if one.store() != originals[0] {
		t.Errorf("store one is %q", one.store())
	}
	if r := one.verify(); !r.Consistent {
		t.Errorf("one restored: %s", r.AppendJSON(nil))
	}
	two.restore(two.runs[0])
	if two.store() != originals[1] {
		t.Errorf("store two is %q", two.store())
	}
	for _, w := range []*world{one, two} {
		if r := w.verify(); !r.Consistent {
			t.Errorf("both restored: %s", r.AppendJSON(nil))
		}
	}
}
