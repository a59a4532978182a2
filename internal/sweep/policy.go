package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/iamfaham/recolva/internal/canon"
	"github.com/iamfaham/recolva/internal/record"
	"github.com/iamfaham/recolva/pkg/decay"
)

// OnInvalid says what becomes of a line that is not a valid record.
type OnInvalid uint8

// Fail stops the sweep at the first invalid line; Keep retains such lines as
// they are and counts them.
const (
	Fail OnInvalid = iota
	Keep
)

var onInvalidNames = [...]string{Fail: "fail", Keep: "keep"}

func (o OnInvalid) String() string { return onInvalidNames[o] }

// ParseOnInvalid returns the choice named fail or keep.
func ParseOnInvalid(name string) (OnInvalid, bool) {
	i := slices.Index(onInvalidNames[:], name)
	return OnInvalid(max(i, 0)), i >= 0
}

// Policy is everything that a decision depends on, beside the record and the
// time of the sweep.
type Policy struct {
	Kind      *decay.Kind
	Values    []float64 // of Kind.Params, in their order
	Threshold float64   // in [0, 1]; a score below it prunes
	OnInvalid OnInvalid

	// Names or dotted paths of the fields; empty strings mean the defaults.
	IDField, TimeField, ImportanceField string

	TimeUnit  record.TimeUnit
	UnitGiven bool // the user named the unit, so that no guard doubts it
}

// plan is a policy that has been checked, ready for use.
type plan struct {
	Policy
	model  decay.Model
	layout record.Layout
}

// Check returns what is wrong with the policy: a *decay.ParamError where a
// number is out of range.
func (p Policy) Check() error {
	_, err := p.plan()
	return err
}

func (p Policy) plan() (*plan, error) {
	model, err := p.Kind.New(p.Values...)
	if err != nil {
		return nil, err
	}
	if err := decay.CheckThreshold(p.Threshold); err != nil {
		return nil, err
	}
	layout := record.Layout{
		IDField:         orDefault(p.IDField, record.DefaultIDField),
		TimeField:       orDefault(p.TimeField, record.DefaultTimeField),
		ImportanceField: orDefault(p.ImportanceField, record.DefaultImportanceField),
		Unit:            p.TimeUnit,
		NeedImportance:  p.Kind.Needs(decay.FieldImportance),
	}
	if _, err := record.NewScanner(layout); err != nil {
		return nil, err
	}
	return &plan{Policy: p, model: model, layout: layout}, nil
}

func orDefault(name, standard string) string {
	if name == "" {
		return standard
	}
	return name
}

// appendJSON appends the policy's normalised form: RFC 8785 JSON with sorted
// names and every default filled in. Equal policies are equal bytes.
func (p *plan) appendJSON(dst []byte) []byte {
	type member struct {
		name  string
		value []byte
	}
	text := func(s string) []byte { return canon.AppendString(nil, s) }
	members := []member{
		{"id_field", text(p.layout.IDField)},
		{"model", text(p.Kind.Name)},
		{"on_invalid", text(p.OnInvalid.String())},
		{"threshold", canon.AppendFloat(nil, p.Threshold)},
		{"time_field", text(p.layout.TimeField)},
		{"time_unit", text(p.TimeUnit.String())},
	}
	if p.layout.NeedImportance {
		members = append(members, member{"importance_field", text(p.layout.ImportanceField)})
	}
	for i, param := range p.Kind.Params {
		members = append(members, member{param.Name, canon.AppendFloat(nil, p.Values[i])})
	}
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	open := byte('{')
	for _, m := range members {
		dst = append(dst, open)
		open = ','
		dst = append(canon.AppendString(dst, m.name), ':')
		dst = append(dst, m.value...)
	}
	return append(dst, '}')
}

// digest returns the SHA-256 of the normalised form in hex.
func (p *plan) digest() string {
	sum := sha256.Sum256(p.appendJSON(nil))
	return hex.EncodeToString(sum[:])
}
