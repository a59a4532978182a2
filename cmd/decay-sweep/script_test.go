package main

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
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
			"add": add, "runs": runs, "replaced": replaced, "for-each": forEach,
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

// add FILE TEXT appends to a file, as another program would; TEXT is written as for put.
func add(ts *testscript.TestScript, neg bool, args []string) {
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_WRONLY|os.O_APPEND, 0)
	ts.Check(err)
	_, err = f.WriteString(unquote(ts, args[1]))
	ts.Check(err)
	ts.Check(f.Close())
}

// runs AUDIT sets RUN1, RUN2 and so on to the ids of the runs in an audit.
func runs(ts *testscript.TestScript, neg bool, args []string) {
	n := 0
	for line := range strings.SplitSeq(ts.ReadFile(ts.MkAbs(args[0])), "\n") {
		if id, ok := strings.CutPrefix(line, `{"event":"run","run_id":"`); ok {
			n++
			ts.Setenv("RUN"+strconv.Itoa(n), id[:16])
		}
	}
}

// replaced FILE OLD NEW FROM writes FILE with the content of FROM, its first OLD replaced by NEW.
func replaced(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile(ts.MkAbs(args[3]))
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s does not hold %s", args[3], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], args[2], 1)), 0o644))
}

// for-each WORDS... -- stdout PATTERN expects the pattern in the last output with {} replaced by each word.
func forEach(ts *testscript.TestScript, neg bool, args []string) {
	at := slices.Index(args, "--")
	out := ts.ReadFile("stdout")
	for _, word := range args[:at] {
		pattern := strings.ReplaceAll(args[at+2], "{}", word)
		if !regexp.MustCompile("(?m)" + pattern).MatchString(out) {
			ts.Fatalf("no match for %s", pattern)
		}
	}
}
