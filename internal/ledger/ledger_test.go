package ledger

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iamfaham/recolva/internal/record"
)

func listed(list []int64) numbers {
	return func() (int64, bool, error) {
		if len(list) == 0 {
			return 0, false, nil
		}
		n := list[0]
		list = list[1:]
		return n, true, nil
	}
}

// What split takes apart, merge puts together again, byte for byte.
func TestSplitMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		var whole strings.Builder
		if rng.IntN(3) == 0 {
			whole.Write(record.BOM)
		}
		lines := rng.IntN(8)
		var at []int64
		for i := range lines {
			whole.WriteString(strings.Repeat("x", rng.IntN(4)) + []string{"\n", "\r\n"}[rng.IntN(2)])
			if rng.IntN(2) == 0 {
				at = append(at, int64(i+1))
			}
		}
		if rng.IntN(3) == 0 {
			whole.WriteString("end")
			if rng.IntN(2) == 0 {
				at = append(at, int64(lines+1))
			}
		}
		var stayed, moved, again bytes.Buffer
		if err := split(&stayed, &moved, newLineReader(strings.NewReader(whole.String())), listed(at)); err != nil {
			t.Fatal(err)
		}
		if err := merge(&again, newLineReader(&stayed), newLineReader(&moved), listed(at)); err != nil {
			t.Fatal(err)
		}
		if again.String() != whole.String() {
			t.Fatalf("%q came back as %q, lines %v moved", whole.String(), again.String(), at)
		}
	}
}

// Lines and numbers that do not fit together are an error, not a guess.
func TestUneven(t *testing.T) {
	for _, c := range []struct {
		stayed, moved string
		at            []int64
	}{
		{"a\n", "", []int64{1}},
		{"a\n", "b\n", nil},
		{"a\n", "b\n", []int64{3}},
		{"a\n", "b\nc\n", []int64{2}},
	} {
		err := merge(io.Discard, newLineReader(strings.NewReader(c.stayed)), newLineReader(strings.NewReader(c.moved)), listed(c.at))
		if err != errUneven {
			t.Errorf("merge of %+v: %v", c, err)
		}
	}
	if err := split(io.Discard, io.Discard, newLineReader(strings.NewReader("a\n")), listed([]int64{2})); err != errUneven {
		t.Errorf("split: %v", err)
	}
}

// Only a line as a run writes it is one, and its values are read.
func TestEntry(t *testing.T) {
	for line, want := range map[string]string{
		`{"mode":"archive","id":"a","score":0.5,"action":"pruned","reason":"score_below_threshold","line":7,"run_id":"r"}` + "\n": "a pruned 7 r",
		`{"mode":"archive","id":"\"\\,\"line\":1","score":1,"action":"retained","reason":"x","line":2,"run_id":"r"}` + "\n":       `"\,"line":1 retained 2 r`,
		`{"mode":"restore","id":"é","action":"restored","line":3,"run_id":"r"}` + "\n":                                            "é restored 3 r",
		`{"mode":"restore","id":"é","action":"restored","line":3,"run_id":"r"}`:                                                   "",
		`{"mode":"restore","id":"é","action":"kept","line":3,"run_id":"r"}` + "\n":                                                "",
		`{"mode":"restore","id":"é","action":"restored","line":0,"run_id":"r"}` + "\n":                                            "",
		`{"mode":"restore","id":"é","action":"restored","line":x,"run_id":"r"}` + "\n":                                            "",
		`{"mode":"restore","id":"é` + "\n":                                                                                        "",
		`{"event":"run"}` + "\n":                                                                                                  "",
		"\n":                                                                                                                      "",
	} {
		var e Entry
		got := ""
		if e.parse([]byte(line)) {
			got = fmt.Sprint(string(e.appendID(nil)), " ", e.Action, " ", e.Line, " ", e.RunID)
		}
		if got != want {
			t.Errorf("%s is %q, want %q", line, got, want)
		}
	}
}

// A line longer than any record is passed on whole, without being held.
func TestLongLine(t *testing.T) {
	text := strings.Repeat("x", longest+100_000) + "\nshort"
	l := newLineReader(strings.NewReader(text))
	line, err := l.next()
	if err != nil || !l.open || len(line) < longest || len(line) > longest+100_000 {
		t.Fatalf("%d bytes, open %v (%v)", len(line), l.open, err)
	}
	var rest bytes.Buffer
	if err := l.rest(&rest); err != nil || len(line)+rest.Len() != longest+100_001 {
		t.Errorf("%d bytes in all (%v)", len(line)+rest.Len(), err)
	}
	if line, err = l.next(); string(line) != "short" || l.number != 2 || l.start != int64(longest+100_001) || err != nil {
		t.Errorf("then %q, line %d at %d (%v)", line, l.number, l.start, err)
	}
	if _, err := l.next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

// Records are found by the order of their ids, wherever they stand, and nowhere else.
func TestFind(t *testing.T) {
	ids, err := record.NewIDScanner("")
	if err != nil {
		t.Fatal(err)
	}
	l := newLocator(ids)
	rng := rand.New(rand.NewPCG(2, 2))
	for range 300 {
		names := make([]string, 1+rng.IntN(12))
		var text strings.Builder
		for i := range names {
			names[i] = string(rune('a' + rng.IntN(3)))
			fmt.Fprintf(&text, `{"id":"%s","n":%d}`+"\n", names[i], i)
		}
		path := filepath.Join(t.TempDir(), "archive")
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Open(path, false)
		if err != nil {
			t.Fatal(err)
		}
		from := rng.IntN(len(names))
		wanted := names[from : from+1+rng.IntN(len(names)-from)]
		hash := uint64(0)
		for _, name := range wanted {
			hash = mulAdd(hash, l.base, l.weight([]byte(name)))
		}
		var got, want []int64
		if _, err := l.find(c, hash, int64(len(wanted)), func(s span) (bool, error) {
			got = append(got, s.first)
			return false, nil
		}); err != nil {
			t.Fatal(err)
		}
		for i := 0; i+len(wanted) <= len(names); i++ {
			if strings.Join(names[i:i+len(wanted)], "") == strings.Join(wanted, "") {
				want = append(want, int64(i+1))
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v in %v: at %v, want %v", wanted, names, got, want)
		}
		c.Close()
	}
}

// An audit line of any bytes is read or refused, but never crashes the reader.
func FuzzEntry(f *testing.F) {
	f.Add([]byte(`{"mode":"archive","id":"a","score":0.5,"action":"pruned","reason":"x","line":7,"run_id":"r"}` + "\n"))
	f.Add([]byte(`{"event":"run","run_id":"r","mode":"archive","before":{"sha256":"","bytes":1},"prev":""}` + "\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		var e Entry
		if e.parse(line) && (e.Line < 1 || e.RunID == "" && !bytes.Contains(line, []byte(`"run_id":""`))) {
			t.Errorf("%q became %+v", line, e)
		}
		e.appendID(nil)
		var r Run
		if r.parse(line) == nil && (r.Before.Bytes < 0 || r.RunID == "") {
			t.Errorf("%q became %+v", line, r)
		}
	})
}
