package storefs

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The disk is set to work whenever enough has been written since the last time.
func TestUnsyncedGrow(t *testing.T) {
	var u unsynced
	var got []bool
	for range 5 {
		got = append(got, u.grow(writeBackBytes/2))
	}
	if want := []bool{false, true, false, true, false}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A file that is long enough to be written back on the way holds what was written.
func TestWriteBackKeepsContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long")
	f, err := OS().OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for i := range 5 {
		piece := bytes.Repeat([]byte{byte('a' + i)}, writeBackBytes/2+i)
		if n, err := f.Write(piece); n != len(piece) || err != nil {
			t.Fatalf("wrote %d of %d bytes: %v", n, len(piece), err)
		}
		want = append(want, piece...)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes come back, want the %d that were written: %v", len(got), len(want), err)
	}
}
