package decay

import (
	"math"
	"math/bits"
)

// Limits of the exponent that Power accepts. In this range exponent·2^58 is an
// integer that fits 64 bits, which the fast path needs.
const (
	MinExponent = 0.1
	MaxExponent = 10
)

// HalfLife returns 2^(-elapsed/halfLife), correctly rounded: 1 for no elapsed
// time, 0.5 after one half-life, 0 from 1075 half-lives on. Both arguments are
// in the same unit. The result for halfLife 0 is NaN.
func HalfLife(elapsed, halfLife uint64) float64 {
	if halfLife == 0 {
		return math.NaN()
	}
	h := prepareHalfLife(halfLife)
	return h.score(elapsed)
}

// Power returns importance·(1 + age/scale)^(-exponent), correctly rounded. age
// and scale are in the same unit. The domain is importance in [0, 1], scale at
// least 1 and exponent in [MinExponent, MaxExponent]; elsewhere the result is
// NaN.
func Power(importance float64, age, scale uint64, exponent float64) float64 {
	if scale == 0 || !(exponent >= MinExponent && exponent <= MaxExponent) {
		return math.NaN()
	}
	p := preparePower(scale, exponent)
	return p.score(importance, age)
}

// AgeMillis returns max(0, now - lastAccessed), exactly: the difference of two
// int64 always fits a uint64.
func AgeMillis(lastAccessed, now int64) uint64 {
	if lastAccessed >= now {
		return 0
	}
	return uint64(now) - uint64(lastAccessed)
}

// halfLifeCurve is HalfLife with the half-life prepared.
type halfLifeCurve struct {
	halfLife uint64
	last     uint64 // no elapsed time beyond this one has a score above 0
	inverse  fixed  // floor((2^191 - 1) / (halfLife·2^shift)), at least 2^127
	shift    uint   // leading zeros of halfLife
}

// zeroAfter is the number of half-lives that gives 2^-1075, half the least
// subnormal: a tie, which goes to 0.
const zeroAfter = 1075

func prepareHalfLife(halfLife uint64) halfLifeCurve {
	shift := uint(bits.LeadingZeros64(halfLife))
	normal := halfLife << shift
	hi, rest := bits.Div64(1<<63-1, ^uint64(0), normal)
	lo, _ := bits.Div64(rest, ^uint64(0), normal)
	last := ^uint64(0)
	if over, product := bits.Mul64(zeroAfter, halfLife); over == 0 {
		last = product - 1
	}
	return halfLifeCurve{halfLife, last, fixed{hi, lo}, shift}
}

// score computes elapsed/halfLife as elapsed·inverse, exact to 2^-116.
func (c *halfLifeCurve) score(elapsed uint64) float64 {
	if elapsed > c.last {
		return 0
	}
	hi, mid := bits.Mul64(elapsed, c.inverse.hi)
	n, lo := bits.Mul64(elapsed, c.inverse.lo)
	mid, carry := bits.Add64(mid, n, 0)
	hi += carry
	// The point stands 63-shift bits above the foot of hi.
	point := 63 - c.shift
	fraction := fixed{hi<<(c.shift+1) | mid>>point, mid<<(c.shift+1) | lo>>point}
	if pattern, ok := round(exp2neg(fraction), -int(hi>>point)); ok {
		return math.Float64frombits(pattern)
	}
	return exactHalfLife(elapsed, c.halfLife)
}

// powerCurve is Power with the scale and the exponent prepared.
type powerCurve struct {
	scale    uint64
	exponent float64
	factor   uint64    // exponent·2^58, exactly
	logScale logarithm // log2(scale)
}

func preparePower(scale uint64, exponent float64) powerCurve {
	mantissa, e := decompose(exponent) // exponent = mantissa·2^(e-64)
	return powerCurve{scale, exponent, mantissa >> uint(64-58-e), log2(0, scale)}
}

// patternOfOne is the bits of 1.
const patternOfOne = 1023 << 52

// score computes importance·2^-x with x = exponent·(log2(scale+age) - log2(scale)).
func (c *powerCurve) score(importance float64, age uint64) float64 {
	pattern := math.Float64bits(importance)
	if pattern-1 >= patternOfOne { // not in (0, 1]
		if pattern<<1 == 0 {
			return 0
		}
		return math.NaN()
	}
	sum, carry := bits.Add64(age, c.scale, 0)
	ratio := fixed(log2(carry, sum)).minus(fixed(c.logScale))
	// x has 58 + 121 = 128 + 51 fraction bits and at most 10 integer bits.
	hi, mid := bits.Mul64(c.factor, ratio.hi)
	n, lo := bits.Mul64(c.factor, ratio.lo)
	mid, carry = bits.Add64(mid, n, 0)
	hi += carry
	fraction := fixed{hi<<13 | mid>>51, mid<<13 | lo>>51}
	mantissa, e := decompose(importance)
	if pattern, ok := round(exp2neg(fraction).scaled(mantissa), e-int(hi>>51)); ok {
		return math.Float64frombits(pattern)
	}
	return exactPower(importance, age, c.scale, c.exponent)
}

// decompose returns the mantissa m, with its top bit set, and the exponent e of
// a positive finite x = m·2^(e-64). It reads the bits, because arithmetic on
// subnormal numbers depends on the state of the processor.
func decompose(x float64) (m uint64, e int) {
	pattern := math.Float64bits(x)
	m, e = pattern<<11|1<<63, int(pattern>>52)-1022
	if e == -1022 {
		m = pattern << 11
		zeros := bits.LeadingZeros64(m)
		m, e = m<<uint(zeros), -1021-zeros
	}
	return m, e
}

// undecided is the distance from a midpoint, in units of 2^-64 of the last
// place, within which round refuses to decide: 2^-83 relative to the value.
// The error of a value is below 2^-84.1 (ten times two logarithms, ten being
// the greatest exponent, times ln 2, and one exp2neg), so what is decided is
// decided rightly. By chance one value in 2^29 is not.
const undecided = 1 << 34

// round returns the bits of the double nearest to v·2^e, where v is at least
// 1/4, or false if v is so near the middle between two doubles that its error
// could matter.
func round(v fixed, e int) (pattern uint64, ok bool) {
	if v.hi>>63 == 0 {
		v = v.left(1)
		e--
	}
	place := e - 53 // exponent of the last place
	drop := uint(11)
	if place < -1074 {
		drop += uint(-1074 - place)
		place = -1074
		if drop > 65 { // below a quarter of the least subnormal
			return 0, true
		}
	}
	kept, rest := v.hi>>drop, v.hi
	if drop < 64 {
		rest = v.hi<<(64-drop) | v.lo>>drop
	} else {
		rest >>= drop - 64
	}
	if rest-(1<<63-undecided) <= 2*undecided {
		return 0, false
	}
	// A mantissa that rounds up to 2^53 carries into the exponent, as it should.
	return uint64(place+1074)<<52 + kept + rest>>63, true
}
