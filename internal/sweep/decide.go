package sweep

import (
	"bytes"

	"github.com/iamfaham/recolva/internal/record"
	"github.com/iamfaham/recolva/pkg/decay"
)

// Decision is the verdict on one record.
type Decision struct {
	ID     string
	Score  float64 // in [0, 1]
	Prune  bool
	Reason string
	Line   int64 // its line's number, from 1
}

// The reasons of decisions.
const (
	ReasonRetained = "score_at_or_above_threshold"
	ReasonPruned   = "score_below_threshold"
)

// Counts are the numbers of lines by what became of them. A record is retained
// or pruned; blank and invalid lines are no records, and stay.
type Counts struct{ Pruned, Retained, Blank, Invalid int64 }

// Scanned is the number of records.
func (c Counts) Scanned() int64 { return c.Pruned + c.Retained }

func (c *Counts) add(d Counts) {
	c.Pruned += d.Pruned
	c.Retained += d.Retained
	c.Blank += d.Blank
	c.Invalid += d.Invalid
}

// ruling is what was decided about a block: the bytes for each output, and what
// there is to say about the lines.
type ruling struct {
	counts    Counts
	retained  []byte // aliases the block's data
	pruned    []byte
	audit     []byte
	decisions []Decision
	invalid   []*InvalidLine // in keep mode, those worth telling
	fault     *InvalidLine   // in fail mode, the first one
	seconds   suspects
}

// emptied returns a ruling without content that reuses r's memory.
func (r *ruling) emptied() ruling {
	return ruling{pruned: r.pruned[:0], audit: r.audit[:0], decisions: r.decisions[:0]}
}

// decider decides lines. Each worker has its own.
type decider struct {
	*task
	scanner *record.Scanner
	rec     record.Record
	id      []byte // the id of a record without its escapes
}

// task is what all deciders have in common.
type task struct {
	*plan
	now          int64
	maxLineBytes int64
	mutates      bool // retained and pruned bytes are wanted
	visits       bool // decisions are wanted
	audit        *auditForm
	cutoff       *decay.Decider // nil where scores are wanted
	guardsUnits  bool
}

func (t *task) newDecider() *decider {
	scanner, err := record.NewScanner(t.layout)
	if err != nil {
		panic("sweep: a checked layout was refused: " + err.Error())
	}
	return &decider{task: t, scanner: scanner}
}

// decide fills the block's ruling.
func (d *decider) decide(b *block) {
	if b.kind == verbatim {
		b.retained = b.data
		if b.overlong {
			d.reject(b, b.firstLine, record.TooLong(d.maxLineBytes))
		}
		return
	}
	// Lines that stay are moved together at the front of the data, a run at a
	// time; where nothing is pruned, nothing moves.
	data, kept, run := b.data, 0, 0
	number := b.firstLine
	for pos := 0; pos < len(data); number++ {
		end := pos + bytes.IndexByte(data[pos:], '\n') + 1
		if end == pos {
			end = len(data)
		}
		prune := d.line(b, data[pos:end], number)
		if b.fault != nil {
			return
		}
		if prune && d.mutates {
			if b.big && len(data) == end-pos {
				b.pruned = data // not worth a copy: its memory is not used again
			} else {
				b.pruned = append(b.pruned, data[pos:end]...)
			}
			kept += moveDown(data, kept, run, pos)
			run = end
		}
		pos = end
	}
	kept += moveDown(data, kept, run, len(data))
	b.retained = data[:kept]
}

// moveDown copies data[from:end] to data[to:] and returns its length.
func moveDown(data []byte, to, from, end int) int {
	if to != from {
		copy(data[to:], data[from:end])
	}
	return end - from
}

// line decides one line, given with its line end, and reports whether its
// bytes leave the store.
func (d *decider) line(b *block, line []byte, number int64) (prune bool) {
	content := line
	if n := len(line); n > 0 && line[n-1] == '\n' {
		content = line[:n-1]
	}
	if int64(len(content)) > d.maxLineBytes && int64(record.ContentLength(line)) > d.maxLineBytes {
		d.reject(b, number, record.TooLong(d.maxLineBytes))
		return false
	}
	if !d.scanner.Scan(content, &d.rec) && !d.readSlowly(b, content, number) {
		return false
	}
	if d.guardsUnits && record.LooksLikeSeconds(d.rec.LastAccessedMillis, d.now) {
		b.seconds.add(number, d.rec.LastAccessedMillis)
	}
	r := decay.Record{LastAccessedMillis: d.rec.LastAccessedMillis, Importance: d.rec.Importance}
	if d.cutoff != nil {
		prune = d.cutoff.Prune(r, d.now)
	} else {
		prune = d.score(b, r, number)
	}
	if prune {
		b.counts.Pruned++
	} else {
		b.counts.Retained++
	}
	return prune
}

// readSlowly settles what Scan left undecided; false means that there is no record.
func (d *decider) readSlowly(b *block, content []byte, number int64) bool {
	if record.IsBlank(content) {
		b.counts.Blank++
		return false
	}
	if err := d.scanner.Parse(content, &d.rec); err != nil {
		d.reject(b, number, err)
		return false
	}
	return true
}

// score decides by the score itself, and tells those who want to know.
func (d *decider) score(b *block, r decay.Record, number int64) (prune bool) {
	score := d.model.Score(r, d.now)
	prune = score < d.Threshold
	if d.audit != nil {
		b.audit = d.audit.appendDecision(b.audit, d, score, prune, number)
	}
	if d.visits {
		reason := ReasonRetained
		if prune {
			reason = ReasonPruned
		}
		b.decisions = append(b.decisions, Decision{record.UnquoteID(&d.rec), score, prune, reason, number})
	}
	return prune
}

// tellAtMost bounds how many invalid lines of a block are kept for telling;
// nobody reads more, and a file of garbage must not fill the memory.
const tellAtMost = 16

func (d *decider) reject(b *block, number int64, reason error) {
	line := &InvalidLine{Line: number, Reason: reason}
	if d.OnInvalid == Fail {
		b.fault = line
		return
	}
	b.counts.Invalid++
	if len(b.invalid) < tellAtMost {
		b.invalid = append(b.invalid, line)
	}
}
