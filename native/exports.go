package main

/*
#include "recolva.h"

// The compiler compares the prototypes in recolva.h with those that cgo writes
// for the functions below. cgo has no const, but knows these types.
typedef const int64_t const_int64;
typedef const double const_double;
typedef const uint8_t const_uint8;
*/
import "C"

import (
	"unsafe"

	"github.com/iamfaham/recolva/internal/ffi"
	"github.com/iamfaham/recolva/pkg/decay"
)

// A constant that differs from recolva.h does not compile: one of the two
// differences would be negative.
const (
	_ = uint(C.RECOLVA_OK - ffi.OK)
	_ = uint(ffi.OK - C.RECOLVA_OK)
	_ = uint(C.RECOLVA_INVALID_ARGUMENT - ffi.InvalidArgument)
	_ = uint(ffi.InvalidArgument - C.RECOLVA_INVALID_ARGUMENT)
	_ = uint(C.RECOLVA_NULL_OUTPUT - ffi.NullOutput)
	_ = uint(ffi.NullOutput - C.RECOLVA_NULL_OUTPUT)
	_ = uint(C.RECOLVA_EXPONENTIAL - ffi.Exponential)
	_ = uint(ffi.Exponential - C.RECOLVA_EXPONENTIAL)
	_ = uint(C.RECOLVA_POWER_LAW - ffi.PowerLaw)
	_ = uint(ffi.PowerLaw - C.RECOLVA_POWER_LAW)
)

// RecolvaAbiVersion is documented in recolva.h.
//
//export RecolvaAbiVersion
func RecolvaAbiVersion() C.int32_t { return C.RECOLVA_ABI_VERSION }

// DecayScoreExponential is documented in recolva.h.
//
//export DecayScoreExponential
func DecayScoreExponential(lastAccessed, now, halfLife C.int64_t, out *C.double) C.int32_t {
	r := decay.Record{LastAccessedMillis: int64(lastAccessed)}
	return C.int32_t(ffi.Score(ffi.Exponential, r, int64(now), (*float64)(out), float64(halfLife)))
}

// DecayScorePowerLaw is documented in recolva.h.
//
//export DecayScorePowerLaw
func DecayScorePowerLaw(lastAccessed, now, scale C.int64_t, exponent, importance C.double, out *C.double) C.int32_t {
	r := decay.Record{LastAccessedMillis: int64(lastAccessed), Importance: float64(importance)}
	return C.int32_t(ffi.Score(ffi.PowerLaw, r, int64(now), (*float64)(out), float64(scale), float64(exponent)))
}

// DecayScoreExponentialBatch is documented in recolva.h.
//
//export DecayScoreExponentialBatch
func DecayScoreExponentialBatch(lastAccessed *C.const_int64, count, now, halfLife C.int64_t, out *C.double) C.int32_t {
	r := ffi.Records{LastAccessed: (*int64)(unsafe.Pointer(lastAccessed)), Count: int64(count)}
	return C.int32_t(ffi.ScoreBatch(ffi.Exponential, r, int64(now), (*float64)(out), float64(halfLife)))
}

// DecayScorePowerLawBatch is documented in recolva.h.
//
//export DecayScorePowerLawBatch
func DecayScorePowerLawBatch(lastAccessed *C.const_int64, importance *C.const_double, count, now, scale C.int64_t,
	exponent C.double, out *C.double) C.int32_t {
	r := ffi.Records{
		LastAccessed: (*int64)(unsafe.Pointer(lastAccessed)),
		Importance:   (*float64)(unsafe.Pointer(importance)),
		Count:        int64(count),
	}
	return C.int32_t(ffi.ScoreBatch(ffi.PowerLaw, r, int64(now), (*float64)(out), float64(scale), float64(exponent)))
}

// RecolvaScanBlock is documented in recolva.h.
//
//export RecolvaScanBlock
func RecolvaScanBlock(data *C.const_uint8, length C.int64_t, atEnd C.int32_t,
	model C.int32_t, parameters *C.const_double, parameterCount C.int32_t,
	now C.int64_t, threshold C.double, capacity C.int64_t,
	lineStart, lineEnd, idStart, idEnd, lastAccessed *C.int64_t, score *C.double, prune *C.uint8_t,
	records, blanks, consumed, badLine *C.int64_t) C.int32_t {
	return C.int32_t(ffi.ScanBlock(
		ffi.Block{Data: (*byte)(unsafe.Pointer(data)), Length: int64(length), AtEnd: atEnd != 0},
		ffi.Policy{
			Model: int32(model), Parameters: (*float64)(unsafe.Pointer(parameters)),
			ParameterCount: int32(parameterCount), Now: int64(now), Threshold: float64(threshold),
		},
		ffi.Rows{
			Capacity:  int64(capacity),
			LineStart: (*int64)(lineStart), LineEnd: (*int64)(lineEnd),
			IDStart: (*int64)(idStart), IDEnd: (*int64)(idEnd),
			LastAccessed: (*int64)(lastAccessed), Score: (*float64)(score), Prune: (*uint8)(prune),
		},
		ffi.Progress{
			Records: (*int64)(records), Blanks: (*int64)(blanks),
			Consumed: (*int64)(consumed), BadLine: (*int64)(badLine),
		},
	))
}
