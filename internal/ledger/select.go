package ledger

import (
	"errors"
	"fmt"
	"io"

	"github.com/iamfaham/recolva/internal/record"
)

// Selection says which records of an archive are to come back: those of one
// run, or all with certain ids.
type Selection struct {
	Lines int64 // of the run, still in the archive; 0 by ids
	Whole bool  // all that the run archived

	ids  map[string]bool
	at   span
	next func() (*Entry, error) // the run's entries of these records
}

// WrongRun says why nothing can be restored of the run that the caller named.
type WrongRun struct{ text string }

func (w *WrongRun) Error() string { return w.text }

// SelectIDs selects all records with these ids.
func SelectIDs(ids []string) *Selection {
	s := &Selection{ids: map[string]bool{}}
	for _, id := range ids {
		s.ids[id] = true
	}
	return s
}

// SelectRun selects what a run archived and what was not restored since.
func SelectRun(a *Audit, archive *Content, runID string, ids *record.IDScanner) (*Selection, error) {
	r := a.Run(runID)
	switch {
	case r == nil:
		return nil, &WrongRun{fmt.Sprintf("run %s is not in the audit", runID)}
	case r.Mode == modeDelete && r.Pruned > 0:
		return nil, &WrongRun{fmt.Sprintf("run %s deleted its %d records: there is nothing to restore them from", runID, r.Pruned)}
	case r.Mode != modeArchive:
		return &Selection{}, nil
	}
	if err := a.CheckBlock(r); err != nil {
		return nil, err
	}
	gone, all, err := a.restoredSince(r)
	if err != nil || all {
		return &Selection{}, err
	}
	remaining := func() func() (*Entry, error) {
		e := a.entries(r)
		return func() (*Entry, error) {
			for {
				entry, err := e.moved()
				if err != nil || !gone[string(entry.appendID(nil))] {
					return entry, err
				}
			}
		}
	}
	l := newLocator(ids)
	hash, count, err := l.target(remaining())
	if err != nil || count == 0 {
		return &Selection{}, err
	}
	s := &Selection{Lines: count, Whole: count == r.Pruned, next: remaining()}
	if s.Whole {
		var found bool
		if s.at, found, _, err = l.locate(archive, a, r); err == nil && !found {
			err = fmt.Errorf("the archive does not hold the %d records that run %s archived as it archived them", count, runID)
		}
		return s, err
	}
	return s, s.locatePart(l, archive, hash, runID)
}

// locatePart finds what is left of a run, for which there is no digest.
func (s *Selection) locatePart(l *locator, archive *Content, hash uint64, runID string) error {
	found := 0
	_, err := l.find(archive, hash, s.Lines, func(at span) (bool, error) {
		s.at = at
		found++
		return found > 1, nil
	})
	switch {
	case err != nil:
		return err
	case found == 0:
		return fmt.Errorf("the archive does not hold the %d records of run %s that were not restored", s.Lines, runID)
	case found > 1:
		return fmt.Errorf("what is left of run %s cannot be told from other records with the same ids: restore them by their ids", runID)
	}
	return nil
}

// restoredSince returns the ids that were restored by their ids after the run,
// and whether all of the run was.
func (a *Audit) restoredSince(r *Run) (ids map[string]bool, all bool, err error) {
	ids = map[string]bool{}
	for i := range a.Runs {
		later := &a.Runs[i]
		if later.Mode != modeRestore || later.start < r.start {
			continue
		}
		if err := a.CheckBlock(later); err != nil {
			return nil, false, err
		}
		if later.Of == r.RunID {
			return nil, true, nil
		}
		for e := a.entries(later); later.Of == ""; {
			entry, err := e.moved()
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, false, err
			}
			ids[string(entry.appendID(nil))] = true
		}
	}
	return ids, false, nil
}

// Taken counts what Take did.
type Taken struct {
	Restored, Left int64 // records; blank lines are none
	Nameless       int64 // of those left, where ids are wanted: no valid id in its field
	Bytes          int64 // of the restored records, as they go to the store
}

