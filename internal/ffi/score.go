// Package ffi is what the C library does, without C: it checks every argument,
// then scores. The functions take pointers as C passes them, any of which may be
// nil. On any status but [OK] nothing has been written.
//
// native/recolva.h is the documentation for callers.
package ffi

import (
	"math"
	"unsafe"

	"github.com/iamfaham/recolva/pkg/decay"
)

// Status is the result of every function.
type Status int32

// The statuses. Native code is compiled only if they equal those of recolva.h.
const (
	OK Status = iota
	InvalidArgument
	NullOutput
)

// The numbers of the models: the index of each in [decay.Kinds].
const (
	Exponential = iota
	PowerLaw
)

// build returns the model of that number with the given values for parameters.
func build(model int32, values []float64) (*decay.Kind, decay.Model, Status) {
	if model < 0 || int(model) >= len(decay.Kinds) {
		return nil, nil, InvalidArgument
	}
	kind := &decay.Kinds[model]
	m, err := kind.New(values...)
	if err != nil {
		return nil, nil, InvalidArgument
	}
	return kind, m, OK
}

// Score writes the score of one record to out. The importance is checked for
// models that depend on it.
func Score(model int32, r decay.Record, now int64, out *float64, values ...float64) Status {
	if out == nil {
		return NullOutput
	}
	kind, m, status := build(model, values)
	if status != OK {
		return status
	}
	if kind.Needs(decay.FieldImportance) && decay.CheckImportance(r.Importance) != nil {
		return InvalidArgument
	}
	*out = m.Score(r, now)
	return OK
}

// Records is where the records of a batch stand.
type Records struct {
	LastAccessed *int64
	Importance   *float64 // nil for models that do not depend on it
	Count        int64
}

// ScoreBatch writes the scores of the records to the array out. All arrays have
// r.Count elements and may be nil if that is zero.
func ScoreBatch(model int32, r Records, now int64, out *float64, values ...float64) Status {
	if out == nil && r.Count > 0 {
		return NullOutput
	}
	kind, m, status := build(model, values)
	if status != OK {
		return status
	}
	needsImportance := kind.Needs(decay.FieldImportance)
	if !fits(r.LastAccessed, r.Count) || needsImportance && !fits(r.Importance, r.Count) {
		return InvalidArgument
	}
	if r.Count == 0 {
		return OK
	}
	times, scores := unsafe.Slice(r.LastAccessed, r.Count), unsafe.Slice(out, r.Count)
	if !needsImportance {
		for i, t := range times {
			scores[i] = m.Score(decay.Record{LastAccessedMillis: t}, now)
		}
		return OK
	}
	importances := unsafe.Slice(r.Importance, r.Count)
	for _, x := range importances {
		if decay.CheckImportance(x) != nil {
			return InvalidArgument
		}
	}
	for i, t := range times {
		scores[i] = m.Score(decay.Record{LastAccessedMillis: t, Importance: importances[i]}, now)
	}
	return OK
}

// fits reports whether count elements may stand at p: a count that no address
// space holds is a mistake, and nil is allowed for none.
func fits[T any](p *T, count int64) bool {
	var element T
	return count >= 0 && count <= math.MaxInt/int64(unsafe.Sizeof(element)) && (p != nil || count == 0)
}
