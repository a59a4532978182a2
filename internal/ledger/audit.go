package ledger

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// Audit is an audit file and the run lines in it.
type Audit struct {
	*Content
	Runs []Run
	faults
	damaged map[int64]bool // runs, by where their lines start, whose block is not what they wrote
}

// ReadAudit finds the run lines.
func ReadAudit(c *Content) (*Audit, error) {
	a := &Audit{Content: c, damaged: map[int64]bool{}}
	l := newLineReader(c.section(0, c.Bytes))
	for {
		line, err := l.next()
		if err == io.EOF {
			return a, nil
		}
		if err != nil {
			return nil, err
		}
		if !bytes.HasPrefix(line, []byte(runMark)) {
			continue
		}
		r := Run{Number: l.number, start: l.start, end: l.end}
		if err := r.parse(line); err != nil {
			a.add(Finding{File: auditFile, Line: l.number, Text: fmt.Sprintf("is not a run line: %v", err)})
			continue
		}
		a.Runs = append(a.Runs, r)
	}
}

// Run returns the run of that id, or nil.
func (a *Audit) Run(id string) *Run {
	for i := range a.Runs {
		if a.Runs[i].RunID == id {
			return &a.Runs[i]
		}
	}
	return nil
}

// entries reads the lines of a run's block: none where they are not the run's.
func (a *Audit) entries(r *Run) *entryReader {
	if a.damaged[r.start] {
		return &entryReader{lines: newLineReader(a.section(0, 0)), run: r}
	}
	return &entryReader{lines: newLineReader(a.section(max(r.blockStart(), 0), r.start)), run: r}
}

type entryReader struct {
	lines *lineReader
	run   *Run
	entry Entry
}

// next reads an entry; io.EOF means that there is none.
func (e *entryReader) next() (*Entry, error) {
	line, err := e.lines.next()
	if err != nil {
		return nil, err
	}
	if !e.entry.parse(line) || e.entry.RunID != e.run.RunID {
		return nil, fmt.Errorf("audit line %d is none of run %s", e.run.Number, e.run.RunID)
	}
	return &e.entry, nil
}

// moved reads on to the next entry of a record that the run moved.
func (e *entryReader) moved() (*Entry, error) {
	for {
		entry, err := e.next()
		if err != nil || entry.Action != Retained {
			return entry, err
		}
	}
}

// movedLines yields the line numbers of the records that a run moved.
func (a *Audit) movedLines(r *Run) numbers {
	e := a.entries(r)
	return func() (int64, bool, error) {
		entry, err := e.moved()
		if err == io.EOF {
			return 0, false, nil
		}
		if err != nil {
			return 0, false, err
		}
		return entry.Line, true, nil
	}
}

// CheckBlock returns an error unless the lines of the run's block are those
// that the run wrote.
func (a *Audit) CheckBlock(r *Run) error {
	first, end := r.blockStart(), r.start
	changed := fmt.Errorf("audit line %d: the lines before it are not those that run %s wrote", r.Number, r.RunID)
	if first < 0 {
		return changed
	}
	d, err := a.digest(first, end)
	if err == nil && d != r.Audited.Digest {
		err = changed
	}
	return err
}

// check goes through the whole audit once more, run by run.
func (a *Audit) check() error {
	zeros := strings.Repeat("0", 64)
	line, end, link, linked := int64(1), int64(0), zeros, int64(0)
	for i := range a.Runs {
		r := &a.Runs[i]
		first := max(r.blockStart(), end)
		foreign, err := a.countLines(end, first)
		if err != nil {
			return err
		}
		a.foreign(line, foreign)
		if i > 0 {
			d, err := a.digest(linked, first)
			if err != nil {
				return err
			}
			link = hex.EncodeToString(d.SHA256[:])
		}
		// A first run of an audit that begins with other lines has no link either.
		intact, err := a.checkRun(r, line+foreign)
		if err != nil {
			return err
		}
		if intact && r.Prev != link {
			a.add(Finding{File: auditFile, Line: r.Number, RunID: r.RunID,
				Text: "does not follow what stands before it: " + chainPlace(a.Runs, i, foreign) + " was changed, added or removed"})
		}
		line, end, linked = r.Number+1, r.end, r.start
	}
	rest, err := a.countLines(end, a.Bytes)
	a.foreign(line, rest)
	return err
}

// chainPlace names what a link covers: a run line, and lines after it that no
// run wrote.
func chainPlace(runs []Run, i int, foreign int64) string {
	switch {
	case i == 0:
		return "an earlier run line"
	case foreign == 0:
		return fmt.Sprintf("line %d", runs[i-1].Number)
	}
	return fmt.Sprintf("line %d or what follows it", runs[i-1].Number)
}

// checkRun compares a block with its run line. It returns false when they differ.
func (a *Audit) checkRun(r *Run, firstLine int64) (intact bool, err error) {
	fault := func(line int64, format string, args ...any) (bool, error) {
		a.damaged[r.start] = true
		a.add(Finding{File: auditFile, Line: line, RunID: r.RunID, Text: fmt.Sprintf(format, args...)})
		return false, nil
	}
	s, counted := newSum(), Run{}
	l := newLineReader(a.section(max(r.blockStart(), 0), r.start))
	for last := int64(0); ; {
		line, err := l.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return false, err
		}
		s.Write(line)
		var e Entry
		if !e.parse(line) || e.RunID != r.RunID || e.Line <= last {
			return fault(firstLine+l.number-1, "is not a line that run %s wrote", r.RunID)
		}
		last = e.Line
		counted.count(&e)
	}
	switch {
	case r.blockStart() < 0 || s.digest() != r.Audited.Digest:
		return fault(firstLine, "or a line from here to %d was changed, added or removed since run %s wrote them", r.Number, r.RunID)
	case counted.Scanned != r.Scanned && r.Mode != modeRestore || counted.Pruned != r.Pruned || counted.Restored != r.Restored:
		return fault(r.Number, "counts other records than the lines of run %s", r.RunID)
	}
	return true, nil
}

func (r *Run) count(e *Entry) {
	r.Scanned++
	switch e.Action {
	case Pruned:
		r.Pruned++
	case Restored:
		r.Restored++
	}
}

// foreign reports lines that no run wrote.
func (a *Audit) foreign(first, count int64) {
	switch {
	case count == 1:
		a.add(Finding{File: auditFile, Line: first, Text: "was not written by any run"})
	case count > 1:
		a.add(Finding{File: auditFile, Line: first, Text: fmt.Sprintf("to %d were not written by any run", first+count-1)})
	}
}

// countLines counts the lines in the bytes [from, to).
func (a *Audit) countLines(from, to int64) (int64, error) {
	l := newLineReader(a.section(from, to))
	for {
		if err := l.copyTo(io.Discard); err == io.EOF {
			return l.number, nil
		} else if err != nil {
			return 0, err
		}
	}
}

// span is a range of lines.
type span struct {
	start, end int64 // bytes; a newline that was added after the last line is not in it
	next       int64 // where the line after it begins
	first      int64 // the number of its first line
	lines      int64
}

func (s span) String() string {
	if s.lines == 1 {
		return fmt.Sprintf("line %d", s.first)
	}
	return fmt.Sprintf("lines %d to %d", s.first, s.first+s.lines-1)
}
