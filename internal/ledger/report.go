package ledger

import (
	"fmt"

	"github.com/iamfaham/recolva/internal/canon"
)

// The modes of runs, as the audit names them.
const (
	modeDryRun  = "dry-run"
	modeArchive = "archive"
	modeDelete  = "delete"
	modeRestore = "restore"
)

// Verdict says what could be proved of a run.
type Verdict string

// The verdicts.
const (
	Proved     Verdict = "proved"      // what it left and moved merges to the bytes it found
	Deleted    Verdict = "deleted"     // what it left is proved; what it deleted is gone by intent
	Changed    Verdict = "changed"     // another program changed the store between this run and the next
	OtherStore Verdict = "other_store" // its records do not line up with this store's
	Unproved   Verdict = "unproved"    // what the store was then is not known: a later run deleted, or the store was changed
	Faulty     Verdict = "faulty"      // see the findings
)

// Verdicts are all of them.
var Verdicts = []Verdict{Proved, Deleted, Changed, OtherStore, Unproved, Faulty}

// VerdictTexts say what each verdict means, for a person.
var VerdictTexts = map[Verdict]string{
	Proved:     "every record is in exactly one place",
	Deleted:    "the store that it left is proved; what it deleted is named by the audit alone",
	Changed:    "another program changed the store after it and before the next run",
	OtherStore: "its records do not line up with this store: it swept another, or this one changed since without the audit",
	Unproved:   "a later run deleted or restored records, or another program changed the store, so what the store was then cannot be told from these files; that is normal, nothing is wrong with it, and --backup COPY can prove it",
	Faulty:     "see the findings",
}

// Label is the verdict in words for a person.
func (v Verdict) Label() string {
	switch v {
	case Unproved:
		return "not checked"
	case OtherStore:
		return "of another store"
	}
	return string(v)
}

// RunState is what was found out about a run.
type RunState struct {
	Run      *Run
	Verdict  Verdict
	archived bool // the archive holds what the run moved there
}

func (s *RunState) set(v Verdict) {
	if s.Verdict != Faulty {
		s.Verdict = v
	}
}

// fault adds a finding that came out with the run.
func (s *RunState) fault(w *walk, f Finding) {
	s.Verdict = Faulty
	w.audit.add(f)
}

// Report is what Verify found.
type Report struct {
	faults
	Runs       []RunState // in the order of the audit
	Counts     map[Verdict]int
	Backup     string // the run before which the store was as the backup is
	Backed     bool   // there was a backup
	Unclaimed  int64  // lines in the archive that no run put there, or -1 if that is not known
	Consistent bool   // nothing is wrong
}

// report sums the walk up.
func (w *walk) report() *Report {
	r := &Report{Runs: w.states, Counts: map[Verdict]int{}, Backup: w.backupAt, Backed: w.backup != nil, Unclaimed: w.unclaimed}
	own := false
	for i := range w.states {
		s := &w.states[i]
		s.Run = &w.audit.Runs[i]
		r.Counts[s.Verdict]++
		own = own || s.Verdict != OtherStore
	}
	switch {
	case len(w.states) == 0:
		w.audit.add(Finding{File: auditFile, Text: "has no run line: there is nothing to verify"})
	case !own:
		w.audit.add(Finding{File: storeFile, Text: "does not line up with any run of the audit: it is another store, or was changed since without this audit"})
	}
	if w.backup != nil && w.backupAt == "" {
		w.audit.add(Finding{File: backupFile, Text: "is not the store as it was before any run of which the store could be rebuilt"})
	}
	r.faults = w.audit.faults
	r.Consistent = len(r.Findings) == 0
	return r
}

// AppendJSON appends the report as one JSON object and a newline.
func (r *Report) AppendJSON(dst []byte) []byte {
	dst = fmt.Appendf(dst, `{"consistent":%t,"runs":%d`, r.Consistent, len(r.Runs))
	for _, v := range Verdicts {
		dst = fmt.Appendf(dst, `,"%s":%d`, v, r.Counts[v])
	}
	if r.Backed {
		dst = canon.AppendString(append(dst, `,"backup_before_run":`...), r.Backup)
	}
	dst = append(dst, `,"findings":[`...)
	for i, f := range r.Findings {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = f.appendJSON(dst)
	}
	dst = fmt.Appendf(dst, `],"more_findings":%d`, r.More)
	if r.Unclaimed >= 0 {
		dst = canon.AppendInt(append(dst, `,"unclaimed":`...), r.Unclaimed)
	}
	dst = append(dst, `,"by_run":[`...)
	for i, s := range r.Runs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = s.appendJSON(dst)
	}
	return append(dst, "]}\n"...)
}

func (s *RunState) appendJSON(dst []byte) []byte {
	dst = canon.AppendString(append(dst, `{"run_id":`...), s.Run.RunID)
	dst = canon.AppendString(append(dst, `,"mode":`...), s.Run.Mode)
	dst = canon.AppendInt(append(dst, `,"moved":`...), s.Run.moved())
	dst = canon.AppendString(append(dst, `,"verdict":`...), string(s.Verdict))
	if s.Run.Archived.Bytes > 0 && s.Run.Mode == modeArchive {
		dst = fmt.Appendf(dst, `,"in_archive":%t`, s.archived)
	}
	dst = canon.AppendString(append(dst, `,"text":`...), VerdictTexts[s.Verdict])
	return append(dst, '}')
}
