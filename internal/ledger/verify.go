package ledger

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/iamfaham/recolva/internal/record"
	"github.com/iamfaham/recolva/internal/transaction"
)

// VerifyJob names the files to verify. Backup may be "".
type VerifyJob struct {
	Store, Archive, Audit, Backup string
	IDField                       string // where records keep their id; "" means the default
}

// Verify checks that each record that the runs of the audit touched is in
// exactly one place. It reads only. What is wrong stands in the report; an
// error means that the files could not be verified at all.
func Verify(ctx context.Context, job VerifyJob) (*Report, error) {
	ids, err := record.NewIDScanner(job.IDField)
	if err != nil {
		return nil, err
	}
	for _, path := range []string{job.Store, job.Archive, job.Audit} {
		if err := CheckSettled(path); err != nil {
			return nil, err
		}
	}
	w := &walk{ctx: ctx, locator: newLocator(ids)}
	defer w.close()
	if err := w.open(job); err != nil {
		return nil, err
	}
	if err := w.audit.check(); err != nil {
		return nil, err
	}
	if err := w.back(); err != nil {
		return nil, err
	}
	if err := w.countUnclaimed(); err != nil {
		return nil, err
	}
	if w.files[0].Changed(true) || w.files[1].Changed(false) || w.files[2].Changed(false) {
		return nil, &transaction.Error{Class: transaction.Refused, Err: errors.New("the files were changed while they were verified: try again")}
	}
	return w.report(), nil
}

// CheckSettled returns a *Pending if an interrupted run concerns the file.
func CheckSettled(path string) error {
	left, err := transaction.Pending(path)
	if err == nil && left {
		err = &transaction.Error{Class: transaction.Refused, Err: &Pending{path}}
	}
	return err
}

// Pending is the error about a file that an interrupted run, or one at work, concerns.
type Pending struct{ Path string }

func (p *Pending) Error() string {
	return p.Path + " waits for what an interrupted run left to be settled"
}

// walk goes back through the runs of an audit, and knows at each what store
// and archive held then. A nil store means that this is not known any more.
type walk struct {
	ctx context.Context
	*locator
	audit  *Audit
	files  []*Content // store, archive, audit, backup
	temps  []*Content
	states []RunState // of the runs of the audit

	store, archive, backup *Content
	backupDigest           transaction.Digest
	backupAt               string // the run before which the store was as the backup is

	known    known
	attested bool // a later run saw the store as it was, or what became of it
	holes    bool // the archive lacks records that came back, nobody knows where

	unclaimed int64 // see Report
}

// known remembers a digest of the store's first bytes, so that runs that
// changed nothing cost nothing.
type known struct {
	of     *Content
	digest transaction.Digest
}

func (w *walk) open(job VerifyJob) (err error) {
	open := func(path string, missing bool) (c *Content) {
		if err != nil {
			return nil
		}
		if c, err = Open(path, missing); err == nil {
			w.files = append(w.files, c)
		}
		return c
	}
	w.store, w.archive = open(job.Store, false), open(job.Archive, true)
	audit := open(job.Audit, false)
	if job.Backup != "" {
		w.backup = open(job.Backup, false)
	}
	if err != nil {
		return err
	}
	if w.backup != nil {
		if w.backupDigest, err = w.backup.digest(0, w.backup.Bytes); err != nil {
			return err
		}
	}
	w.audit, err = ReadAudit(audit)
	return err
}

func (w *walk) close() {
	for _, c := range append(w.files, w.temps...) {
		c.Close()
	}
}

// own makes the walk close a temporary file.
func (w *walk) own(s *scratch) (*Content, error) {
	c, err := s.content()
	w.temps = append(w.temps, c)
	return c, err
}

// tidy closes the temporary files that the walk has left behind.
func (w *walk) tidy() {
	w.temps = slices.DeleteFunc(w.temps, func(c *Content) bool {
		if w.store != nil && w.store.file == c.file || w.archive.file == c.file {
			return false
		}
		c.Close()
		return true
	})
}

// back undoes run after run, the last one first.
func (w *walk) back() error {
	w.states = make([]RunState, len(w.audit.Runs))
	w.known.of = w.store
	if err := w.tryBackup("now", w.store.Bytes); err != nil {
		return err
	}
	w.known.of = nil
	for i := len(w.audit.Runs) - 1; i >= 0; i-- {
		if err := context.Cause(w.ctx); err != nil {
			return err
		}
		r, s := &w.audit.Runs[i], &w.states[i]
		undo := w.undoSweep
		switch {
		case w.audit.damaged[r.start]:
			undo = w.skip
		case r.Mode == modeRestore:
			undo = w.undoRestore
		}
		if err := undo(r, s); err != nil {
			return err
		}
		if err := w.tryBackup(r.RunID, w.known.digest.Bytes); err != nil {
			return err
		}
		w.tidy()
	}
	return nil
}

