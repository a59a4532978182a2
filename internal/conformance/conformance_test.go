package conformance

import (
	"strings"
	"testing"
)

// Every file of models/ can be read by the reader made for it, to its last line.
func TestModels(t *testing.T) {
	golden, err := Golden()
	if err != nil || len(golden) != GoldenCount {
		t.Errorf("got %d golden scores, want %d: %v", len(golden), GoldenCount, err)
	}
	limits, err := Limits()
	mustHaveLines(t, "models/limits.jsonl", len(limits), err)
	fractions, err := Fractions()
	mustHaveLines(t, "models/fractions.jsonl", len(fractions), err)
	ages, err := Ages()
	mustHaveLines(t, "models/ages.jsonl", len(ages), err)
}

func mustHaveLines(t *testing.T, name string, got int, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
	content, err := Read(name)
	if want := strings.Count(string(content), "\n"); err != nil || got != want || got == 0 {
		t.Errorf("%s: got %d cases, want %d: %v", name, got, want, err)
	}
}

// A field that the reader does not know is an error, as is a file that there is
// not.
func TestCasesRejects(t *testing.T) {
	if _, err := Cases[struct{ Model string }]("models/limits.jsonl"); err == nil {
		t.Error("unknown fields were accepted")
	}
	if _, err := Cases[Age]("models/none.jsonl"); err == nil {
		t.Error("a file that there is not was read")
	}
}
