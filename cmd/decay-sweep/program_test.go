package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What could drive a terminal is shown escaped; what merely is not ASCII stays.
func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain é 東 \U0001F600":           "plain é 東 \U0001F600",
		"\x1b[2J\a":                      `\u001b[2J\u0007`,
		"a\nb\tc\r":                      `a\u000ab\u0009c\u000d`,
		"\u009b31m\x7f":                  `\u009b31m\u007f`,
		"abc\u202edef\u2066\u200f\u061c": `abc\u202edef\u2066\u200f\u061c`,
		"\u2028\u2029":                   `\u2028\u2029`,
		"\xff\xc3":                       `\xff\xc3`,
		"\uFFFD":                         "\uFFFD",
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q) = %s, want %s", in, got, want)
		}
	}
}

// A signal ends a sweep that waits for its input, with the signal's status, and leaves nothing behind.
func TestSignal(t *testing.T) {
	for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGQUIT: 131, syscall.SIGTERM: 143} {
		dir := t.TempDir()
		stdin, stdinWriter := io.Pipe()
		ctx, cancel := context.WithCancelCause(context.Background())
		go func() {
			io.WriteString(stdinWriter, `{"id":"a","last_accessed_ms":1}`+"\n")
			cancel(interrupted{signal})
		}()
		var stdout, stderr bytes.Buffer
		got := run(ctx, []string{"--input", "-", "--now-ms", "1", "--half-life", "1d", "--threshold", "0.5",
			"--audit", filepath.Join(dir, "audit")}, stdin, &stdout, &stderr)
		if got != want || stdout.Len() != 0 || !strings.Contains(stderr.String(), "nothing was changed") {
			t.Errorf("%v: status %d, want %d; stdout %q stderr %q", signal, got, want, &stdout, &stderr)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
			t.Errorf("%v: left %v (%v)", signal, entries, err)
		}
	}
}

// failingWriter fails every write.
type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// A reader that went away is no error; a summary that cannot be written is one only if nothing was changed.
func TestSummaryUnwritable(t *testing.T) {
	full := errors.New("no space left on device")
	for _, c := range []struct {
		mode string
		err  error
		want int
		says string
	}{
		{"dry-run", syscall.EPIPE, 0, ""},
		{"dry-run", full, 1, "error: no space left on device"},
		{"delete", syscall.EPIPE, 0, ""},
		{"delete", full, 0, "warning: the sweep is done, but its summary cannot be written: no space left on device"},
	} {
		store := filepath.Join(t.TempDir(), "store")
		if err := os.WriteFile(store, []byte(`{"id":"a","last_accessed_ms":1}`+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		got := run(context.Background(), []string{"--input", store, "--mode", c.mode, "--confirm-delete", "--now-ms", "1", "--half-life", "1d", "--threshold", "0.5"},
			strings.NewReader(""), failingWriter{c.err}, &stderr)
		if got != c.want || !strings.Contains(stderr.String(), c.says) || c.says == "" && stderr.Len() > 0 {
			t.Errorf("%s, %v: status %d, stderr %q", c.mode, c.err, got, &stderr)
		}
	}
}

// A misspelt flag finds the one that was meant; a strange one finds none.
func TestNearest(t *testing.T) {
	var names []string
	for _, group := range sweepFlags() {
		for _, row := range group.rows {
			names = append(names, row.name)
		}
	}
	for name, want := range map[string]string{
		"treshold": "threshold", "half-lif": "half-life", "now_ms": "now-ms", "halflife-ms": "half-life-ms",
		"confirm": "confirm-delete", "worker": "workers", "colour": "", "xyzzy": "",
	} {
		if got := nearest(name, names); got != want {
			t.Errorf("nearest(%q) = %q, want %q", name, got, want)
		}
	}
	if slices.Sort(names); len(slices.Compact(names)) != len(names) {
		t.Error("two flags have one name")
	}
}

// Progress says how much is done, how fast, and what is left if that is known.
func TestProgressText(t *testing.T) {
	for _, c := range []struct {
		done, total int64
		want        string
	}{
		{300e6, 600e6, "300 of 600 MB, 150 MB/s, 2 s left"},
		{300e6, -1, "300 MB, 150 MB/s"},
		{0, 600e6, "0 of 600 MB, 0 MB/s"},
	} {
		if got := progressText(c.done, c.total, 2*time.Second); got != c.want {
			t.Errorf("progress %q, want %q", got, c.want)
		}
	}
}

// Progress is drawn only for work that lasts, and taken away at the end.
func TestProgressQuiet(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, 10, false)
	p.add(5)
	p.stop()
	if out.Len() != 0 {
		t.Errorf("no terminal, yet %q was drawn", &out)
	}
}
