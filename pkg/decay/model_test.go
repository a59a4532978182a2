package decay

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/iamfaham/recolva/internal/conformance"
)

// Each shared case of parameters is accepted, or rejected with its text.
func TestLimits(t *testing.T) {
	cases, err := conformance.Limits()
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, c := range cases {
		kind, ok := KindByName(c.Model)
		if !ok || c.Accepts == (c.Rejects != nil) {
			t.Fatalf("bad case: %+v", c)
		}
		values := make([]float64, len(kind.Params))
		for i, p := range kind.Params {
			values[i] = float64(c.Params[p.Name])
		}
		m, err := kind.New(values...)
		var rejected *ParamError
		switch {
		case c.Accepts:
			if err != nil || m == nil {
				t.Errorf("%s %v: got error %v, want none", c.Model, values, err)
			}
		case !errors.As(err, &rejected) || m != nil:
			t.Errorf("%s %v: got error %v, want a ParamError and no model", c.Model, values, err)
		case rejected.Param.Name != c.Rejects.Param || rejected.Text != c.Rejects.Text:
			t.Errorf("%s %v: got %q, want %+v", c.Model, values, rejected, *c.Rejects)
		case err.Error() != c.Rejects.Param+" "+c.Rejects.Text:
			t.Errorf("%s %v: got text %q", c.Model, values, err)
		}
	}
}

// Each parameter's own limits are accepted and the doubles beyond them are not.
func TestLimitsOfEachParam(t *testing.T) {
	for _, kind := range Kinds {
		for i, p := range kind.Params {
			below, above := math.Nextafter(p.Min, math.Inf(-1)), math.Nextafter(p.Max, math.Inf(1))
			for value, want := range map[float64]bool{p.Min: true, p.Max: true, below: false, above: false} {
				values := make([]float64, len(kind.Params))
				for j, other := range kind.Params {
					values[j] = other.Min
				}
				values[i] = value
				if _, err := kind.New(values...); (err == nil) != want {
					t.Errorf("%s: %s %v: got error %v", kind.Name, p.Name, value, err)
				}
			}
		}
	}
}

// A fraction is rejected where an integer is due, after the range.
func TestIntegerParams(t *testing.T) {
	for value, want := range map[float64]string{
		1000.5:        "half_life_ms must be an integer, got 1000.5",
		999.5:         "half_life_ms must be between 1000 and 315576000000, got 999.5",
		math.NaN():    "half_life_ms must be between 1000 and 315576000000, got NaN",
		math.Inf(1):   "half_life_ms must be between 1000 and 315576000000, got Infinity",
		math.Inf(-1):  "half_life_ms must be between 1000 and 315576000000, got -Infinity",
		math.MaxInt64: "half_life_ms must be between 1000 and 315576000000, got 9223372036854776000",
	} {
		if _, err := exponentialKind.New(value); err == nil || err.Error() != want {
			t.Errorf("half_life_ms %v: got %v, want %s", value, err, want)
		}
	}
}

