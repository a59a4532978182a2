//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is the program as a process of its own; TestMain makes this test's
// binary play it under its name.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args = append([]string{"decay-sweep"}, args...)
	return cmd
}

// A signal to the process ends it with the signal's status, rolled back, with
// one line of text and no trace of its stack.
func TestRealSignals(t *testing.T) {
	for _, number := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if signal.Ignored(number) { // inherited, as under nohup; the program leaves it so
			continue
		}
		dir := t.TempDir()
		cmd := process(t, "--input", "-", "--now-ms", "1", "--half-life", "1d", "--threshold", "0.5", "--audit", filepath.Join(dir, "audit"))
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(stdin, `{"id":"a","last_accessed_ms":1}`+"\n"); err != nil {
			t.Fatal(err)
		}
		for staged := filepath.Join(dir, ".audit.recolva-next"); ; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(staged); err == nil {
				break
			}
		}
		if err := cmd.Process.Signal(number); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if got, want := cmd.ProcessState.ExitCode(), 128+int(number); got != want {
			t.Errorf("%v: status %d, want %d", number, got, want)
		}
		text := stderr.String()
		if stdout.Len() > 0 || strings.Count(text, "\n") != 1 || !strings.Contains(text, "nothing was changed") {
			t.Errorf("%v: it said %q and %q", number, &stdout, text)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%v: left %v (%v)", number, left, err)
		}
	}
}

// The owner of a directory cannot make a store of another user his own by a sweep.
func TestStoreOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	const other = 65534
	dir, err := os.MkdirTemp("", "recolva")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "decay-sweep")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skip(err)
	}
	const store = `{"id":"old","last_accessed_ms":0}` + "\n"
	for _, mode := range []os.FileMode{0o444, 0o644, 0o666} {
		home := filepath.Join(dir, fmt.Sprintf("%o", mode))
		name := filepath.Join(home, "store.jsonl")
		for _, err := range []error{
			os.Chmod(dir, 0o755), os.WriteFile(program, self, 0o755), os.Mkdir(home, 0o755), os.Chown(home, other, other),
			os.WriteFile(name, []byte(store), 0o600), os.Chmod(name, mode),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(program, "--input", name, "--mode", "archive", "--archive", filepath.Join(home, "archive.jsonl"),
			"--now-ms", "200000000", "--half-life", "1d", "--threshold", "0.5")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: other, Gid: other}}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Skip(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), "cannot keep mode, owner and attributes") {
			t.Errorf("mode %o: status %d: %s", mode, code, out)
		}
		info, err := os.Stat(name)
		content, readErr := os.ReadFile(name)
		if err != nil || readErr != nil || info.Sys().(*syscall.Stat_t).Uid != 0 || info.Mode() != mode || string(content) != store {
			t.Errorf("mode %o: the store is now %v of %d: %q", mode, info.Mode(), info.Sys().(*syscall.Stat_t).Uid, content)
		}
		if left, err := os.ReadDir(home); err != nil || len(left) != 1 {
			t.Errorf("mode %o: left %v (%v)", mode, left, err)
		}
	}
}

// A file that is one of the program's own streams is refused: what is said there would be written over its lines.
func TestFileThatIsAStream(t *testing.T) {
	const records = `{"id":"old","last_accessed_ms":0}` + "\n"
	for _, stream := range []string{"output", "error", "input"} {
		dir := t.TempDir()
		store, other := filepath.Join(dir, "store"), filepath.Join(dir, "other")
		if err := os.WriteFile(store, []byte(records), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(other, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		args := []string{"--input", store, "--mode", "archive", "--archive", other}
		if stream == "input" {
			args = []string{"--input", "-", "--audit", other}
		}
		cmd := process(t, append(args, "--now-ms", "200000000", "--half-life", "1d", "--threshold", "0.5")...)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		switch stream {
		case "output":
			cmd.Stdout = f
		case "error":
			cmd.Stdout, cmd.Stderr = &said, f
		case "input":
			cmd.Stdin = f
		}
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != 3 {
			t.Errorf("standard %s: status %d", stream, code)
		}
		if stream != "error" && !strings.Contains(said.String(), other+" is also standard "+stream) {
			t.Errorf("standard %s: it said %q", stream, &said)
		}
		if got, err := os.ReadFile(store); err != nil || string(got) != records {
			t.Errorf("standard %s: the store holds %q (%v)", stream, got, err)
		}
	}
}
