package ledger

import (
	"fmt"
	"io"
)

// takeArchived finds what the run moved to the archive, and takes it out of
// the archive as the walk knows it.
func (w *walk) takeArchived(r *Run, s *RunState) (archived *Content, ok bool, err error) {
	if r.Archived.Bytes == 0 {
		return w.archive.slice(0, 0), true, nil
	}
	at, ok, near, err := w.locate(w.archive, w.audit, r)
	if err != nil {
		return nil, false, err
	}
	switch {
	case !ok && w.holes:
		s.set(Unproved)
		return nil, false, nil
	case !ok:
		return nil, false, w.missing(r, s, near)
	}
	s.archived = true
	archived = w.archive.slice(at.start, at.end)
	w.archive, err = w.without(w.archive, at)
	return archived, true, err
}

// without is the content less a range of lines.
func (w *walk) without(c *Content, at span) (*Content, error) {
	if at.next == c.Bytes {
		return c.slice(0, at.start), nil
	}
	out, err := newScratch()
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(out, io.MultiReader(c.section(0, at.start), c.section(at.next, c.Bytes)))
	if err != nil {
		out.drop()
		return nil, err
	}
	return w.own(out)
}

// missing reports that the archive does not hold what a run archived, naming
// the place as closely as the audit allows.
func (w *walk) missing(r *Run, s *RunState, near span) (err error) {
	f := Finding{File: archiveFile, RunID: r.RunID}
	if near.lines > 0 {
		f.Text = fmt.Sprintf("(%v) does not hold the bytes that run %s archived, though the same ids", near, r.RunID)
		if near.lines == 1 {
			f.Line, f.Text = near.first, fmt.Sprintf("does not hold the bytes that run %s archived, though the same id", r.RunID)
		}
		w.archive, err = w.without(w.archive, near)
		s.fault(w, f)
		return err
	}
	lines, err := countLines(w.archive)
	if err != nil {
		return err
	}
	f.Text = fmt.Sprintf("does not hold the %d records that run %s archived", r.Pruned, r.RunID)
	first := max(lines-r.Pruned, 0)
	at, place, err := w.firstStranger(r, first)
	if err != nil {
		return err
	}
	if place > 0 {
		f.Line = place
		f.Text = fmt.Sprintf("is not what run %s archived there", r.RunID)
	}
	s.fault(w, f)
	w.archive = w.archive.slice(0, at) // so that the runs before it are looked for
	return nil
}

// firstStranger compares the ids of the archive's lines after the first ones
// with those that the run archived. It returns where these lines begin, and
// the number of the first one with another id; 0 when none of the ids fits.
func (w *walk) firstStranger(r *Run, skip int64) (start, line int64, err error) {
	l := newLineReader(w.archive.section(0, w.archive.Bytes))
	for range skip {
		if err := l.copyTo(io.Discard); err != nil {
			return 0, 0, err
		}
	}
	start = l.end
	fits := false
	for e := w.audit.entries(r); ; {
		entry, err := e.moved()
		if err == io.EOF {
			break
		}
		if err != nil {
			return start, 0, err
		}
		if _, err := l.next(); err == io.EOF {
			break
		} else if err != nil {
			return start, 0, err
		}
		switch same := w.lineWeight(l) == w.weight(entry.appendID(nil)); {
		case same:
			fits = true
		case line == 0:
			line = l.number
		}
	}
	if !fits && r.Pruned > 1 {
		line = 0
	}
	return start, line, nil
}

func countLines(c *Content) (int64, error) {
	l := newLineReader(c.section(0, c.Bytes))
	for {
		if err := l.copyTo(io.Discard); err == io.EOF {
			return l.number, nil
		} else if err != nil {
			return 0, err
		}
	}
}

// explain says why the store is not what run r left, which is what seen left:
// it is another store's run, or the store was changed since.
func (w *walk) explain(r, seen *Run, s *RunState) error {
	if w.store == nil {
		s.set(Unproved)
		return nil
	}
	before, err := w.storeStarts(seen.Before.Digest)
	if err != nil {
		return err
	}
	if before && seen.Before != seen.After {
		w.attested = true
		s.fault(w, Finding{File: storeFile, RunID: r.RunID,
			Text: fmt.Sprintf("is as it was before run %s: the %d records that it pruned are back, and in the archive if it archived them", r.RunID, r.Pruned)})
		return nil
	}
	ours, line, err := w.compareIDs(seen)
	if err != nil {
		return err
	}
	if !ours {
		s.set(OtherStore)
		return nil
	}
	w.store = nil
	if w.attested {
		s.set(Changed)
		return nil
	}
	f := Finding{File: storeFile, RunID: r.RunID, Line: line, Text: "has another id than when run " + seen.RunID + " scored it"}
	if line == 0 {
		f.Text = fmt.Sprintf("was changed by another program since run %s: its first %d bytes are not those that the run left", r.RunID, seen.After.Bytes)
	}
	s.fault(w, f)
	return nil
}

// compareIDs compares the ids of the store's lines with those that the run
// retained. A store that shares none is not the run's. It also returns the
// first line with another id where the rest goes on as the run left it.
func (w *walk) compareIDs(r *Run) (ours bool, line int64, err error) {
	l := newLineReader(w.store.section(0, w.store.Bytes))
	e := w.audit.entries(r)
	read, differ := int64(0), int64(0)
	for {
		entry, err := e.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return false, 0, err
		}
		if entry.Action == Pruned && r.Mode != modeDryRun {
			continue
		}
		weight := uint64(0)
		for weight == 0 { // blank and invalid lines have no id
			if _, err := l.next(); err == io.EOF {
				return ours || read == 0, 0, nil
			} else if err != nil {
				return false, 0, err
			}
			weight = w.lineWeight(l)
		}
		read++
		if weight == w.weight(entry.appendID(nil)) {
			ours = true
		} else if differ++; differ == 1 {
			line = l.number
		}
	}
	if differ != 1 {
		line = 0
	}
	return ours || read == 0, line, nil
}
