package transaction

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/iamfaham/recolva/internal/storefs"
)

// runMark begins every run line of an audit.
const runMark = `{"event":"run",`

// noPrev is the link of a first run.
var noPrev = strings.Repeat("0", 2*sha256.Size)

// chainLink computes the link that the next run line of an audit carries: the
// SHA-256 of the audit from the start of its last run line to its end, with
// the newline that the next run would add first where the last one is missing.
func (e *engine) chainLink(f storefs.File, size int64) (string, error) {
	start, err := e.lastRunLine(f, size)
	if err != nil || start < 0 {
		return noPrev, err
	}
	sum := sha256.New()
	if err := e.copyRange(sum, f, start, size); err != nil {
		return "", err
	}
	open, err := endsOpen(f, size)
	if err != nil {
		return "", err
	}
	if open {
		sum.Write([]byte{'\n'})
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// lastRunLine finds the start of the last line that begins with runMark,
// reading backwards; -1 when there is none.
func (e *engine) lastRunLine(f storefs.File, size int64) (int64, error) {
	needle := []byte("\n" + runMark)
	buf := make([]byte, e.chunk()+len(needle)-1)
	for end := size; end > 0; {
		start := max(0, end-int64(e.chunk()))
		// Read past end by what a match that begins before end may need.
		n, err := readFull(f, buf[:min(size, end+int64(len(needle)-1))-start], start)
		if err != nil {
			return -1, err
		}
		if i := bytes.LastIndex(buf[:n], needle); i >= 0 {
			return start + int64(i) + 1, nil
		}
		if start == 0 && bytes.HasPrefix(buf[:n], needle[1:]) {
			return 0, nil
		}
		end = start
	}
	return -1, nil
}
