package ffi

import (
	"bytes"
	"unsafe"

	"github.com/iamfaham/recolva/internal/record"
	"github.com/iamfaham/recolva/pkg/decay"
)

// Policy is what a block is scanned with.
type Policy struct {
	Model          int32
	Parameters     *float64
	ParameterCount int32
	Now            int64
	Threshold      float64
}

// Block is a piece of a JSONL file that begins with a line.
type Block struct {
	Data   *byte
	Length int64
	AtEnd  bool // the file ends here: a last line without newline counts too
}

// Rows are the arrays that ScanBlock fills, one element a record.
type Rows struct {
	Capacity           int64
	LineStart, LineEnd *int64
	IDStart, IDEnd     *int64
	LastAccessed       *int64
	Score              *float64
	Prune              *uint8
}

// Progress is where ScanBlock writes how far it came.
type Progress struct {
	Records  *int64 // rows filled
	Blanks   *int64 // blank lines skipped
	Consumed *int64 // offset at which to go on: of the next line, or of the bad one
	BadLine  *int64 // 1-based number of the bad line within the block, blank lines counted, or 0
}

// ScanBlock reads, scores and decides the whole lines of a block in order, until
// the rows are full, a line is no valid record, or no whole line is left.
func ScanBlock(b Block, p Policy, rows Rows, out Progress) Status {
	if rows.hasNil() || out.Records == nil || out.Blanks == nil || out.Consumed == nil || out.BadLine == nil {
		return NullOutput
	}
	if !fits(b.Data, b.Length) || !fits(rows.LineStart, rows.Capacity) ||
		!fits(p.Parameters, int64(p.ParameterCount)) || decay.CheckThreshold(p.Threshold) != nil {
		return InvalidArgument
	}
	kind, model, status := build(p.Model, unsafe.Slice(p.Parameters, p.ParameterCount))
	if status != OK {
		return status
	}
	scanner, err := record.NewScanner(record.Layout{NeedImportance: kind.Needs(decay.FieldImportance)})
	if err != nil {
		return InvalidArgument // cannot be: the standard layout is valid
	}
	s := blockScan{
		data: unsafe.Slice(b.Data, b.Length), atEnd: b.AtEnd,
		scanner: scanner, model: model, now: p.Now, threshold: p.Threshold,
	}
	s.run(rows.slices())
	*out.Records, *out.Blanks = int64(s.records), int64(s.blanks)
	*out.Consumed, *out.BadLine = int64(s.consumed), int64(s.badLine)
	return OK
}

func (r *Rows) hasNil() bool {
	return r.Capacity != 0 && (r.LineStart == nil || r.LineEnd == nil || r.IDStart == nil || r.IDEnd == nil ||
		r.LastAccessed == nil || r.Score == nil || r.Prune == nil)
}

// columns are Rows as slices.
type columns struct {
	lineStart, lineEnd, idStart, idEnd, lastAccessed []int64
	score                                            []float64
	prune                                            []uint8
}

func (r *Rows) slices() columns {
	n := r.Capacity
	return columns{
		unsafe.Slice(r.LineStart, n), unsafe.Slice(r.LineEnd, n),
		unsafe.Slice(r.IDStart, n), unsafe.Slice(r.IDEnd, n), unsafe.Slice(r.LastAccessed, n),
		unsafe.Slice(r.Score, n), unsafe.Slice(r.Prune, n),
	}
}

// blockScan is a scan under way.
type blockScan struct {
	data      []byte
	atEnd     bool
	scanner   *record.Scanner
	model     decay.Model
	now       int64
	threshold float64

	records, blanks, consumed, badLine int
}

func (s *blockScan) run(c columns) {
	var rec record.Record
	for s.records < len(c.score) && s.consumed < len(s.data) {
		start, end := s.consumed, len(s.data)
		line := s.data[start:]
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line, end = line[:n], start+n+1
		} else if !s.atEnd {
			return
		}
		if record.ContentLength(s.data[start:end]) > record.DefaultMaxLineBytes {
			s.badLine = s.records + s.blanks + 1
			return
		}
		switch {
		case s.scanner.Scan(line, &rec):
		case record.IsBlank(line):
			s.blanks++
			s.consumed = end
			continue
		case s.scanner.Parse(line, &rec) != nil:
			s.badLine = s.records + s.blanks + 1
			return
		}
		s.fill(c, &rec, start, end)
		s.records++
		s.consumed = end
	}
}

// fill writes the row of a record whose line, its line end included, is
// data[start:end].
func (s *blockScan) fill(c columns, rec *record.Record, start, end int) {
	i := s.records
	score := s.model.Score(decay.Record{
		LastAccessedMillis: rec.LastAccessedMillis, Importance: rec.Importance,
	}, s.now)
	id := int64(offset(s.data, rec.ID))
	c.lineStart[i], c.lineEnd[i] = int64(start), int64(end)
	c.idStart[i], c.idEnd[i] = id, id+int64(len(rec.ID))
	c.lastAccessed[i], c.score[i], c.prune[i] = rec.LastAccessedMillis, score, 0
	if decay.Below(score, s.threshold) {
		c.prune[i] = 1
	}
}

// offset returns where part, a slice of data, begins in it.
func offset(data, part []byte) uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(data)))
}
