package transaction

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/iamfaham/recolva/internal/storefs"
)

// A line is moved whole, whatever its length.
func TestLongLineIsOnePiece(t *testing.T) {
	const length = 129 << 20
	name := filepath.Join(t.TempDir(), "sparse")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, length); err != nil {
		t.Fatal(err)
	}
	f, err := storefs.OS().OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte("\nnext\n")); err != nil {
		t.Fatal(err)
	}
	e := newEngine(storefs.OS(), Options{}, hooks{})
	line, err := e.nextLines(f, 0, length+6)
	if err != nil || len(line) < length+1 || line[len(line)-1] != '\n' {
		t.Errorf("got %d bytes of a line of %d (%v)", len(line), length+1, err)
	}
	if line, err = e.lineAt(f, 0, length+6); err != nil || len(line) != length+1 {
		t.Errorf("got %d bytes of a line of %d (%v)", len(line), length+1, err)
	}
}
