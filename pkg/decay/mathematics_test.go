package decay

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// sources parses the package's own files, tests excepted.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = file
	}
	if len(files) == 0 {
		t.Fatal("no source files found")
	}
	return files
}

// The package takes nothing from math whose result could differ between
// processors: no exponential, logarithm, power, root or fused multiplication.
func TestNoInexactMathematics(t *testing.T) {
	allowed := map[string]bool{
		"Abs": true, "Float64bits": true, "Float64frombits": true, "IsInf": true, "IsNaN": true,
		"MaxUint64": true, "MinInt64": true, "NaN": true, "Trunc": true,
	}
	seen := 0
	for name, file := range sources(t) {
		ast.Inspect(file, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := selector.X.(*ast.Ident); ok && pkg.Name == "math" {
				seen++
				if !allowed[selector.Sel.Name] {
					t.Errorf("%s uses math.%s", name, selector.Sel.Name)
				}
			}
			return true
		})
	}
	if seen == 0 {
		t.Error("no use of math was found: the test looks at nothing")
	}
}
