package decay

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Record is what a score is computed from. Its zero value was last accessed in
// 1970 and has no importance.
type Record struct {
	LastAccessedMillis int64   // Unix time in ms, any int64
	Importance         float64 // in [0, 1]; -0.0 counts as 0
}

// Model scores records. Its parameters were checked when [Kind.New] built it, so
// scoring cannot fail; it allocates nothing and may be used by any number of
// goroutines at a time.
type Model interface {
	// Score returns the score of r at the Unix time nowMillis.
	Score(r Record, nowMillis int64) float64
	// ScoreAge returns the score of a record last accessed ageMillis ago.
	ScoreAge(importance float64, ageMillis uint64) float64
}

// Field is a field of a record.
type Field uint8

// The fields of a record.
const (
	FieldID Field = iota
	FieldLastAccessed
	FieldImportance
)

// Param describes a parameter of a model.
type Param struct {
	Name     string  // as in policies and C headers, for example "half_life_ms"
	Doc      string  // half a sentence for help texts
	Unit     string  // "ms", or "" for a plain number
	Min, Max float64 // both allowed
	Integer  bool
}

// Kind is a row of the table of models: everything that a user of a model has
// to know without knowing the model.
type Kind struct {
	Name    string  // as in flags and policies, for example "power-law"
	Doc     string  // one sentence for help texts
	Formula string  // in the words of the specification
	Params  []Param // in the order in which New takes their values
	Fields  []Field // the fields of a record that the score depends on
	build   func(values []float64) Model
}

// Kinds is the list of the models. A kind's index is its number in the C ABI,
// so that kinds are only ever added at the end. It must not be modified.
var Kinds = []Kind{exponentialKind, powerLawKind}

// KindByName returns the kind of that name.
func KindByName(name string) (*Kind, bool) {
	for i := range Kinds {
		if Kinds[i].Name == name {
			return &Kinds[i], true
		}
	}
	return nil, false
}

// New builds a model from one value per parameter, in the order of k.Params. It
// is the one place where parameters are checked: the first value that is out of
// range, not a number, or a fraction where an integer is due gives a *ParamError.
func (k *Kind) New(values ...float64) (Model, error) {
	if len(values) != len(k.Params) {
		names := make([]string, len(k.Params))
		for i, p := range k.Params {
			names[i] = p.Name
		}
		return nil, fmt.Errorf("%s takes %d values (%s), got %d",
			k.Name, len(names), strings.Join(names, ", "), len(values))
	}
	for i, p := range k.Params {
		if err := p.check(values[i]); err != nil {
			return nil, err
		}
	}
	return k.build(values), nil
}

// Needs reports whether the score depends on the field f.
func (k *Kind) Needs(f Field) bool {
	for _, field := range k.Fields {
		if field == f {
			return true
		}
	}
	return false
}

// ParamError says what is wrong with the value of a parameter.
type ParamError struct {
	Param Param
	Text  string // for example "must be between 0.1 and 10, got NaN"
}

// Error returns the parameter's name and the text. A program whose users know
// the parameter by another name puts that before the text instead.
func (e *ParamError) Error() string { return e.Param.Name + " " + e.Text }

var (
	thresholdParam = Param{
		Name: "threshold", Doc: "records with a score below it are pruned", Max: 1,
	}
	importanceParam = Param{
		Name: "importance", Doc: "the score of a record just accessed", Max: 1,
	}
)

// CheckThreshold returns an error, a *ParamError, unless x is in [0, 1].
func CheckThreshold(x float64) error { return thresholdParam.check(x) }

// CheckImportance returns an error, a *ParamError, unless x is in [0, 1].
func CheckImportance(x float64) error {
	if math.Float64bits(x) <= patternOfOne { // most often, and then quickly
		return nil
	}
	return importanceParam.check(x)
}

// Below reports score < threshold, the condition for pruning. It compares the bits:
// a processor that was set to treat subnormal numbers as zero, as some libraries
// of a host program do, would find the least ones equal. With NaN it is false.
func Below(score, threshold float64) bool {
	s, t := order(score), order(threshold)
	return s < t && s >= -orderOfInfinity && t <= orderOfInfinity
}

const orderOfInfinity = 0x7ff << 52

// order returns an integer that orders doubles by their value: -0 and 0 alike, NaN
// outside the infinities.
func order(x float64) int64 {
	pattern := int64(math.Float64bits(x))
	if pattern < 0 {
		return math.MinInt64 - pattern
	}
	return pattern
}

func (p Param) check(x float64) error {
	if order(x) < order(p.Min) || order(x) > order(p.Max) {
		return &ParamError{p, fmt.Sprintf("must be between %s and %s, got %s",
			number(p.Min), number(p.Max), number(x))}
	}
	if p.Integer && x != math.Trunc(x) {
		return &ParamError{p, "must be an integer, got " + number(x)}
	}
	return nil
}

// number returns the shortest text that reads back as x, as ECMAScript prints
// it: with an exponent below 1e-6 and from 1e+21 on.
func number(x float64) string {
	switch abs := math.Abs(x); {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 0):
		return strings.Repeat("-", int(math.Float64bits(x)>>63)) + "Infinity"
	case x == 0: // also -0
		return "0"
	case abs >= 1e-6 && abs < 1e21:
		return strconv.FormatFloat(x, 'f', -1, 64)
	default:
		text := strconv.FormatFloat(x, 'e', -1, 64)
		return strings.NewReplacer("e-0", "e-", "e+0", "e+").Replace(text)
	}
}
