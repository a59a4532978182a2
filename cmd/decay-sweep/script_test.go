package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"decay-sweep": main})
}

// The scripts in testdata hold: each title is the sentence that its script tests.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "put": put, "holds": holds, "link": link, "perm": perm, "linked": linked, "files": files,
		},
	})
}

// exits STATUS ARGS... runs decay-sweep and expects the exit status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec("decay-sweep", args[1:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// unquote resolves the escapes of Go strings in s, which may hold bare quotes.
func unquote(ts *testscript.TestScript, s string) string {
	text, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\x22`) + `"`)
	ts.Check(err)
	return text
}

// put FILE TEXT writes a file; TEXT has the escapes of Go, but bare quotes.
func put(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(unquote(ts, args[1])), 0o644))
}

// holds FILE TEXT expects a file to hold exactly TEXT, written as for put.
func holds(ts *testscript.TestScript, neg bool, args []string) {
	if got, want := ts.ReadFile(ts.MkAbs(args[0])), unquote(ts, args[1]); got != want {
		ts.Fatalf("%s holds %q, want %q", args[0], got, want)
	}
}

// link OLD NEW makes a hard link.
func link(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(os.Link(ts.MkAbs(args[0]), ts.MkAbs(args[1])))
}

// perm MODE FILE expects the permission bits of a file, in octal, where there are such.
func perm(ts *testscript.TestScript, neg bool, args []string) {
	if runtime.GOOS == "windows" {
		return
	}
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := strconv.FormatUint(uint64(info.Mode().Perm()), 8); got != args[0] {
		ts.Fatalf("mode of %s is %s, want %s", args[1], got, args[0])
	}
}

// linked FILE TARGET expects FILE to be a symbolic link to TARGET.
func linked(ts *testscript.TestScript, neg bool, args []string) {
	got, err := os.Readlink(ts.MkAbs(args[0]))
	ts.Check(err)
	if got != args[1] {
		ts.Fatalf("%s links to %s, want %s", args[0], got, args[1])
	}
}

// files DIR NAMES... expects a directory to hold these names and no others.
func files(ts *testscript.TestScript, neg bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	var got []string
	for _, e := range entries {
		if e.Name() != ".tmp" { // the script runner's own
			got = append(got, e.Name())
		}
	}
	want := args[1:]
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			ts.Fatalf("%s holds %q, want %q", args[0], got, want)
		}
	}
}
