package ledger

import (
	"hash/crc32"
	"io"

	"github.com/iamfaham/recolva/internal/record"
)

// sampleSize bounds how many ids of a run, and of a store, are compared.
const sampleSize = 1 << 16

// MayHaveSwept reports whether a run may have swept this store. Several stores
// may share an audit; what tells them apart are the ids: from the store as it is
// now back to the run, each sweep shares some with the next. Where nothing is
// left to tell by, because a sweep pruned all or the store is empty, it may.
func (a *Audit) MayHaveSwept(r *Run, store *Content, ids *record.IDScanner) (bool, error) {
	s := &sampler{locator: newLocator(ids), stride: 1}
	for i := range a.Runs {
		s.stride = max(s.stride, a.Runs[i].Scanned/sampleSize+1)
	}
	known, err := s.store(store)
	if err != nil || len(known) == 0 {
		return true, err
	}
	for i := len(a.Runs) - 1; ; i-- {
		run := &a.Runs[i]
		if run.Mode != modeDryRun && run.Pruned > 0 && run.Pruned == run.Scanned {
			return true, nil
		}
		scored, err := s.run(a, run)
		if err != nil { // its block is damaged
			return true, nil
		}
		shares := intersect(known, scored)
		if run.start == r.start {
			return shares || len(scored) == 0, nil
		}
		if shares {
			for weight := range scored {
				known[weight] = true
			}
		}
	}
}

func intersect(a, b map[uint64]bool) bool {
	for weight := range a {
		if b[weight] {
			return true
		}
	}
	return false
}

// sampler collects the weights of ids: of all, or of those with a checksum that
// the stride divides, so that two samples share what their wholes share.
type sampler struct {
	*locator
	stride int64
}

func (s *sampler) add(weights map[uint64]bool, id []byte) {
	if int64(crc32.ChecksumIEEE(id))%s.stride == 0 {
		weights[s.weight(id)] = true
	}
}

func (s *sampler) store(c *Content) (map[uint64]bool, error) {
	weights := map[uint64]bool{}
	l := newLineReader(c.section(0, c.Bytes))
	if err := l.bom(io.Discard); err != nil {
		return nil, err
	}
	var rec record.Record
	var id []byte
	for {
		if _, err := l.next(); err == io.EOF {
			return weights, nil
		} else if err != nil {
			return nil, err
		}
		if s.ids.Scan(l.content(), &rec) {
			id = record.AppendID(id[:0], &rec)
			s.add(weights, id)
		}
	}
}

func (s *sampler) run(a *Audit, r *Run) (map[uint64]bool, error) {
	weights := map[uint64]bool{}
	var id []byte
	for e := a.entries(r); ; {
		entry, err := e.next()
		if err == io.EOF {
			return weights, nil
		}
		if err != nil {
			return nil, err
		}
		id = entry.appendID(id[:0])
		s.add(weights, id)
	}
}
