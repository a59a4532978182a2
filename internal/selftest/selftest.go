// Package selftest reduces 200,000 scores to one digest, so that anyone can
// tell a build, a machine or another program that computes the same bits.
//
// # The recipe
//
// All numbers are unsigned 64-bit integers that wrap; >> is a logical shift, &
// a bitwise and. The inputs come from one stream of words, splitmix64 (Steele,
// Lea and Flood, 2014) with seed 0:
//
//	state = 0
//	next():  state = state + 0x9E3779B97F4A7C15
//	         z = state
//	         z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
//	         z = (z ^ (z >> 27)) * 0x94D049BB133111EB
//	         return z ^ (z >> 31)
//
// The first three words are 0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4 and
// 0x06C45D188009454F.
//
// First come 100,000 inputs of the exponential model, of two words each:
//
//	h = next();  half_life = 1000 + ((h >> 26) >> (h & 31))         1000 … 274877907943 ms
//	a = next();  age = (half_life * (a >> 53)) >> (a & 15)          0 … 2047 half-lives
//	score = 2^(-age / half_life)
//
// then 100,000 of the power-law model, of four words each:
//
//	c = next();  scale = 1000 + ((c >> 26) >> (c & 31))             1000 … 274877907943 ms
//	a = next();  age = (scale * (a >> 44)) >> (a & 31)              0 … 1048575 scales
//	e = next();  exponent = (2^46 + 9 * (e >> 15)) / 2^49           0.125 … 9.125
//	m = next();  importance = (m >> 11) / 2^53                      0 … 1, less than 1
//	score = importance * (1 + age / scale)^(-exponent)
//
// No product wraps. Both integers that are divided are below 2^53, so they and
// their quotients by a power of two are doubles without rounding.
//
// A score is the double nearest to the exact real value, ties to even,
// subnormal numbers kept. The digest is the SHA-256 of all 200,000 scores in
// this order, each as its IEEE 754 bits in eight bytes, the lowest first
// (little-endian); it is written as 64 hex digits in lower case.
package selftest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"

	"github.com/iamfaham/recolva/pkg/decay"
)

const inputs = 100_000 // of each model

// splitmix is the state of the stream.
type splitmix uint64

func (s *splitmix) next() uint64 {
	*s += 0x9E3779B97F4A7C15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// duration is a half-life or scale of about every magnitude, in milliseconds.
func (s *splitmix) duration() uint64 {
	w := s.next()
	return 1000 + w>>26>>(w&31)
}

func (s *splitmix) exponential() float64 {
	halfLife, a := s.duration(), s.next()
	return decay.HalfLife(halfLife*(a>>53)>>(a&15), halfLife)
}

func (s *splitmix) powerLaw() float64 {
	scale, a, e, m := s.duration(), s.next(), s.next(), s.next()
	age := scale * (a >> 44) >> (a & 31)
	exponent := float64(1<<46+9*(e>>15)) / (1 << 49)
	importance := float64(m>>11) / (1 << 53)
	return decay.Power(importance, age, scale, exponent)
}

// Digest computes the digest: 64 hex digits.
func Digest() string {
	sum := sha256.New()
	var s splitmix
	var buf []byte
	for i := range 2 * inputs {
		score := 0.0
		if i < inputs {
			score = s.exponential()
		} else {
			score = s.powerLaw()
		}
		buf = binary.LittleEndian.AppendUint64(buf[:0], math.Float64bits(score))
		sum.Write(buf)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
