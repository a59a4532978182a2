package ffi

import (
	"math"
	"testing"

	"github.com/iamfaham/recolva/internal/conformance"
	"github.com/iamfaham/recolva/pkg/decay"
)

// untouched is what outputs hold before a call that must not write them.
const untouched = -7.25

// The numbers of the models are their places in the table.
func TestModelNumbers(t *testing.T) {
	for name, number := range map[string]int{"exponential": Exponential, "power-law": PowerLaw} {
		if number >= len(decay.Kinds) || decay.Kinds[number].Name != name {
			t.Errorf("model %d is not %s", number, name)
		}
	}
}

// record at which the power law with scale 86400000 and exponent 1 scores 0.25.
var halved = decay.Record{LastAccessedMillis: 1000000, Importance: 0.5}

const now = 87400000

// Score gives what the models give.
func TestScore(t *testing.T) {
	var score float64
	if status := Score(Exponential, halved, now, &score, 86400000); status != OK || score != 0.5 {
		t.Errorf("exponential: status %d, score %v", status, score)
	}
	if status := Score(PowerLaw, halved, now, &score, 86400000, 1); status != OK || score != 0.25 {
		t.Errorf("power-law: status %d, score %v", status, score)
	}
}

// The exponential model does not look at the importance.
func TestScoreIgnoresImportance(t *testing.T) {
	var score float64
	r := decay.Record{LastAccessedMillis: 1000000, Importance: math.NaN()}
	if status := Score(Exponential, r, now, &score, 86400000); status != OK || score != 0.5 {
		t.Errorf("status %d, score %v", status, score)
	}
}

// Every bad argument has its status, and nothing is written.
func TestScoreRejects(t *testing.T) {
	for name, c := range map[string]struct {
		model      int32
		importance float64
		values     []float64
	}{
		"model -1":              {-1, 0.5, []float64{86400000}},
		"model 2":               {2, 0.5, []float64{86400000}},
		"too few parameters":    {PowerLaw, 0.5, []float64{86400000}},
		"too many parameters":   {Exponential, 0.5, []float64{86400000, 1}},
		"importance NaN":        {PowerLaw, math.NaN(), []float64{86400000, 1}},
		"importance above 1":    {PowerLaw, math.Nextafter(1, 2), []float64{86400000, 1}},
		"importance below 0":    {PowerLaw, -5e-324, []float64{86400000, 1}},
		"importance infinite":   {PowerLaw, math.Inf(1), []float64{86400000, 1}},
		"half-life too small":   {Exponential, 0.5, []float64{999}},
		"half-life of 2^64":     {Exponential, 0.5, []float64{1 << 64}},
		"exponent not a number": {PowerLaw, 0.5, []float64{86400000, math.NaN()}},
	} {
		score, scores := untouched, [2]float64{untouched, untouched}
		r := decay.Record{LastAccessedMillis: 1, Importance: c.importance}
		if status := Score(c.model, r, now, &score, c.values...); status != InvalidArgument || score != untouched {
			t.Errorf("%s: Score gives status %d and writes %v", name, status, score)
		}
		times, importances := [2]int64{1, 1}, [2]float64{0.5, c.importance}
		batch := Records{&times[0], &importances[0], 2}
		if status := ScoreBatch(c.model, batch, now, &scores[0], c.values...); status != InvalidArgument ||
			scores != [2]float64{untouched, untouched} {
			t.Errorf("%s: ScoreBatch gives status %d and writes %v", name, status, scores)
		}
		if status := Score(c.model, r, now, nil, c.values...); status != NullOutput {
			t.Errorf("%s, no output: Score gives status %d", name, status)
		}
		if status := ScoreBatch(c.model, batch, now, nil, c.values...); status != NullOutput {
			t.Errorf("%s, no output: ScoreBatch gives status %d", name, status)
		}
	}
}

// The limits of the parameters are the shared ones.
func TestScoreLimits(t *testing.T) {
	cases, err := conformance.Limits()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		for i, kind := range decay.Kinds {
			if kind.Name != c.Model {
				continue
			}
			values := make([]float64, len(kind.Params))
			for j, p := range kind.Params {
				values[j] = float64(c.Params[p.Name])
			}
			score := untouched
			status := Score(int32(i), halved, now, &score, values...)
			if c.Accepts != (status == OK) || c.Accepts == (score == untouched) {
				t.Errorf("%s %v: status %d, score %v", c.Model, values, status, score)
			}
		}
	}
}

// A batch gives the scores of its records one by one.
func TestScoreBatch(t *testing.T) {
	times := []int64{0, 1000000, now, now + 5, math.MinInt64, math.MaxInt64}
	importances := []float64{0, 0.5, 1, 0.3, 1, math.Copysign(0, -1)}
	for model, values := range map[int32][]float64{Exponential: {86400000}, PowerLaw: {86400000, 1.3}} {
		scores := make([]float64, len(times))
		batch := Records{&times[0], &importances[0], int64(len(times))}
		if status := ScoreBatch(model, batch, now, &scores[0], values...); status != OK {
			t.Fatalf("model %d: status %d", model, status)
		}
		for i := range times {
			var want float64
			r := decay.Record{LastAccessedMillis: times[i], Importance: importances[i]}
			Score(model, r, now, &want, values...)
			if math.Float64bits(scores[i]) != math.Float64bits(want) {
				t.Errorf("model %d, record %d: got %v, want %v", model, i, scores[i], want)
			}
		}
	}
}

// A batch of none needs no arrays, but good parameters; a negative or impossible
// count and a missing array are invalid.
func TestScoreBatchCounts(t *testing.T) {
	var one int64
	var importance, score float64
	for name, c := range map[string]struct {
		batch Records
		out   *float64
		scale float64
		want  Status
	}{
		"none":                 {Records{}, nil, 1000, OK},
		"none, bad scale":      {Records{}, nil, 999, InvalidArgument},
		"negative":             {Records{&one, &importance, -1}, &score, 1000, InvalidArgument},
		"least":                {Records{&one, &importance, math.MinInt64}, &score, 1000, InvalidArgument},
		"impossible":           {Records{&one, &importance, math.MaxInt64}, &score, 1000, InvalidArgument},
		"no times":             {Records{nil, &importance, 1}, &score, 1000, InvalidArgument},
		"no importances":       {Records{&one, nil, 1}, &score, 1000, InvalidArgument},
		"no output":            {Records{&one, &importance, 1}, nil, 1000, NullOutput},
		"no output, bad scale": {Records{&one, &importance, 1}, nil, 999, NullOutput},
	} {
		score = untouched
		if got := ScoreBatch(PowerLaw, c.batch, now, c.out, c.scale, 1); got != c.want || score != untouched {
			t.Errorf("%s: got status %d, want %d; score %v", name, got, c.want, score)
		}
	}
	if got := ScoreBatch(Exponential, Records{&one, nil, 1}, now, &score, 1000); got != OK {
		t.Errorf("exponential without importances: status %d", got)
	}
}
