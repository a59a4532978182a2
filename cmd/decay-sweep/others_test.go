package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/iamfaham/recolva/internal/storefs"
)

// shared is a store that another process is busy with.
type shared struct {
	t              *testing.T
	dir            string
	stdout, stderr bytes.Buffer
}

func newShared(t *testing.T, store string) *shared {
	s := &shared{t: t, dir: t.TempDir()}
	if err := os.WriteFile(s.path("store.jsonl"), []byte(store), 0o644); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *shared) path(name string) string { return filepath.Join(s.dir, name) }

func (s *shared) store() string {
	content, err := os.ReadFile(s.path("store.jsonl"))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(content)
}

// exits runs the program on the store and expects the exit status.
func (s *shared) exits(want int, args ...string) {
	s.t.Helper()
	s.stdout.Reset()
	s.stderr.Reset()
	var head []string
	if !strings.HasPrefix(args[0], "-") {
		head, args = []string{args[0]}, args[1:]
	}
	args = append(append(head, "--input", s.path("store.jsonl"), "--lock-timeout", "50ms"), args...)
	if got := run(context.Background(), args, strings.NewReader(""), &s.stdout, &s.stderr); got != want {
		s.t.Fatalf("%v: status %d, want %d: %s", args, got, want, &s.stderr)
	}
}

func (s *shared) sweepArgs() []string {
	return []string{"--mode", "archive", "--archive", s.path("archive.jsonl"), "--now-ms", "200000000", "--half-life", "1d", "--threshold", "0.5"}
}

// A run that meets another one waits, then refuses and names who holds the store.
func TestBusy(t *testing.T) {
	s := newShared(t, `{"id":"a","last_accessed_ms":1}`+"\n")
	if err := os.WriteFile(s.path("archive.jsonl"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	lock, err := storefs.OS().OpenFile(s.path(".store.jsonl.recolva-lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if got, err := lock.TryLock(); !got || err != nil {
		t.Fatal(got, err)
	}
	if _, err := lock.Write([]byte(`{"pid":4242,"with":[]}` + "\n")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		s.sweepArgs(), {"recover"}, {"restore", "--archive", s.path("archive.jsonl"), "--id", "a"},
	} {
		s.exits(3, args...)
		if text := s.stderr.String(); !strings.Contains(text, "store.jsonl is busy: process 4242 holds it (waited 50ms)") {
			t.Errorf("%v: %s", args, text)
		}
	}
	s.exits(0, append(s.sweepArgs()[4:], "--mode", "dry-run")...)
}

// A writer that keeps the swept file open leaves it to the next run: status 5, and nothing that it wrote is lost.
func TestWriterHoldsOn(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system does not tell who has a file open")
	}
	const old, young, late = `{"id":"a","last_accessed_ms":1}` + "\n", `{"id":"b","last_accessed_ms":200000000}` + "\n", `{"id":"c","last_accessed_ms":200000000}` + "\n"
	s := newShared(t, old+young)
	writer, err := os.OpenFile(s.path("store.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	s.exits(5, s.sweepArgs()...)
	if got := s.store(); got != young {
		t.Errorf("store is %q, want %q", got, young)
	}
	if _, err := writer.WriteString(late); err != nil {
		t.Fatal(err)
	}
	s.exits(5, "recover")
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	s.exits(0, "recover")
	if text := s.stdout.String(); !strings.Contains(text, "had done its work") {
		t.Errorf("recover says %q", text)
	}
	if got := s.store(); got != young+late {
		t.Errorf("store is %q, want %q", got, young+late)
	}
	s.exits(0, "recover")
	if text := s.stdout.String(); !strings.Contains(text, "nothing to do") {
		t.Errorf("recover says %q", text)
	}
}
