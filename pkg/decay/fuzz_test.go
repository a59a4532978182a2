package decay

import (
	"math"
	"testing"
)

// The fast path agrees with the exact path, and the next age does not score more.
func FuzzHalfLife(f *testing.F) {
	f.Add(uint64(1), uint64(1000))
	f.Fuzz(func(t *testing.T, elapsed, halfLife uint64) {
		if halfLife == 0 {
			t.Skip()
		}
		got, want := HalfLife(elapsed, halfLife), exactHalfLife(elapsed, halfLife)
		if math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("HalfLife(%d, %d) is %x, want %x", elapsed, halfLife, got, want)
		}
		if elapsed < math.MaxUint64 && HalfLife(elapsed+1, halfLife) > got {
			t.Errorf("HalfLife(%d, %d) is below the next one", elapsed, halfLife)
		}
	})
}

// The fast path agrees with the exact path; neither the next age nor the
// importance below it scores more.
func FuzzPower(f *testing.F) {
	f.Add(0.5, uint64(1000), uint64(1000), 1.0)
	f.Fuzz(func(t *testing.T, importance float64, age, scale uint64, exponent float64) {
		importance, exponent = math.Abs(importance), math.Abs(exponent)
		got := Power(importance, age, scale, exponent)
		if !(importance <= 1 && exponent >= MinExponent && exponent <= MaxExponent) || scale == 0 {
			if !math.IsNaN(got) && importance != 0 {
				t.Errorf("Power(%x, %d, %d, %x) is %x, want NaN", importance, age, scale, exponent, got)
			}
			t.Skip()
		}
		want := exactPower(importance, age, scale, exponent)
		if math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("Power(%x, %d, %d, %x) is %x, want %x", importance, age, scale, exponent, got, want)
		}
		if age < math.MaxUint64 && Power(importance, age+1, scale, exponent) > got {
			t.Errorf("Power(%x, %d, %d, %x) is below the next age's", importance, age, scale, exponent)
		}
		if importance > 0 && Power(math.Nextafter(importance, 0), age, scale, exponent) > got {
			t.Errorf("Power(%x, %d, %d, %x) is below a smaller importance's", importance, age, scale, exponent)
		}
	})
}

// Decisions are those of the scores, whatever comes in.
func FuzzDecider(f *testing.F) {
	f.Add(86400000.0, 1.0, 0.25, 0.5, uint64(86400000))
	f.Fuzz(func(t *testing.T, millis, exponent, threshold, importance float64, age uint64) {
		if CheckImportance(importance) != nil {
			t.Skip()
		}
		if m, err := exponentialKind.New(millis); err == nil {
			checkDecision(t, NewDecider(m, threshold), importance, age)
		}
		if m, err := powerLawKind.New(millis, exponent); err == nil {
			checkDecision(t, NewDecider(m, threshold), importance, age)
		}
	})
}