// Outputs are what Take writes to; nil where nothing is wanted.
type Outputs struct {
	Left  io.Writer // the lines that stay in the archive
	Moved io.Writer // the lines that come back, each with its newline
	Told  func(id []byte, line int64) error
}

// Take divides an archive by the selection. A last line without its newline
// gets one when it moves: a store is appended to.
func (s *Selection) Take(archive io.Reader, ids *record.IDScanner, out Outputs) (t Taken, err error) {
	l := newLineReader(archive)
	if err := l.bom(orNothing(out.Left)); err != nil {
		return t, err
	}
	var id []byte
	for {
		line, err := l.next()
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			return t, err
		}
		var takes bool
		if id, takes, err = s.takes(l, ids, id[:0]); err != nil {
			return t, err
		}
		if !takes {
			if !record.IsBlank(line) || l.open {
				t.Left++
				if s.ids != nil && len(id) == 0 {
					t.Nameless++
				}
			}
			err = copyLine(orNothing(out.Left), l)
		} else {
			t.Restored++
			err = s.move(l, id, out, &t)
		}
		if err != nil {
			return t, err
		}
	}
}

func orNothing(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

func copyLine(w io.Writer, l *lineReader) error {
	if _, err := w.Write(l.line); err != nil {
		return err
	}
	return l.rest(w)
}

func (s *Selection) move(l *lineReader, id []byte, out Outputs, t *Taken) error {
	moved := &ended{w: orNothing(out.Moved)}
	if err := copyLine(moved, l); err != nil {
		return err
	}
	if moved.last != '\n' {
		if _, err := moved.Write([]byte{'\n'}); err != nil {
			return err
		}
	}
	t.Bytes += moved.bytes
	if out.Told == nil {
		return nil
	}
	return out.Told(id, l.number)
}

// takes decides about the line that l read last, and returns its id if so.
func (s *Selection) takes(l *lineReader, ids *record.IDScanner, id []byte) ([]byte, bool, error) {
	if s.ids == nil {
		if s.Lines == 0 || l.start < s.at.start || l.start >= s.at.end {
			return id, false, nil
		}
		e, err := s.next()
		if err == io.EOF {
			err = errors.New("the archive holds more lines of the run than its audit")
		}
		if err != nil {
			return id, false, err
		}
		return e.appendID(id), true, nil
	}
	var rec record.Record
	if l.open || !ids.Scan(l.content(), &rec) {
		return id, false, nil
	}
	id = record.AppendID(id, &rec)
	return id, s.ids[string(id)], nil
}

// ended knows the last byte that it passed on.
type ended struct {
	w     io.Writer
	last  byte
	bytes int64
}

func (e *ended) Write(p []byte) (int, error) {
	if len(p) > 0 {
		e.last = p[len(p)-1]
	}
	e.bytes += int64(len(p))
	return e.w.Write(p)
}

// Merge writes the store as it was before the run whose records all are
// selected: each goes back to where it was. It returns false if the store is
// not what the run left, or the result is not what the run found.
func (s *Selection) Merge(w io.Writer, a *Audit, runID string, store, archive *Content) (bool, error) {
	r := a.Run(runID)
	if !s.Whole || store.Bytes != r.After.Bytes {
		return false, nil
	}
	left, whole := newSum(), newSum()
	stayed := newLineReader(io.TeeReader(store.section(0, store.Bytes), left))
	moved := newLineReader(archive.section(s.at.start, s.at.end))
	err := merge(io.MultiWriter(w, whole), stayed, moved, a.movedLines(r))
	if errors.Is(err, errUneven) {
		return false, nil
	}
	return left.digest() == r.After.Digest && whole.digest() == r.Before.Digest, err
}

// None reports whether the selection is empty whatever the archive holds.
func (s *Selection) None() bool { return s.ids == nil && s.Lines == 0 }
