package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/iamfaham/recolva/internal/transaction"
)

// undoRestore goes back to before a run that moved records from the archive
// to the store.
func (w *walk) undoRestore(r *Run, s *RunState) error {
	if r.Restored == 0 {
		s.set(Proved)
		return nil
	}
	if w.store == nil {
		s.set(Unproved)
		w.holes = true
		return nil
	}
	store, block, err := w.takeRestored(r, s)
	if err != nil || block == nil {
		w.holes = true
		return err
	}
	w.store = store
	archive, err := w.putBack(r, block)
	if err != nil {
		return err
	}
	switch {
	case archive == nil && w.holes:
		s.set(Unproved)
		return nil
	case archive == nil:
		w.holes = true
		s.fault(w, Finding{File: archiveFile, RunID: r.RunID, Text: "and the records that run " + r.RunID + " restored do not merge to what the archive was before it"})
		return nil
	}
	s.set(Proved)
	w.archive = archive
	return nil
}

// takeRestored takes the records that came back out of the store.
func (w *walk) takeRestored(r *Run, s *RunState) (store, block *Content, err error) {
	if origin := w.audit.Run(r.Of); r.Placed == Merged && origin != nil {
		ok, err := w.storeStarts(origin.Before.Digest)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			return nil, nil, w.explain(r, asSweep(origin), s)
		}
		w.attested = true
		return w.takeMerged(origin)
	}
	at, ok, near, err := w.locate(w.store, w.audit, r)
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, nil, w.lostRestored(r, s, near)
	}
	store, err = w.without(w.store, at)
	return store, w.store.slice(at.start, at.end), err
}

// asSweep is a restore that undid the origin, as if it were a dry-run then.
func asSweep(origin *Run) *Run {
	seen := *origin
	seen.Mode, seen.After = modeDryRun, origin.Before
	return &seen
}

// lostRestored says why the store does not hold what a run restored.
func (w *walk) lostRestored(r *Run, s *RunState, near span) error {
	origin, err := w.originOf(r)
	if err != nil {
		return err
	}
	if near.lines == 0 && origin != nil {
		if ours, _, err := w.compareIDs(origin); err != nil {
			return err
		} else if !ours {
			s.set(OtherStore)
			return nil
		}
	}
	w.store = nil
	switch {
	case w.attested:
		s.set(Changed)
	case near.lines > 0:
		s.fault(w, Finding{File: storeFile, RunID: r.RunID, Text: fmt.Sprintf("(%v) does not hold the bytes that run %s restored, though the same ids", near, r.RunID)})
	default:
		s.fault(w, Finding{File: storeFile, RunID: r.RunID, Text: fmt.Sprintf("does not hold the %d records that run %s restored: another program took them out or changed them", r.Restored, r.RunID)})
	}
	return nil
}

// originOf finds the run that archived what r restored, or the first record of it.
func (w *walk) originOf(r *Run) (*Run, error) {
	if r.Of != "" {
		return w.audit.Run(r.Of), nil
	}
	entry, err := w.audit.entries(r).moved()
	if err != nil {
		return nil, uneven(err)
	}
	id := w.weight(entry.appendID(nil))
	var origin *Run
	for i := range w.audit.Runs {
		earlier := &w.audit.Runs[i]
		if earlier.start >= r.start {
			break
		}
		for e := w.audit.entries(earlier); earlier.Mode == modeArchive; {
			entry, err := e.moved()
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, err
			}
			if w.weight(entry.appendID(nil)) == id {
				origin = earlier
			}
		}
	}
	return origin, nil
}

// takeMerged splits a store that is again what it was before its run.
func (w *walk) takeMerged(origin *Run) (store, block *Content, err error) {
	stayed, err := newScratch()
	if err != nil {
		return nil, nil, err
	}
	moved, err := newScratch()
	if err != nil {
		stayed.drop()
		return nil, nil, err
	}
	err = split(stayed, moved, newLineReader(w.store.section(0, origin.Before.Bytes)), w.audit.movedLines(origin))
	if err == nil {
		_, err = io.Copy(stayed, w.store.section(origin.Before.Bytes, w.store.Bytes))
	}
	if err != nil {
		stayed.drop()
		moved.drop()
		return nil, nil, err
	}
	store, err = w.own(stayed)
	block, blockErr := w.own(moved)
	return store, block, errors.Join(err, blockErr)
}

// putBack merges restored records into the archive where they were; nil means
// that this does not give the archive before the run.
func (w *walk) putBack(r *Run, block *Content) (*Content, error) {
	if w.archive.Bytes < r.After.Bytes {
		return nil, nil
	}
	out, err := newScratch()
	if err != nil {
		return nil, err
	}
	stayed := newLineReader(w.archive.section(0, r.After.Bytes))
	fit := &fitter{to: out, before: r.Before.Digest, sum: newSum()}
	err = merge(fit, stayed, newLineReader(&closedLines{r: block.section(0, block.Bytes)}), w.audit.movedLines(r))
	if err == nil && fit.fits() {
		_, err = io.Copy(out, w.archive.section(r.After.Bytes, w.archive.Bytes))
		if err == nil {
			return w.own(out)
		}
	}
	out.drop()
	if err == nil || errors.Is(err, errUneven) {
		return nil, nil
	}
	return nil, err
}

// closedLines reads lines and adds the newline that the last one may lack: it
// may have had one in the archive.
type closedLines struct {
	r    io.Reader
	last byte
	done bool
}

func (c *closedLines) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if n > 0 {
		c.last = p[n-1]
		return n, nil
	}
	if err == io.EOF && c.last != '\n' && !c.done {
		c.done = true
		p[0] = '\n'
		return 1, nil
	}
	return n, err
}

// fitter passes on what is to have the digest before, but no newline beyond
// its last byte.
type fitter struct {
	to     io.Writer
	before transaction.Digest
	*sum
	extra []byte
}

func (f *fitter) Write(p []byte) (int, error) {
	keep := p[:min(int64(len(p)), max(f.before.Bytes-f.bytes, 0))]
	f.extra = append(f.extra, p[len(keep):min(len(p), len(keep)+2)]...)
	f.sum.Write(keep)
	if _, err := f.to.Write(keep); err != nil {
		return 0, err
	}
	return len(p), nil
}

// fits reports whether all came to the digest, and nothing is left but at
// most a newline.
func (f *fitter) fits() bool {
	return f.digest() == f.before && (len(f.extra) == 0 || bytes.Equal(f.extra, []byte{'\n'}))
}
