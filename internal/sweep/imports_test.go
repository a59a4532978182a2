package sweep

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/iamfaham/recolva/"

// Each package imports only what stands below it: cmd, sweep, then what sweep composes.
func TestImports(t *testing.T) {
	for dir, allowed := range map[string][]string{
		"../../cmd/decay-sweep": {"internal/canon", "internal/ledger", "internal/record", "internal/selftest", "internal/storefs", "internal/sweep", "internal/transaction", "internal/version", "pkg/decay"},
		".":                     {"internal/canon", "internal/ledger", "internal/record", "internal/storefs", "internal/transaction", "internal/version", "pkg/decay"},
		"../ledger":             {"internal/canon", "internal/record", "internal/transaction"},
		"../transaction":        {"internal/storefs", "internal/canon"},
		"../canon":              {},
	} {
		paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: no files (%v)", dir, err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range file.Imports {
				name, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				own, isOwn := strings.CutPrefix(name, module)
				if isOwn && !slices.Contains(allowed, own) || !isOwn && strings.Contains(strings.SplitN(name, "/", 2)[0], ".") {
					t.Errorf("%s imports %s", path, name)
				}
			}
		}
	}
}
