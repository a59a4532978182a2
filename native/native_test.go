package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/iamfaham/recolva/internal/conformance"
)

// compiler returns the first of the programs that is there.
func compiler(t *testing.T, variable string, names ...string) string {
	t.Helper()
	if name := os.Getenv(variable); name != "" {
		names = []string{name}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("no compiler found (%s; set %s to name one)", strings.Join(names, ", "), variable)
	return ""
}

func run(t *testing.T, name string, arguments ...string) {
	t.Helper()
	if output, err := exec.Command(name, arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, output)
	}
}

// build builds the library in a folder of its own and returns its path.
func build(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the library")
	}
	compiler(t, "CC", "cc", "gcc", "clang")
	name := map[string]string{"windows": "recolva.dll", "darwin": "librecolva.dylib"}[runtime.GOOS]
	if name == "" {
		name = "librecolva.so"
	}
	library := filepath.Join(t.TempDir(), name)
	run(t, "go", "build", "-buildmode=c-shared", "-o", library, ".")
	return library
}

// smoke compiles testdata/smoke.c against the header and the library, without a
// warning, and returns the program.
func smoke(t *testing.T, library, compiler string, options ...string) string {
	t.Helper()
	folder := filepath.Dir(library)
	program := filepath.Join(folder, "smoke"+filepath.Base(compiler)+".exe")
	options = append(options, "-Wall", "-Wextra", "-Werror", "-pedantic", "-I.", "testdata/smoke.c", "-x", "none",
		library, "-o", program)
	if runtime.GOOS != "windows" {
		options = append(options, "-pthread", "-Wl,-rpath,"+folder)
	}
	run(t, compiler, options...)
	return program
}

// A program in C, and the same program in C++, find that the library keeps what
// the header promises.
func TestSmoke(t *testing.T) {
	library := build(t)
	t.Run("C", func(t *testing.T) {
		run(t, smoke(t, library, compiler(t, "CC", "cc", "gcc", "clang"), "-x", "c", "-std=c99"))
	})
	t.Run("C++", func(t *testing.T) {
		run(t, smoke(t, library, compiler(t, "CXX", "c++", "g++", "clang++"), "-x", "c++", "-std=c++11"))
	})
}

// Through the C library come all golden scores, whether or not the processor
// flushes subnormal numbers.
func TestGolden(t *testing.T) {
	library := build(t)
	input := vectors(t)
	program := smoke(t, library, compiler(t, "CC", "cc", "gcc", "clang"), "-x", "c", "-std=c99")
	for _, mode := range []string{"vectors", "flushed"} {
		command := exec.Command(program, mode)
		command.Stdin = bytes.NewReader(input.Bytes())
		output, err := command.CombinedOutput()
		if err != nil || strings.TrimSpace(string(output)) != fmt.Sprint(conformance.GoldenCount) {
			t.Errorf("%s: %v: of %d scores:\n%.2000s", mode, err, conformance.GoldenCount, output)
		}
	}
}

// vectors writes the golden scores as smoke.c reads them.
func vectors(t *testing.T) *bytes.Buffer {
	t.Helper()
	cases, err := conformance.Golden()
	if err != nil {
		t.Fatal(err)
	}
	lines := &bytes.Buffer{}
	for _, c := range cases {
		now := int64(math.MaxInt64)
		last, want := int64(uint64(now)-c.Age), math.Float64bits(float64(c.Want))
		if c.Model == "E" {
			fmt.Fprintf(lines, "E %d %d %d %016x\n", last, now, c.HalfLife, want)
			continue
		}
		fmt.Fprintf(lines, "P %d %d %d %016x %016x %016x\n", last, now, c.Scale,
			math.Float64bits(float64(c.Exponent)), math.Float64bits(float64(c.Importance)), want)
	}
	return lines
}

// The header is a program's first include in C99 and in C++11, by itself.
func TestHeaderAlone(t *testing.T) {
	for _, c := range []struct{ variable, name, language, standard string }{
		{"CC", "cc", "c-header", "c99"},
		{"CXX", "c++", "c++-header", "c++11"},
	} {
		t.Run(c.standard, func(t *testing.T) {
			run(t, compiler(t, c.variable, c.name), "-x", c.language, "-std="+c.standard, "-fsyntax-only",
				"-Wall", "-Wextra", "-Werror", "-pedantic", "recolva.h")
		})
	}
}

// The program in the header's introduction compiles and prints what it says.
func TestHeaderExample(t *testing.T) {
	library := build(t)
	header, err := os.ReadFile("recolva.h")
	if err != nil {
		t.Fatal(err)
	}
	_, example, found := strings.Cut(string(header), " *   #include \"recolva.h\"\n")
	example, _, closed := strings.Cut(example, " *   }\n")
	_, want, commented := strings.Cut(example, "// prints ")
	if !found || !closed || !commented {
		t.Fatal("the header has no example")
	}
	want, _, _ = strings.Cut(want, "\n")
	source := filepath.Join(filepath.Dir(library), "example.c")
	text := strings.NewReplacer(" *   ", "", " *\n", "\n").Replace(" *   #include \"recolva.h\"\n" + example + " *   }\n")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(filepath.Dir(library), "example.exe")
	options := []string{"-std=c99", "-Wall", "-Wextra", "-Werror", "-I.", source, library, "-o", program}
	if runtime.GOOS != "windows" {
		options = append(options, "-Wl,-rpath,"+filepath.Dir(library))
	}
	run(t, compiler(t, "CC", "cc", "gcc", "clang"), options...)
	if output, err := exec.Command(program).Output(); err != nil || strings.TrimSpace(string(output)) != want {
		t.Errorf("got %q, %v, want %q", output, err, want)
	}
}
