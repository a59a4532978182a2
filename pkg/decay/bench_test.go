package decay

import (
	"math"
	"testing"
)

// The ages of the benchmarks: up to a few half-lives, never the same one twice
// in a row.
const benchAges = 1024

var benchAge, benchImportance = func() (ages [benchAges]uint64, importances [benchAges]float64) {
	for i := range ages {
		ages[i] = uint64(i*i) * 977
		importances[i] = float64(i*i*37%1000+1) / 1001
	}
	return
}()

var benchSink float64

func benchModel(b *testing.B, m Model) {
	for i := range b.N {
		benchSink = m.ScoreAge(benchImportance[i%benchAges], benchAge[i%benchAges])
	}
}

func BenchmarkExponential(b *testing.B) { benchModel(b, mustNew(b, exponentialKind, 86400000)) }
func BenchmarkPowerLaw(b *testing.B)    { benchModel(b, mustNew(b, powerLawKind, 86400000, 1.3)) }

// What the standard library takes for a result that is not correctly rounded.
func BenchmarkExponentialLibrary(b *testing.B) {
	for i := range b.N {
		benchSink = math.Exp2(-float64(benchAge[i%benchAges]) / 86400000)
	}
}

func BenchmarkPowerLawLibrary(b *testing.B) {
	for i := range b.N {
		benchSink = benchImportance[i%benchAges] *
			math.Exp(-1.3*math.Log1p(float64(benchAge[i%benchAges])/86400000))
	}
}

// A new half-life or scale for every score.
func BenchmarkHalfLife(b *testing.B) {
	for i := range b.N {
		benchSink = HalfLife(benchAge[i%benchAges], 86400000+uint64(i))
	}
}

func BenchmarkPower(b *testing.B) {
	for i := range b.N {
		benchSink = Power(benchImportance[i%benchAges], benchAge[i%benchAges], 86400000+uint64(i), 1.3)
	}
}

func BenchmarkExactHalfLife(b *testing.B) {
	for i := range b.N {
		benchSink = exactHalfLife(benchAge[i%benchAges]+1, 86400000)
	}
}

func BenchmarkExactPower(b *testing.B) {
	for i := range b.N {
		benchSink = exactPower(benchImportance[i%benchAges], benchAge[i%benchAges]+1, 86400000, 1.3)
	}
}

func benchDecider(b *testing.B, m Model) {
	d, pruned := NewDecider(m, 0.3), 0
	for i := range b.N {
		r := Record{LastAccessedMillis: -int64(benchAge[i%benchAges]), Importance: benchImportance[i%benchAges]}
		if d.Prune(r, 0) {
			pruned++
		}
	}
	benchSink = float64(pruned)
}

func BenchmarkDeciderExponential(b *testing.B) {
	benchDecider(b, mustNew(b, exponentialKind, 86400000))
}

func BenchmarkDeciderPowerLaw(b *testing.B) {
	benchDecider(b, mustNew(b, powerLawKind, 86400000, 1.3))
}

func BenchmarkNewDecider(b *testing.B) {
	m := mustNew(b, powerLawKind, 86400000, 1.3)
	for range b.N {
		NewDecider(m, 0.01)
	}
}
