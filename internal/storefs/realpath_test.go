//go:build unix

package storefs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/iamfaham/recolva/internal/storefs"
)

// A path leads where the kernel follows it, also where ".." comes after a symbolic link.
func TestRealPath(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"x", "other/sub"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"x/store", "other/store"} {
		if err := os.WriteFile(filepath.Join(root, file), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"x/link": "../other/sub", "named": "x/link/../store", "gone": "x/none"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(root, "x/link")) // PWD keeps the link
	for name, want := range map[string]string{
		root + "/x/link/../store": "other/store",
		root + "/x/link/../new":   "other/new",
		root + "/x/../x/./store":  "x/store",
		root + "/named":           "other/store",
		"../store":                "other/store",
		"../new":                  "other/new",
		"new":                     "other/sub/new",
		"../../x/link/../new":     "other/new",
		root + "/gone":            "",
		root + "/none/../x/store": "",
		root + "/none/..":         "",
		root + "/none/new":        "",
	} {
		got, err := storefs.OS().RealPath(name)
		if want != "" {
			want = filepath.Join(root, want)
		}
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q (%v), want %q", name, got, err, want)
		}
	}
}
