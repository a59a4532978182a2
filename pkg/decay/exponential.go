package decay

// The limits of half_life_ms and scale_ms: a second, and ten years of 365.25 days.
const (
	minMillis = 1000
	maxMillis = 315576000000
)

var exponentialKind = Kind{
	Name:    "exponential",
	Doc:     "the score halves with every half-life since the last access",
	Formula: "2^(-age_ms / half_life_ms)",
	Params: []Param{{
		Name: "half_life_ms", Doc: "time in which a score halves",
		Unit: "ms", Min: minMillis, Max: maxMillis, Integer: true,
	}},
	Fields: []Field{FieldID, FieldLastAccessed},
	build: func(values []float64) Model {
		return &exponential{prepareHalfLife(uint64(values[0]))}
	},
}

var _ monotone = (*exponential)(nil)

type exponential struct{ curve halfLifeCurve }

func (m *exponential) Score(r Record, nowMillis int64) float64 {
	return m.curve.score(AgeMillis(r.LastAccessedMillis, nowMillis))
}

// ScoreAge ignores the importance, whatever it is.
func (m *exponential) ScoreAge(_ float64, ageMillis uint64) float64 {
	return m.curve.score(ageMillis)
}

func (m *exponential) needsImportance() bool { return false }

// ExponentialScore returns the exponential score of a record last accessed at
// lastAccessed, at the time now (both Unix times in ms), or a *ParamError if
// halfLifeMillis is not between 1000 and 315576000000. Who scores many records
// builds the model once, with [Kind.New].
func ExponentialScore(lastAccessed, now, halfLifeMillis int64) (float64, error) {
	m, err := exponentialKind.New(float64(halfLifeMillis))
	if err != nil {
		return 0, err
	}
	return m.ScoreAge(1, AgeMillis(lastAccessed, now)), nil
}