// A wrong number of values is an error that names the parameters.
func TestNumberOfParams(t *testing.T) {
	_, err := powerLawKind.New(1000)
	if want := "power-law takes 2 values (scale_ms, exponent), got 1"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Threshold and importance accept what the shared cases say.
func TestFractions(t *testing.T) {
	cases, err := conformance.Fractions()
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	checks := map[string]func(float64) error{"threshold": CheckThreshold, "importance": CheckImportance}
	for _, c := range cases {
		text := ""
		if err := checks[c.Name](float64(c.Value)); err != nil {
			text = err.Error()
		}
		want := ""
		if !c.Accepts {
			want = c.Name + " " + c.Rejects
		}
		if text != want {
			t.Errorf("%s %v: got %q, want %q", c.Name, c.Value, text, want)
		}
	}
}

// Ages are exact over the whole range of times and never negative.
func TestAges(t *testing.T) {
	cases, err := conformance.Ages()
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, c := range cases {
		if got := AgeMillis(c.LastAccessed, c.Now); got != c.Age {
			t.Errorf("accessed %d, now %d: got age %d, want %d", c.LastAccessed, c.Now, got, c.Age)
		}
	}
}

// Every row of the table is complete and can be found by its name.
func TestKinds(t *testing.T) {
	for i := range Kinds {
		k := &Kinds[i]
		if found, ok := KindByName(k.Name); !ok || found != k {
			t.Errorf("%s is not found by its name", k.Name)
		}
		if k.Name == "" || k.Doc == "" || k.Formula == "" || k.build == nil || len(k.Params) == 0 {
			t.Errorf("incomplete: %+v", k)
		}
		if !k.Needs(FieldID) || !k.Needs(FieldLastAccessed) {
			t.Errorf("%s does not need id and time", k.Name)
		}
		for _, p := range k.Params {
			if p.Name == "" || p.Doc == "" || p.Min >= p.Max || (p.Unit == "ms") != p.Integer {
				t.Errorf("%s: incomplete or odd: %+v", k.Name, p)
			}
		}
		values := make([]float64, len(k.Params))
		for j, p := range k.Params {
			values[j] = p.Min
		}
		if m := mustNew(t, *k, values...).(monotone); m.needsImportance() != k.Needs(FieldImportance) {
			t.Errorf("%s: the model and the table differ about importance", k.Name)
		}
	}
	if _, ok := KindByName("linear"); ok {
		t.Error("a kind was found that there is not")
	}
}

// The documented functions check what the models check, and the importance.
func TestScoreFunctions(t *testing.T) {
	if got, err := ExponentialScore(1000000, 87400000, 86400000); got != 0.5 || err != nil {
		t.Errorf("got %v, %v, want 0.5", got, err)
	}
	if got, err := PowerLawScore(1000000, 87400000, 86400000, 1, 0.5); got != 0.25 || err != nil {
		t.Errorf("got %v, %v, want 0.25", got, err)
	}
	if got, err := ExponentialScore(math.MinInt64, math.MaxInt64, 1000); got != 0 || err != nil {
		t.Errorf("got %v, %v, want 0", got, err)
	}
	for _, c := range []struct {
		call func() (float64, error)
		want string
	}{
		{func() (float64, error) { return ExponentialScore(0, 0, 999) },
			"half_life_ms must be between 1000 and 315576000000, got 999"},
		{func() (float64, error) { return PowerLawScore(0, 0, 0, 1, 1) },
			"scale_ms must be between 1000 and 315576000000, got 0"},
		{func() (float64, error) { return PowerLawScore(0, 0, 1000, 0.05, 1) },
			"exponent must be between 0.1 and 10, got 0.05"},
		{func() (float64, error) { return PowerLawScore(0, 0, 1000, 1, math.NaN()) },
			"importance must be between 0 and 1, got NaN"},
	} {
		if score, err := c.call(); err == nil || err.Error() != c.want || score != 0 {
			t.Errorf("got %v, %v, want %s", score, err, c.want)
		}
	}
}

// A record in the future has age 0, whatever the times.
func TestFutureRecords(t *testing.T) {
	for _, now := range []int64{math.MinInt64, -1, 0, math.MaxInt64} {
		r := Record{LastAccessedMillis: math.MaxInt64, Importance: 0.3}
		if got := mustNew(t, exponentialKind, 1000).Score(r, now); got != 1 {
			t.Errorf("now %d: exponential score %v, want 1", now, got)
		}
		if got := mustNew(t, powerLawKind, 1000, 2).Score(r, now); got != 0.3 {
			t.Errorf("now %d: power-law score %v, want 0.3", now, got)
		}
	}
}

// Below is the comparison of doubles.
func TestBelow(t *testing.T) {
	nan := math.NaN()
	values := []float64{nan, math.Copysign(nan, -1), math.Inf(-1), -1, -5e-324, math.Copysign(0, -1), 0,
		5e-324, 1e-310, 0.25, math.Nextafter(0.25, 1), 1, math.Inf(1)}
	for _, x := range values {
		for _, y := range values {
			if got := Below(x, y); got != (x < y) {
				t.Errorf("Below(%v, %v) is %v", x, y, got)
			}
		}
	}
}

// Numbers in texts are printed as ECMAScript prints them.
func TestNumber(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	values := []float64{1, 0.1, 1e-6, 1e-7, 9.5e-7, 1e20, 1e21, 1.5e300, 5e-324, 123456789, -0.5, -1e-9, 1000}
	for range 2000 {
		values = append(values, math.Float64frombits(random.Uint64()))
	}
	for _, x := range values {
		want, err := json.Marshal(x)
		if err != nil { // NaN or infinite
			continue
		}
		if got := number(x); got != string(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := number(math.Copysign(0, -1)); got != "0" {
		t.Errorf("-0 is printed as %s", got)
	}
}

// Scoring and deciding allocate nothing.
func TestNoAllocation(t *testing.T) {
	exponential, power := mustNew(t, exponentialKind, 86400000), mustNew(t, powerLawKind, 86400000, 1.3)
	decider := NewDecider(power, 0.3)
	sum, age := 0.0, uint64(0)
	if n := testing.AllocsPerRun(1000, func() {
		age += 7777777
		r := Record{LastAccessedMillis: -int64(age), Importance: 0.7371}
		sum += exponential.Score(r, 0) + power.Score(r, 0)
		if decider.Prune(r, 0) {
			sum++
		}
	}); n != 0 {
		t.Errorf("got %v allocations a run, want 0", n)
	}
}

// One model and one decider serve many goroutines (the race detector watches).
func TestConcurrentUse(t *testing.T) {
	m := mustNew(t, powerLawKind, 86400000, 1.3)
	d := NewDecider(m, 0.3)
	want := m.ScoreAge(0.7, 99999999)
	var group sync.WaitGroup
	for range 8 {
		group.Add(1)
		go func() {
			defer group.Done()
			for age := range uint64(500) {
				m.ScoreAge(0.7, age<<20)
				d.Prune(Record{LastAccessedMillis: -int64(age << 20), Importance: 0.5}, 0)
			}
			if got := m.ScoreAge(0.7, 99999999); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		}()
	}
	group.Wait()
}
