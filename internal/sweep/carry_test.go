package sweep

import (
	"context"
	"errors"
	"os"
	"testing"
)

// Lines that another process appends while the store is swept are carried over, undecided.
func TestCarriedLines(t *testing.T) {
	const carried = `{"id":"late","last_accessed_ms":1}` + "\n"
	young := testRecord("young", 0) + "\n"
	job := testStore(t, testRecord("old", 2*day)+"\n"+young)
	appended := false
	job.Progress = func(int64) {
		if appended {
			return
		}
		appended = true
		f, err := os.OpenFile(job.Files.Input, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = f.WriteString(carried)
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Error(err)
		}
	}
	summary, err := Run(context.Background(), job)
	if err != nil {
		t.Fatal(err)
	}
	if summary.CarriedBytes != int64(len(carried)) || summary.Scanned() != 2 {
		t.Errorf("%d bytes carried of %d records, want %d of 2", summary.CarriedBytes, summary.Scanned(), len(carried))
	}
	if got, err := os.ReadFile(job.Files.Input); string(got) != young+carried {
		t.Errorf("store is %q (%v), want %q", got, err, young+carried)
	}
}

// A torn last line that grows while it is swept, and is then cut back to its
// length, is an invalid line: it is neither dropped nor decided.
func TestTornLineThatShrinksAgain(t *testing.T) {
	const torn = `{"id":"torn","last_`
	for _, mode := range []Mode{DryRun, Archive, Delete} {
		content := testRecord("old", 2*day) + "\n" + torn
		job := testStore(t, content)
		job.Mode = mode
		p := &run{job: &job}
		var err error
		if p.plan, err = job.Policy.plan(); err != nil {
			t.Fatal(err)
		}
		if err := p.begin(context.Background()); err != nil {
			t.Fatal(err)
		}
		write := func(change func(f *os.File) error) {
			f, err := os.OpenFile(job.Files.Input, os.O_WRONLY|os.O_APPEND, 0)
			if err == nil {
				err = change(f)
			}
			if err == nil {
				err = f.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		write(func(f *os.File) error { _, err := f.WriteString("acc"); return err })
		if err := p.sweep(context.Background()); err != nil {
			t.Fatal(err)
		}
		write(func(f *os.File) error { return f.Truncate(int64(len(content))) })
		_, err = p.commit(context.Background())
		var invalid *InvalidLine
		if !errors.As(err, &invalid) || invalid.Line != 2 || !invalid.Torn {
			t.Errorf("%v: got %v, want the torn line 2", mode, err)
		}
		if got, err := os.ReadFile(job.Files.Input); string(got) != content {
			t.Errorf("%v: store is %q (%v), want %q", mode, got, err, content)
		}
	}
}
