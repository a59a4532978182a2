package decay

import (
	"math"
	"math/rand/v2"
	"testing"
)

func mustNew(t testing.TB, kind Kind, values ...float64) Model {
	t.Helper()
	m, err := kind.New(values...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// checkDecision compares a decision with the score that it must agree with.
func checkDecision(t *testing.T, d *Decider, importance float64, age uint64) {
	t.Helper()
	now := int64(math.MaxInt64)
	r := Record{LastAccessedMillis: int64(uint64(now) - age), Importance: importance}
	want := d.model.Score(r, now) < d.threshold
	if got := d.Prune(r, now); got != want {
		t.Errorf("%T: importance %x, age %d, threshold %x: Prune is %v, but score < threshold is %v",
			d.model, importance, age, d.threshold, got, want)
	}
}

// boundary returns the first age that is pruned for an importance.
func boundary(d *Decider, importance float64) uint64 {
	low, high := uint64(0), uint64(math.MaxUint64)
	for low < high {
		middle := low + (high-low)/2
		if d.model.ScoreAge(importance, middle) < d.threshold {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

var thresholds = []float64{0, 5e-324, 1e-310, 1e-300, 1e-9, 0.001, 0.0625, 0.1, 0.25, 0.3,
	0.5, math.Nextafter(0.5, 1), 0.9, math.Nextafter(1, 0), 1}

// Around the age at which pruning begins, on both sides, and at both ends of the
// range of ages, every decision is that of the score.
func TestDeciderAtBoundaries(t *testing.T) {
	models := []Model{
		mustNew(t, exponentialKind, 1000),
		mustNew(t, exponentialKind, 86400000),
		mustNew(t, exponentialKind, 315576000000),
		mustNew(t, powerLawKind, 1000, 10),
		mustNew(t, powerLawKind, 86400000, 1),
		mustNew(t, powerLawKind, 604800000, 1.3),
		mustNew(t, powerLawKind, 315576000000, 0.1),
	}
	importances := []float64{0, math.Copysign(0, -1), 5e-324, 1e-300, 0.001, 1. / 256,
		math.Nextafter(1./256, 0), 0.03, 0.25, 0.3, math.Nextafter(0.3, 0), 0.5, 0.7371,
		math.Nextafter(1, 0), 1}
	for _, m := range models {
		for _, threshold := range thresholds {
			d := NewDecider(m, threshold)
			for _, importance := range importances {
				edge := boundary(d, importance)
				for step := range uint64(4) {
					checkDecision(t, d, importance, edge+step) // may wrap to a young age
					checkDecision(t, d, importance, edge-step)
				}
				checkDecision(t, d, importance, 0)
				checkDecision(t, d, importance, math.MaxUint64)
			}
		}
	}
}

// For random models, thresholds, importances and ages, half of them near the
// boundary, every decision is that of the score.
func TestDeciderAtRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for range 60 {
		millis := 1000 + math.Trunc(random.Float64()*math.Pow(10, 3+random.Float64()*8))
		models := []Model{
			mustNew(t, exponentialKind, millis),
			mustNew(t, powerLawKind, millis, 0.1+9.9*random.Float64()),
		}
		for _, m := range models {
			d := NewDecider(m, randomImportance(random))
			for range 40 {
				importance := random.Float64()
				edge := boundary(d, importance)
				checkDecision(t, d, importance, edge+random.Uint64N(600)-300)
				checkDecision(t, d, importance, randomBits(random))
			}
		}
	}
}

// halving is somebody else's model, about which nothing is known.
type halving struct{}

func (halving) Score(r Record, nowMillis int64) float64 {
	return halving{}.ScoreAge(r.Importance, AgeMillis(r.LastAccessedMillis, nowMillis))
}

func (halving) ScoreAge(importance float64, ageMillis uint64) float64 {
	if ageMillis%2 == 1 {
		return importance / 2
	}
	return importance
}

// A model from elsewhere, and a threshold that is none, are decided by scores.
func TestDeciderComputesScoresOtherwise(t *testing.T) {
	foreign := NewDecider(halving{}, 0.5)
	for age := range uint64(10) {
		checkDecision(t, foreign, 0.7, age)
	}
	for _, threshold := range []float64{math.NaN(), -1, 2, math.Inf(1), math.Inf(-1)} {
		d := NewDecider(mustNew(t, powerLawKind, 1000, 1), threshold)
		checkDecision(t, d, 0.5, 0)
		checkDecision(t, d, 0.5, 5000)
	}
}

// An importance that is not a number is never a reason to prune.
func TestDeciderRetainsNaN(t *testing.T) {
	d := NewDecider(mustNew(t, powerLawKind, 1000, 1), 0.5)
	if d.Prune(Record{LastAccessedMillis: 0, Importance: math.NaN()}, math.MaxInt64) {
		t.Error("a record with importance NaN was pruned")
	}
}
