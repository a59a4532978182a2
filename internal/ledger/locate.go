package ledger

import (
	"hash/maphash"
	"io"
	"math/bits"
	"math/rand/v2"

	"github.com/iamfaham/recolva/internal/record"
	"github.com/iamfaham/recolva/internal/transaction"
)

// Where the records of a run stand in a file is found by their ids in order:
// a polynomial hash of the ids rolls over the file's lines (Rabin and Karp,
// 1987), so that memory does not grow with the run. What it finds is then
// compared by digest, where there is one.

// locator finds records by their ids.
type locator struct {
	ids  *record.IDScanner
	seed maphash.Seed
	base uint64
}

func newLocator(ids *record.IDScanner) *locator {
	return &locator{ids, maphash.MakeSeed(), rand.Uint64N(prime-2) + 2}
}

const prime = 1<<61 - 1

func mulAdd(a, b, c uint64) uint64 { // (a*b + c) mod prime
	high, low := bits.Mul64(a, b)
	low, carry := bits.Add64(low, c, 0)
	_, rest := bits.Div64((high+carry)%prime, low, prime)
	return rest
}

// weight is the hash of an id; 0 is that of a line without one.
func (l *locator) weight(id []byte) uint64 {
	return maphash.Bytes(l.seed, id)%(prime-1) + 1
}

// lineWeight is the weight of the line that r read last.
func (l *locator) lineWeight(r *lineReader) uint64 {
	var rec record.Record
	if !l.ids.Scan(r.content(), &rec) {
		return 0
	}
	return l.weight(record.AppendID(nil, &rec))
}

// target sums up the ids that next yields until io.EOF.
func (l *locator) target(next func() (*Entry, error)) (hash uint64, count int64, err error) {
	var id []byte
	for {
		e, err := next()
		if err == io.EOF {
			return hash, count, nil
		}
		if err != nil {
			return 0, 0, err
		}
		id = e.appendID(id[:0])
		hash = mulAdd(hash, l.base, l.weight(id))
		count++
	}
}

// find yields every range of count lines with the ids of the target, until
// accept takes one.
func (l *locator) find(c *Content, hash uint64, count int64, accept func(span) (bool, error)) (found bool, err error) {
	if count == 0 {
		return false, nil
	}
	power := uint64(1) // base^count, the weight of a line that drops out
	for range count {
		power = mulAdd(power, l.base, 0)
	}
	ahead, behind := newLineReader(c.section(0, c.Bytes)), newLineReader(c.section(0, c.Bytes))
	for rolling := uint64(0); ; {
		if _, err := ahead.next(); err == io.EOF {
			return false, nil
		} else if err != nil {
			return false, err
		}
		rolling = mulAdd(rolling, l.base, l.lineWeight(ahead))
		if ahead.number > count {
			if _, err := behind.next(); err != nil {
				return false, err
			}
			rolling = mulAdd(prime-l.lineWeight(behind), power, rolling)
		}
		if ahead.number < count || rolling != hash {
			continue
		}
		at := span{behind.end, ahead.end, ahead.end, ahead.number - count + 1, count}
		if found, err = accept(at); err != nil || found {
			return found, err
		}
	}
}

// holds reports whether the bytes of s have the digest d, and cuts s to them:
// the last line may have got its newline only when something was added to it.
func holds(c *Content, s *span, d transaction.Digest) (bool, error) {
	if s.end-s.start == d.Bytes+1 {
		var last [1]byte
		if _, err := c.ReadAt(last[:], s.end-1); err != nil && err != io.EOF {
			return false, err
		}
		if last[0] == '\n' {
			s.end--
		}
	}
	if s.end-s.start != d.Bytes {
		return false, nil
	}
	got, err := c.digest(s.start, s.end)
	return got == d, err
}

// atEnd looks for the digest at the end of the content, where it stands unless
// something was added since. The lines of the span are not counted.
func atEnd(c *Content, d transaction.Digest) (s span, ok bool, err error) {
	for _, added := range []int64{0, 1} {
		s = span{start: c.Bytes - added - d.Bytes, end: c.Bytes, next: c.Bytes}
		if s.start < 0 {
			continue
		}
		if ok, err = holds(c, &s, d); err != nil || ok {
			return s, ok, err
		}
	}
	return span{}, false, nil
}

// locate finds the records that a run moved, in the order of its lines: first
// at the end of c, then anywhere. near is the last range with the right ids
// and other bytes, if there is one.
func (l *locator) locate(c *Content, a *Audit, r *Run) (at span, ok bool, near span, err error) {
	if at, ok, err = atEnd(c, r.Archived.Digest); err != nil || ok {
		return at, ok, near, err
	}
	hash, count, err := l.target(a.entries(r).moved)
	if err != nil {
		return at, false, near, err
	}
	ok, err = l.find(c, hash, count, func(s span) (bool, error) {
		at = s
		good, err := holds(c, &at, r.Archived.Digest)
		if !good {
			near = s
		}
		return good, err
	})
	return at, ok, near, err
}
