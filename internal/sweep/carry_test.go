package sweep

import (
	"context"
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
