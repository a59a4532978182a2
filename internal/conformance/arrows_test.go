package conformance

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/iamfaham/recolva/"

// arrows says which packages of the module each package may import.
var arrows = map[string][]string{
	"cmd/decay-sweep":        {"internal/sweep", "internal/ledger", "internal/selftest", "internal/transaction", "internal/storefs", "internal/record", "internal/canon", "internal/version", "pkg/decay"},
	"internal/canon":         {},
	"internal/conformance":   {},
	"internal/ffi":           {"internal/record", "pkg/decay"},
	"internal/ledger":        {"internal/transaction", "internal/storefs", "internal/record", "internal/canon"},
	"internal/record":        {},
	"internal/selftest":      {"pkg/decay"},
	"internal/storefs":       {},
	"internal/storefs/simfs": {"internal/storefs"},
	"internal/sweep":         {"internal/ledger", "internal/transaction", "internal/storefs", "internal/record", "internal/canon", "internal/version", "pkg/decay"},
	"internal/transaction":   {"internal/storefs"},
	"internal/version":       {},
	"native":                 {"internal/ffi", "pkg/decay"},
	"native/examples/go":     {"pkg/decay"},
	"pkg/decay":              {},
}

// Packages import each other along the arrows only, and nothing but the standard
// library besides; tests may use more.
func TestArrows(t *testing.T) {
	root := os.DirFS(filepath.Join("..", ".."))
	seen := 0
	for _, top := range []string{"cmd", "internal", "native", "pkg"} {
		err := fs.WalkDir(root, top, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case top == name && err != nil: // there is no such folder
				return fs.SkipDir
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == "testdata":
				return fs.SkipDir
			case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			seen++
			return checkImports(t, root, name)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 10 {
		t.Errorf("only %d files were found", seen)
	}
}

func checkImports(t *testing.T, root fs.FS, name string) error {
	t.Helper()
	source, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ImportsOnly)
	if err != nil {
		return err
	}
	allowed, known := arrows[path.Dir(name)]
	if !known {
		t.Errorf("%s: its package has no row in the table of arrows", name)
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		within, ours := strings.CutPrefix(imported, module)
		first, _, _ := strings.Cut(imported, "/")
		if ours && !slices.Contains(allowed, within) || !ours && strings.Contains(first, ".") {
			t.Errorf("%s must not import %s", name, imported)
		}
	}
	return nil
}
