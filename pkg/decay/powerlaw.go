package decay

var powerLawKind = Kind{
	Name:    "power-law",
	Doc:     "the score starts at the importance and falls with a power of the age, slowly for old records",
	Formula: "importance * (1 + age_ms / scale_ms)^(-exponent)",
	Params: []Param{{
		Name: "scale_ms", Doc: "age at which the score has fallen by the factor 2^exponent",
		Unit: "ms", Min: minMillis, Max: maxMillis, Integer: true,
	}, {
		Name: "exponent", Doc: "how strongly age counts", Min: MinExponent, Max: MaxExponent,
	}},
	Fields: []Field{FieldID, FieldLastAccessed, FieldImportance},
	build: func(values []float64) Model {
		return &powerLaw{preparePower(uint64(values[0]), values[1])}
	},
}

var _ monotone = (*powerLaw)(nil)

type powerLaw struct{ curve powerCurve }

func (m *powerLaw) Score(r Record, nowMillis int64) float64 {
	return m.curve.score(r.Importance, AgeMillis(r.LastAccessedMillis, nowMillis))
}

// ScoreAge returns NaN for an importance outside [0, 1].
func (m *powerLaw) ScoreAge(importance float64, ageMillis uint64) float64 {
	return m.curve.score(importance, ageMillis)
}

func (m *powerLaw) needsImportance() bool { return true }

// PowerLawScore returns the power-law score of a record last accessed at
// lastAccessed, at the time now (both Unix times in ms). It returns a
// *ParamError if scaleMillis is not between 1000 and 315576000000, exponent not
// between 0.1 and 10 or importance not between 0 and 1. Who scores many records
// builds the model once, with [Kind.New].
func PowerLawScore(lastAccessed, now, scaleMillis int64, exponent, importance float64) (float64, error) {
	m, err := powerLawKind.New(float64(scaleMillis), exponent)
	if err != nil {
		return 0, err
	}
	if err := CheckImportance(importance); err != nil {
		return 0, err
	}
	return m.ScoreAge(importance, AgeMillis(lastAccessed, now)), nil
}
