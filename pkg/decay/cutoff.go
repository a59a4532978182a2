package decay

import "math"

// Decider decides which records a threshold prunes: those with a score below
// it, exactly as comparing each score would, but mostly without computing one.
// It may be used by any number of goroutines at a time.
//
// A correctly rounded score never rises with age and never falls with
// importance. So there is a greatest age that is retained, found once by
// bisection over the scores themselves; for a model that depends on importance
// there is one such age for each importance, and those of a few importances
// bound the others.
type Decider struct {
	model     Model
	threshold float64
	method    method
	last      uint64   // byAge: the greatest age that is retained
	lasts     []uint64 // byBucket: the same for the importance at each edge
	base      uint64   // byBucket: the number of the first edge
}

type method uint8

const (
	byScore  method = iota // compute every score
	byAge                  // compare the age
	byBucket               // compare the age with the cutoffs next to the importance
)

// An edge is an importance with four bits after the leading one. Edges are
// numbered by the upper 16 bits of the double, so that the bucket of an
// importance is those bits. Importances below the first edge are rare and have
// their scores computed.
const (
	edgeShift = 48
	firstEdge = 1.0 / 256
)

// monotone is a model whose score never rises with age and never falls with
// importance, and is at most the importance.
type monotone interface {
	Model
	// needsImportance reports whether the score depends on importance at all.
	needsImportance() bool
}

// NewDecider prepares the decisions of the model for a threshold in [0, 1]. It
// takes below a millisecond, the time of computing some ten thousand scores.
func NewDecider(m Model, threshold float64) *Decider {
	d := &Decider{model: m, threshold: threshold}
	known, ok := m.(monotone)
	switch {
	case !ok || CheckThreshold(threshold) != nil:
		d.method = byScore
	case !Below(0, threshold):
		d.method, d.last = byAge, math.MaxUint64 // nothing is below 0
	case !known.needsImportance():
		d.method, d.last = byAge, d.lastRetained(1)
	default:
		d.method = byBucket
		d.base = math.Float64bits(max(threshold, firstEdge)) >> edgeShift
		d.lasts = d.lastsByBucket()
	}
	return d
}

// lastsByBucket returns the greatest retained age at each edge from d.base to the
// first one above 1. In its bucket an importance is never below the threshold,
// nor above 1, so that the outermost edges are moved there.
func (d *Decider) lastsByBucket() []uint64 {
	var lasts []uint64
	for number := d.base; ; number++ {
		edge := math.Float64frombits(number << edgeShift)
		lasts = append(lasts, d.lastRetained(min(max(edge, d.threshold), 1)))
		if edge > 1 {
			return lasts
		}
	}
}

// lastRetained returns the greatest age that is retained, for an importance that
// is itself not below the threshold.
func (d *Decider) lastRetained(importance float64) uint64 {
	retained, pruned := uint64(0), uint64(math.MaxUint64)
	if !Below(d.model.ScoreAge(importance, pruned), d.threshold) {
		return pruned
	}
	for pruned-retained > 1 {
		age := retained + (pruned-retained)/2
		if Below(d.model.ScoreAge(importance, age), d.threshold) {
			pruned = age
		} else {
			retained = age
		}
	}
	return retained
}

// Prune reports whether the score of r at the Unix time nowMillis is below the
// threshold. r.Importance must be in [0, 1].
func (d *Decider) Prune(r Record, nowMillis int64) bool {
	age := AgeMillis(r.LastAccessedMillis, nowMillis)
	if d.method == byAge {
		return age > d.last
	}
	return d.pruneByImportance(r.Importance, age)
}

func (d *Decider) pruneByImportance(importance float64, age uint64) bool {
	if d.method == byBucket {
		if Below(importance, d.threshold) {
			return true
		}
		bucket := math.Float64bits(importance)>>edgeShift - d.base
		if bucket < uint64(len(d.lasts)-1) {
			if age <= d.lasts[bucket] {
				return false
			}
			if age > d.lasts[bucket+1] {
				return true
			}
		}
	}
	return Below(d.model.ScoreAge(importance, age), d.threshold)
}
