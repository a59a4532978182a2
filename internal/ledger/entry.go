package ledger

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/iamfaham/recolva/internal/record"
	"github.com/iamfaham/recolva/internal/transaction"
)

// The actions of audit lines.
const (
	Retained = "retained"
	Pruned   = "pruned"
	Restored = "restored"
)

// Entry is an audit line about one record.
type Entry struct {
	id     record.Record // only its id; aliases the line
	Action string
	Line   int64 // in the store, or in the archive for Restored
	RunID  string
}

// appendID appends the id as text.
func (e *Entry) appendID(dst []byte) []byte { return record.AppendID(dst, &e.id) }

// parse reads a line. These lines are written in one way only, so they are cut
// at the words between the values; false means that no run wrote it.
func (e *Entry) parse(line []byte) bool {
	_, rest, ok := bytes.Cut(line, []byte(`,"id":"`))
	if !ok || !bytes.HasPrefix(line, []byte(`{"mode":"`)) {
		return false
	}
	end := 0
	for end < len(rest) && rest[end] != '"' {
		if rest[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(rest) {
		return false
	}
	e.id = record.Record{ID: rest[:end], IDEscaped: bytes.IndexByte(rest[:end], '\\') >= 0}
	verdict, place, ok := bytes.Cut(rest[end+1:], []byte(`,"line":`))
	if !ok {
		return false
	}
	number, run, ok := bytes.Cut(place, []byte(`,"run_id":"`))
	run, ended := bytes.CutSuffix(run, []byte("\"}\n"))
	if !ok || !ended || bytes.IndexByte(run, '"') >= 0 {
		return false
	}
	_, action, ok := bytes.Cut(verdict, []byte(`"action":"`))
	if !ok {
		return false
	}
	action, _, _ = bytes.Cut(action, []byte{'"'})
	var err error
	e.Line, err = strconv.ParseInt(string(number), 10, 64)
	e.RunID = string(run)
	switch string(action) {
	case Retained:
		e.Action = Retained
	case Pruned:
		e.Action = Pruned
	case Restored:
		e.Action = Restored
	default:
		return false
	}
	return err == nil && e.Line > 0
}

// Run is a line that closes the block of a run, and where it stands.
type Run struct {
	RunID    string `json:"run_id"`
	Mode     string `json:"mode"`
	Of       string `json:"of"`     // restore: the run whose records came back, or ""
	Placed   string `json:"placed"` // restore: Merged or Appended
	Scanned  int64  `json:"scanned"`
	Pruned   int64  `json:"pruned"`
	Restored int64  `json:"restored"`
	Before   digest `json:"before"`
	After    digest `json:"after"`
	Archived digest `json:"archived"`
	Audited  digest `json:"audited"`
	Prev     string `json:"prev"`

	Number     int64 // of its line in the audit
	start, end int64 // of its line
}

// The places of restored records.
const (
	Merged   = "merged"   // each where it had been
	Appended = "appended" // at the end, in the order of the archive
)

// moved is the number of records that the run moved.
func (r *Run) moved() int64 { return r.Pruned + r.Restored }

// blockStart is where the run's lines begin.
func (r *Run) blockStart() int64 { return r.start - r.Audited.Bytes }

// runMark begins every run line.
const runMark = `{"event":"run",`

// parse reads a run line.
func (r *Run) parse(line []byte) error {
	if err := json.Unmarshal(line, r); err != nil {
		return err
	}
	switch {
	case r.RunID == "" || r.Mode == "" || r.Prev == "":
		return fmt.Errorf("it has no run_id, mode or prev")
	case r.Scanned < 0 || r.Pruned < 0 || r.Restored < 0:
		return fmt.Errorf("it counts below zero")
	}
	return nil
}

// digest is a transaction.Digest as a run line writes it.
type digest struct{ transaction.Digest }

// UnmarshalJSON reads {"sha256":"<64 hex digits>","bytes":N}.
func (d *digest) UnmarshalJSON(text []byte) error {
	var form struct {
		SHA256 string `json:"sha256"`
		Bytes  int64  `json:"bytes"`
	}
	if err := json.Unmarshal(text, &form); err != nil {
		return err
	}
	n, err := hex.Decode(d.SHA256[:], []byte(form.SHA256[:min(len(form.SHA256), 2*len(d.SHA256))]))
	if err != nil || n != len(d.SHA256) || len(form.SHA256) != 2*n || form.Bytes < 0 {
		return fmt.Errorf("%s is not a digest", text)
	}
	d.Bytes = form.Bytes
	return nil
}
