package decay

import (
	"math"
	"testing"

	"github.com/iamfaham/recolva/internal/conformance"
)

func golden(t *testing.T) []conformance.Score {
	t.Helper()
	cases, err := conformance.Golden()
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != conformance.GoldenCount {
		t.Fatalf("got %d golden scores, want %d", len(cases), conformance.GoldenCount)
	}
	return cases
}

// checkGolden compares a score function of each kind with all golden scores,
// bit by bit.
func checkGolden(t *testing.T,
	halfLife func(elapsed, halfLife uint64) float64,
	power func(importance float64, age, scale uint64, exponent float64) float64,
) {
	t.Helper()
	failures := 0
	for i, c := range golden(t) {
		var got float64
		switch c.Model {
		case "E":
			got = halfLife(c.Age, c.HalfLife)
		case "P":
			got = power(float64(c.Importance), c.Age, c.Scale, float64(c.Exponent))
		default:
			t.Fatalf("case %d: unknown model %q", i+1, c.Model)
		}
		if want := float64(c.Want); math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("case %d: %+v: got %x, want %x", i+1, c, got, want)
			if failures++; failures == 20 {
				t.Fatal("too many failures")
			}
		}
	}
}

// The kernel gives every golden score.
func TestGolden(t *testing.T) { checkGolden(t, HalfLife, Power) }

// The exact path, which the kernel takes for one value in 2^29, gives every
// golden score by itself.
func TestGoldenExactPath(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	checkGolden(t, exactHalfLife, exactPower)
}

// The models give every golden score.
func TestGoldenModels(t *testing.T) {
	checkGolden(t, func(elapsed, halfLife uint64) float64 {
		return mustNew(t, exponentialKind, float64(halfLife)).ScoreAge(1, elapsed)
	}, func(importance float64, age, scale uint64, exponent float64) float64 {
		return mustNew(t, powerLawKind, float64(scale), exponent).ScoreAge(importance, age)
	})
}
