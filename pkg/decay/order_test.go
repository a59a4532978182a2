package decay

import (
	"math"
	"math/rand/v2"
	"testing"
)

// randomBits returns a number of random size.
func randomBits(r *rand.Rand) uint64 { return r.Uint64() >> (r.Uint64() % 64) }

// randomImportance returns an importance of random size, now and then subnormal.
func randomImportance(r *rand.Rand) float64 {
	x := r.Float64()
	switch r.IntN(8) {
	case 0:
		x *= math.Float64frombits(r.Uint64N(1022) << 52)
	case 1:
		x = float64(r.IntN(101)) / 100
	}
	return x
}

// A score never rises with age, not even from one ms to the next, lies in [0, 1]
// and never has a sign.
func TestNeverRisesWithAge(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	check := func(young, old float64) {
		t.Helper()
		if !(old <= young) || !(young <= 1) || math.Signbit(old) || math.Signbit(young) {
			t.Errorf("a score rises from %x to %x", young, old)
		}
	}
	for range 20000 {
		halfLife := randomBits(random) | 1
		age := min(randomBits(random), math.MaxUint64-1)
		older := age + 1 + randomBits(random)%(math.MaxUint64-age)
		check(HalfLife(age, halfLife), HalfLife(age+1, halfLife))
		check(HalfLife(age, halfLife), HalfLife(older, halfLife))
		importance, exponent := randomImportance(random), 0.1+9.9*random.Float64()
		check(Power(importance, age, halfLife, exponent), Power(importance, age+1, halfLife, exponent))
		check(Power(importance, age, halfLife, exponent), Power(importance, older, halfLife, exponent))
	}
}

// A power-law score never falls with importance and never exceeds it.
func TestNeverFallsWithImportance(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 20000 {
		scale, age := randomBits(random)|1, randomBits(random)
		exponent := 0.1 + 9.9*random.Float64()
		less := randomImportance(random)
		more := math.Nextafter(less, 1)
		low, high := Power(less, age, scale, exponent), Power(more, age, scale, exponent)
		if !(low <= high) || low > less || high > more {
			t.Errorf("importance %x scores %x, importance %x scores %x", less, low, more, high)
		}
	}
}

// Whole half-lives give exact powers of two, down to the last subnormal, and
// half of that is a tie that goes to zero.
func TestWholeHalfLives(t *testing.T) {
	for _, halfLife := range []uint64{1, 2, 3, 1000, 86400000, 315576000000, 1 << 53, math.MaxUint64 / 1076} {
		want := 1.0
		for n := range uint64(1077) {
			if got := HalfLife(n*halfLife, halfLife); got != want {
				t.Fatalf("after %d half-lives of %d: got %x, want %x", n, halfLife, got, want)
			}
			want /= 2
		}
		if got := HalfLife(1075*halfLife-1, halfLife); got != 5e-324 {
			t.Errorf("just before 1075 half-lives of %d: got %x, want the least subnormal", halfLife, got)
		}
	}
}

// Where the power law is a fraction, the result is the fraction, ties included.
func TestRationalPowers(t *testing.T) {
	for _, c := range []struct {
		importance float64
		age, scale uint64
		exponent   float64
		want       float64
	}{
		{0.5, 86400000, 86400000, 1, 0.25},
		{0.06, 5 * 86400000, 86400000, 1, 0.01},
		{1, 8000, 1000, 0.5, 1. / 3},
		{1, 15000, 1000, 0.25, 0.5},
		{1, 1000, 1000, 10, 1. / 1024},
		{5e-324, 1000, 1000, 1, 0},        // a tie between 0 and the least subnormal
		{1.5e-323, 1000, 1000, 1, 1e-323}, // 1.5 least subnormals: a tie, to even
		{0x1.0000000000001p-1, 1, 2, 1, 0x1.5555555555557p-2},
		{0x1.8000000000001p-1, 1, 3, 1, 0x1.2000000000001p-1}, // ends in .11: up
		{1, 0, 1000, 3.7, 1},
		{0.3, 0, 1, 0.1, 0.3},
		{1, math.MaxUint64, 1, 1, 0x1p-64},
	} {
		got := Power(c.importance, c.age, c.scale, c.exponent)
		exact := exactPower(c.importance, c.age, c.scale, c.exponent)
		if got != c.want || exact != c.want {
			t.Errorf("%+v: got %x, by the exact path %x", c, got, exact)
		}
	}
}

// Outside its domain the kernel gives NaN, and it never panics.
func TestDomain(t *testing.T) {
	for name, got := range map[string]float64{
		"half-life 0":        HalfLife(1, 0),
		"scale 0":            Power(1, 1, 0, 1),
		"importance 1.1":     Power(1.1, 1, 1, 1),
		"importance -1":      Power(-1, 1, 1, 1),
		"importance NaN":     Power(math.NaN(), 1, 1, 1),
		"importance +Inf":    Power(math.Inf(1), 1, 1, 1),
		"exponent below 0.1": Power(1, 1, 1, math.Nextafter(0.1, 0)),
		"exponent above 10":  Power(1, 1, 1, math.Nextafter(10, 11)),
		"exponent NaN":       Power(1, 1, 1, math.NaN()),
	} {
		if !math.IsNaN(got) {
			t.Errorf("%s gives %g, want NaN", name, got)
		}
	}
	if got := Power(math.Copysign(0, -1), 1, 1, 1); math.Float64bits(got) != 0 {
		t.Errorf("importance -0 gives %g, want +0", got)
	}
}
