// Package selftest reduces 200,000 scores to one digest, so that any build on any
// processor, in any language, can be compared with any other by 64 characters.
//
// The recipe: w is the next word of splitmix64, from the state 0, in the order of
// the lines. Arithmetic is of 64-bit unsigned integers, / is exact in doubles. In
// each of 100,000 rounds
//
//	half_life_ms = 1000 + w mod 315575999001
//	age_ms       = (w mod 1100)·half_life_ms + w mod half_life_ms
//	scale_ms     = 1000 + w mod 315575999001
//	age_ms       = w >> (w mod 64)
//	exponent     = (56294995342132 + w mod 5573204538870989) / 2^49
//	importance   = ((w >> 11) >> (w mod 53)) / 2^53
//
// the first two lines give a score of the exponential model, the other four one of
// the power-law model. (The operands of >> are drawn from left to right.) The digest
// is the SHA-256 of all scores in this order, each as the eight bytes of its double,
// the lowest first.
//
// What the digest has to be stands in models/selftest.txt of package conformance.
package selftest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"

	"github.com/iamfaham/recolva/pkg/decay"
)

const (
	rounds = 100_000

	leastSpan, spans = 1000, 315_576_000_000 - 1000 + 1
	// The exponents are all multiples of 2^-49 from 0.1 to 10.
	leastExponent, exponents = 56_294_995_342_132, 10<<49 - 56_294_995_342_132 + 1
)

// splitmix64 is the generator of Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014.
type splitmix64 uint64

func (s *splitmix64) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Digest computes the digest of this build, as 64 hexadecimal digits.
func Digest() string {
	var random splitmix64
	w := random.next
	hash := sha256.New()
	var words [16]byte
	for range rounds {
		binary.LittleEndian.PutUint64(words[:], math.Float64bits(halfLife(w)))
		binary.LittleEndian.PutUint64(words[8:], math.Float64bits(power(w)))
		hash.Write(words[:])
	}
	return hex.EncodeToString(hash.Sum(nil))
}

func halfLife(w func() uint64) float64 {
	span := leastSpan + w()%spans
	age := w() % 1100 * span
	age += w() % span
	return decay.HalfLife(age, span)
}

func power(w func() uint64) float64 {
	span := leastSpan + w()%spans
	age := w()
	age >>= w() % 64
	exponent := float64(leastExponent+w()%exponents) / (1 << 49)
	weight := w() >> 11
	weight >>= w() % 53
	return decay.Power(float64(weight)/(1<<53), age, span, exponent)
}
