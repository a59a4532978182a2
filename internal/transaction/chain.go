package transaction

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
)

// runPrefix starts the line that closes each run's block in an audit.
const runPrefix = `{"event":"run",`

// chainDigest returns the SHA-256 in hex of the audit at path from the last run line
// to its end, with the newline that an append would add, or 64 zeros where there
// is no run line.
func chainDigest(path string) (string, error) {
	zeros := strings.Repeat("0", 2*sha256.Size)
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return zeros, nil
	}
	if err != nil {
		return "", &Error{Failed, err}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", &Error{Failed, err}
	}
	start, err := lastRunLine(f, info.Size())
	if err != nil {
		return "", &Error{Failed, err}
	}
	if start < 0 {
		return zeros, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, start, info.Size()-start)); err != nil {
		return "", &Error{Failed, err}
	}
	joint, err := needsNewline(f, info.Size())
	if err != nil {
		return "", &Error{Failed, err}
	}
	if joint {
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// lastRunLine returns the offset of the last line that starts with runPrefix,
// or -1. It reads backwards from size in windows that overlap by the length of
// what is looked for, so a prefix across two windows is found.
func lastRunLine(f io.ReaderAt, size int64) (int64, error) {
	const window = 64 << 10
	want := []byte("\n" + runPrefix)
	buf := make([]byte, window+len(want)-1)
	for end := size; end > 0; end -= window {
		start := max(0, end-window)
		length := min(int64(len(buf)), size-start)
		if start == 0 {
			length = min(end+int64(len(want))-1, size)
		}
		part := buf[:length]
		if _, err := f.ReadAt(part, start); err != nil && err != io.EOF {
			return -1, err
		}
		if i := bytes.LastIndex(part, want); i >= 0 {
			return start + int64(i) + 1, nil
		}
		if start == 0 && bytes.HasPrefix(part, want[1:]) {
			return 0, nil
		}
	}
	return -1, nil
}
