package ledger

import (
	"fmt"

	"github.com/iamfaham/recolva/internal/canon"
)

// The files that a finding may be about.
const (
	storeFile   = "store"
	archiveFile = "archive"
	auditFile   = "audit"
	backupFile  = "backup"
)

// Finding is one thing that is not as it should be, and where.
type Finding struct {
	File  string // store, archive, audit or backup
	Line  int64  // of it; 0 where it is about no single line
	RunID string // the run that it came out with; may be ""
	Text  string // follows the place
}

// String is the finding as a sentence.
func (f Finding) String() string {
	text := f.File
	if f.Line > 0 {
		text += fmt.Sprintf(" line %d", f.Line)
	}
	return text + " " + f.Text
}

func (f Finding) appendJSON(dst []byte) []byte {
	dst = canon.AppendString(append(dst, `{"file":`...), f.File)
	if f.Line > 0 {
		dst = canon.AppendInt(append(dst, `,"line":`...), f.Line)
	}
	if f.RunID != "" {
		dst = canon.AppendString(append(dst, `,"run_id":`...), f.RunID)
	}
	dst = canon.AppendString(append(dst, `,"text":`...), f.String())
	return append(dst, '}')
}

// mostFindings bounds the list; a file of garbage must not fill the memory.
const mostFindings = 100

// faults is a list of findings.
type faults struct {
	Findings []Finding
	More     int64 // that were not listed
}

func (f *faults) add(found Finding) {
	if len(f.Findings) >= mostFindings {
		f.More++
		return
	}
	f.Findings = append(f.Findings, found)
}
