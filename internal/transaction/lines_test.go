package transaction

import (
	"bytes"
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

// Blank lines by the million are found at once in a store that holds them.
func TestBlankLinesAreFoundAtOnce(t *testing.T) {
	const count = 1 << 20
	blank := bytes.Repeat([]byte{'\n'}, count)
	name := filepath.Join(t.TempDir(), "store")
	for _, c := range []struct {
		store []byte
		want  int
	}{
		{append([]byte("kept\n"), blank...), count},
		{append([]byte("kept\n"), blank[:count/2]...), count / 2},
		{append(append([]byte("kept\n"), blank[:count/2]...), "other\n"...), count / 2},
	} {
		if err := os.WriteFile(name, c.store, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := storefs.OS().OpenFile(name, os.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		m := &mover{engine: newEngine(storefs.OS(), Options{}, hooks{}), journal: &journal{Drain: &drain{Piece: &piece{Base: 5}}}}
		if got, err := m.findPiece(f, blank, 5, int64(len(c.store))); err != nil || got != c.want {
			t.Errorf("found %d of %d blank lines (%v), want %d", got, count, err, c.want)
		}
		_ = f.Close()
	}
}