// countUnclaimed counts what is left of the archive when all runs are undone: it
// was there before the audit, comes from elsewhere, or is there twice.
func (w *walk) countUnclaimed() error {
	w.unclaimed = -1
	if w.holes || slices.ContainsFunc(w.states, func(s RunState) bool { return s.Verdict == Faulty }) {
		return nil
	}
	lines := newLineReader(w.archive.section(0, w.archive.Bytes))
	for w.unclaimed = 0; ; w.unclaimed++ {
		if err := lines.copyTo(io.Discard); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// storeStarts reports whether the store is known to have begun with d.
func (w *walk) storeStarts(d transaction.Digest) (bool, error) {
	if w.store == nil {
		return false, nil
	}
	if w.known.of == w.store && w.known.digest == d {
		return true, nil
	}
	ok, err := w.store.startsWith(d)
	if ok {
		w.known = known{w.store, d}
	}
	return ok, err
}

// skip goes past a run whose audit lines are not what it wrote.
func (w *walk) skip(r *Run, s *RunState) error {
	s.set(Faulty)
	w.store, w.holes = nil, true
	if r.Mode != modeArchive || r.Archived.Bytes == 0 {
		return nil
	}
	at, ok, err := atEnd(w.archive, r.Archived.Digest)
	if ok {
		s.archived = true
		w.archive, err = w.without(w.archive, at)
	}
	return err
}

// undoSweep goes back to before a run of a mode that scores.
func (w *walk) undoSweep(r *Run, s *RunState) error {
	matches, err := w.storeStarts(r.After.Digest)
	if err != nil {
		return err
	}
	archived, ok, err := w.takeArchived(r, s)
	if err != nil {
		return err
	}
	switch {
	case !matches && w.backup != nil && w.backupDigest == r.Before.Digest:
		return w.fromBackup(r, s)
	case !matches:
		return w.explain(r, r, s)
	}
	w.attested = true
	switch {
	case r.Pruned == 0 || r.Mode == modeDryRun:
		s.set(Proved)
	case r.Mode == modeDelete && w.backup != nil && w.backupDigest == r.Before.Digest:
		return w.fromBackup(r, s)
	case r.Mode == modeDelete:
		s.set(Deleted)
		w.store = nil
	case !ok: // takeArchived has said why
		w.store = nil
	default:
		return w.rebuild(r, s, archived)
	}
	return nil
}

// rebuild merges what the run archived back into the store that it left.
func (w *walk) rebuild(r *Run, s *RunState, archived *Content) error {
	out, err := newScratch()
	if err != nil {
		return err
	}
	left := w.store.section(0, r.After.Bytes)
	err = merge(out, newLineReader(left), newLineReader(archived.section(0, archived.Bytes)), w.audit.movedLines(r))
	if err != nil && !errors.Is(err, errUneven) {
		out.drop()
		return err
	}
	if err != nil || out.digest() != r.Before.Digest {
		out.drop()
		w.store = nil
		s.fault(w, Finding{File: storeFile, RunID: r.RunID, Text: "and archive do not merge to what they were before run " + r.RunID})
		return nil
	}
	s.set(Proved)
	if w.store, err = w.own(out); err != nil {
		return err
	}
	w.known = known{w.store, r.Before.Digest}
	return nil
}

// fromBackup proves a run forwards: the backup is the store before it. From
// here on the walk goes back from the backup.
func (w *walk) fromBackup(r *Run, s *RunState) error {
	stayed, moved := newSum(), newSum()
	err := split(stayed, moved, newLineReader(w.backup.section(0, w.backup.Bytes)), w.audit.movedLines(r))
	if err != nil && !errors.Is(err, errUneven) {
		return err
	}
	gone := r.Archived.Digest
	if r.Mode != modeArchive {
		gone = moved.digest()
	}
	after := stayed.digest()
	if r.Mode == modeDryRun {
		after = r.Before.Digest
	}
	if err != nil || after != r.After.Digest || moved.digest() != gone {
		s.fault(w, Finding{File: backupFile, RunID: r.RunID, Text: "is the store before run " + r.RunID + ", but what that run left and moved is not what the audit says"})
		w.store = nil
		return nil
	}
	s.set(Proved)
	w.attested = true
	w.store, w.backupAt = w.backup, r.RunID
	w.known = known{w.store, r.Before.Digest}
	return nil
}

// tryBackup notes where the backup is the store as it was, or as it had begun
// to be, within its first bytes.
func (w *walk) tryBackup(when string, bytes int64) error {
	if w.backup == nil || w.backupAt != "" || w.store == nil || w.known.of != w.store {
		return nil
	}
	same, err := equalStart(w.store.slice(0, bytes), w.backup)
	if same {
		w.backupAt = when
	}
	return err
}

// equalStart reports whether c begins with all of b.
func equalStart(c, b *Content) (bool, error) {
	if b.Bytes > c.Bytes {
		return false, nil
	}
	const chunk = 64 << 10
	x, y := make([]byte, chunk), make([]byte, chunk)
	for at := int64(0); at < b.Bytes; at += chunk {
		n := min(chunk, b.Bytes-at)
		if _, err := c.ReadAt(x[:n], at); err != nil && err != io.EOF {
			return false, err
		}
		if _, err := b.ReadAt(y[:n], at); err != nil && err != io.EOF {
			return false, err
		}
		if string(x[:n]) != string(y[:n]) {
			return false, nil
		}
	}
	return true, nil
}
