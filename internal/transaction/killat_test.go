package transaction

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iamfaham/recolva/internal/storefs"
)

// The program under test is named by RECOLVA_PROGRAM; without it, this test
// binary plays its part.
const (
	programVariable = "RECOLVA_PROGRAM"
	childVariable   = "RECOLVA_SWEEP_CHILD"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	err := childMain(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(int(ClassOf(err)))
	}
}

// childMain understands just enough of the program's arguments.
func childMain(args []string) error {
	var files Files
	opts := Options{Mutate: true, LockTimeout: time.Second}
	recovers := args[0] == "recover"
	if recovers && args[1] == "--help" {
		return nil
	}
	for i, arg := range args {
		switch arg {
		case "--input":
			files.Input = args[i+1]
		case "--archive":
			files.Archive = args[i+1]
		case "--audit":
			files.Audit = args[i+1]
		}
	}
	if recovers {
		_, err := Recover(context.Background(), storefs.OS(), files.Input, opts)
		return err
	}
	return (&shop{fs: storefs.OS(), files: files, opts: opts}).sweep(nil)
}

type killer struct {
	*testing.T
	tool, program string
	mode          string // archive or delete
}

// arguments of a sweep of dir by the real program.
func (k *killer) arguments(dir string) []string {
	args := []string{"--input", dir + "/store", "--mode", k.mode, "--audit", dir + "/audit",
		"--now-ms", "1700000000000", "--half-life-ms", "86400000", "--threshold", "0.5", "--lock-timeout", "1s"}
	if k.mode == "archive" {
		return append(args, "--archive", dir+"/archive")
	}
	return append(args, "--confirm-delete")
}

func (k *killer) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), childVariable+"=1")
	return cmd
}

// fill makes a store of which every second record is weak.
func (k *killer) fill(dir string) {
	var b strings.Builder
	for i := range 40 {
		last, strong := int64(1700000000000), true
		if i%2 == 1 {
			last, strong = 1000, false
		}
		fmt.Fprintf(&b, `{"id":"r%d","last_accessed_ms":%d,"strong":%t,"text":"%s"}`+"\n", i, last, strong, strings.Repeat("x", i*9))
	}
	for name, text := range map[string]string{"store": b.String(), "archive": "{\"id\":\"old\"}\n", "audit": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o640); err != nil {
			k.Fatal(err)
		}
	}
}

func (k *killer) state(dir string) string {
	out := ""
	for _, name := range []string{"store", "archive", "audit"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		out += fmt.Sprintf("%s: %v\n%s\n", name, err, strings.ReplaceAll(string(data), dir, "DIR"))
	}
	return out
}

// once stops one sweep, recovers, and compares with before and after. It
// returns false when the sweep made fewer calls.
func (k *killer) once(at int, how, before, after string) bool {
	dir := k.TempDir()
	k.fill(dir)
	args := append([]string{strconv.Itoa(at), how, dir, k.program}, k.arguments(dir)...)
	out, err := k.command(k.tool, args...).CombinedOutput()
	var exit *exec.ExitError
	code := 0
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	if code == 77 {
		return false
	}
	killed := how == "before" || how == "after"
	now := k.state(dir)
	if !killed && (code == 1 || code == 3) && !strings.HasPrefix(now, before[:strings.Index(before, "\narchive:")]) {
		k.Errorf("%s at call %d: exit %d, but the store was changed: %s", how, at, code, out)
	}
	if out, err := k.command(k.recoverer(), "recover", "--input", dir+"/store").CombinedOutput(); err != nil {
		k.Errorf("%s at call %d (%s): recover: %v: %s", how, at, out, err, out)
	}
	switch got := k.state(dir); {
	case got != before && got != after:
		k.Errorf("%s at call %d: neither before nor after:\n%s", how, at, got)
	case code == 0 && got != after:
		k.Errorf("%s at call %d: success was reported: %s", how, at, got)
	case !killed && code == 5 && got != after:
		k.Errorf("%s at call %d: commit was reported: %s", how, at, got)
	case !killed && (code == 1 || code == 3) && got != before:
		k.Errorf("%s at call %d: failure was reported: %s", how, at, got)
	}
	k.leftovers(dir, at, how)
	if _, err := k.command(k.program, k.arguments(dir)...).CombinedOutput(); err != nil {
		k.Errorf("%s at call %d: the next sweep: %v", how, at, err)
	}
	return !k.Failed()
}

func (k *killer) leftovers(dir string, at int, how string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.Contains(e.Name(), sideMark) {
			k.Errorf("%s at call %d: %s is left", how, at, e.Name())
		}
	}
}

// TestRealKills: the real program, killed before and after every system call
// that changes a file, and with every such call failing, does all or nothing.
func TestRealKills(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the harness knows Linux on x86-64 only")
	}
	tool := filepath.Join(t.TempDir(), "killat")
	if out, err := exec.Command("gcc", "-O2", "-o", tool, "testdata/killat.c").CombinedOutput(); err != nil {
		t.Skipf("no C compiler: %v %s", err, out)
	}
	program := theProgram()
	step := 7
	if long || os.Getenv(programVariable) != "" {
		step = 1
	}
	for _, mode := range []string{"archive", "delete"} {
		k := &killer{T: t, tool: tool, program: program, mode: mode}
		before, after := k.ends()
		var group sync.WaitGroup
		for i, how := range []string{"before", "after", "eio", "enospc", "short"} {
			group.Go(func() {
				count := 0
				for at := 1 + i%step; k.once(at, how, before, after); at += step {
					count++
				}
				t.Logf("%s, %s: %d calls", mode, how, count)
			})
		}
		group.Wait()
	}
}

// recoverer is the program, or this test binary where the program does not yet
// know how to recover.
func (k *killer) recoverer() string {
	if k.command(k.program, "recover", "--help").Run() == nil {
		return k.program
	}
	self, _ := os.Executable()
	return self
}

func theProgram() string {
	if program := os.Getenv(programVariable); program != "" {
		return program
	}
	program, _ := os.Executable()
	return program
}

// TestRealKillsAtRandomTimes: the real program killed at any time does all or
// nothing.
func TestRealKillsAtRandomTimes(t *testing.T) {
	rounds := 30
	if long {
		rounds = 1000
	}
	k := &killer{T: t, program: theProgram(), mode: "archive"}
	began := time.Now()
	before, after := k.ends()
	span := time.Since(began)
	undone, done := 0, 0
	for i := range rounds {
		dir := t.TempDir()
		k.fill(dir)
		cmd := k.command(k.program, k.arguments(dir)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(span))))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if out, err := k.command(k.recoverer(), "recover", "--input", dir+"/store").CombinedOutput(); err != nil {
			t.Fatalf("round %d: recover: %v: %s", i, err, out)
		}
		switch k.state(dir) {
		case before:
			undone++
		case after:
			done++
		default:
			t.Fatalf("round %d: neither before nor after:\n%s", i, k.state(dir))
		}
		k.leftovers(dir, i, "kill in round")
	}
	t.Logf("%d kills at random times: %d sweeps undone, %d done", rounds, undone, done)
}

// ends gives the state before a sweep and after it.
func (k *killer) ends() (before, after string) {
	dir := k.TempDir()
	k.fill(dir)
	before = k.state(dir)
	if out, err := k.command(k.program, k.arguments(dir)...).CombinedOutput(); err != nil {
		k.Fatalf("%v: %s", err, out)
	}
	return before, k.state(dir)
}
