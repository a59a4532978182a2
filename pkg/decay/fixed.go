package decay

import "math/bits"

// fixed is a 128-bit unsigned number. Where nothing else is said it is the
// fraction (hi·2^64 + lo) / 2^128, so that every value lies in [0, 1).
type fixed struct{ hi, lo uint64 }

// The constants of the two series, truncated. A test recomputes them.
var (
	ln2     = fixed{0xb17217f7d1cf79ab, 0xc9e3b39803f2f6af} // ln 2
	halfInv = fixed{0xb8aa3b295c17f0bb, 0xbe87fed0691d3e88} // 1 / (2 ln 2)
)

const (
	exp2c = 0x3d7f7bff058b1d50 // (ln 2)^2 / 2!
	exp3c = 0x0e35846b82505fc5 // (ln 2)^3 / 3!
	exp4c = 0x0276556df749cee5 // (ln 2)^4 / 4!
	exp5c = 0x005761ff9e299cc4 // (ln 2)^5 / 5!

	log2c = 0xb8aa3b295c17f0bb // 1 / (2 ln 2)
	log3c = 0x7b1c2770e80ff5d2 // 1 / (3 ln 2)
	log4c = 0x5c551d94ae0bf85d // 1 / (4 ln 2)
	log5c = 0x49ddb143be6ff9e4 // 1 / (5 ln 2)
)

// times returns the upper 128 bits of a·b. The three lowest partial products
// are dropped: the result is at most 3·2^-128 too small and never too large.
func (a fixed) times(b fixed) fixed {
	hi, lo := bits.Mul64(a.hi, b.hi)
	m, _ := bits.Mul64(a.hi, b.lo)
	n, _ := bits.Mul64(a.lo, b.hi)
	lo, c := bits.Add64(lo, m, 0)
	hi += c
	lo, c = bits.Add64(lo, n, 0)
	return fixed{hi + c, lo}
}

// scaled returns the upper 128 bits of a·m/2^64, at most 2^-128 too small.
func (a fixed) scaled(m uint64) fixed {
	hi, lo := bits.Mul64(a.hi, m)
	n, _ := bits.Mul64(a.lo, m)
	lo, c := bits.Add64(lo, n, 0)
	return fixed{hi + c, lo}
}

// plus returns a + b modulo 1.
func (a fixed) plus(b fixed) fixed {
	lo, c := bits.Add64(a.lo, b.lo, 0)
	return fixed{a.hi + b.hi + c, lo}
}

// minus returns a - b modulo 1.
func (a fixed) minus(b fixed) fixed {
	lo, c := bits.Sub64(a.lo, b.lo, 0)
	return fixed{a.hi - b.hi - c, lo}
}

// left returns a·2^n modulo 1, for n < 64.
func (a fixed) left(n uint) fixed {
	return fixed{a.hi<<n | a.lo>>(64-n), a.lo << n}
}

// right returns a·2^-n, truncated, for n < 64.
func (a fixed) right(n uint) fixed {
	return fixed{a.hi >> n, a.lo>>n | a.hi<<(64-n)}
}

// mulHi returns the upper half of a·b: the product of two 64-bit fractions.
func mulHi(a, b uint64) uint64 {
	hi, _ := bits.Mul64(a, b)
	return hi
}

// exp2neg returns 2^-f with an absolute error below 2^-89; one itself is
// represented by the greatest fraction. The first 14 bits of f are looked up;
// for the rest, u < 2^-14, the series
//
//	1 - 2^-u = u·ln2 - u²·(ln2)²/2! + u³·(ln2)³/3! - u⁴·(ln2)⁴/4! + u⁵·(ln2)⁵/5! - …
//
// is summed scaled by 2^14, its first term in 128 bits and the others, which
// are below 2^-28, in 64. Six truncations cost 2^-92 each and the part of the
// series left out is below 2^-96.
func exp2neg(f fixed) fixed {
	table := coarse[f.hi>>57].times(fine[f.hi>>50&127])
	w := f.left(14) // u·2^14
	s := exp4c - mulHi(w.hi, exp5c)>>14
	s = exp3c - mulHi(w.hi, s)>>14
	s = exp2c - mulHi(w.hi, s)>>14
	s = mulHi(mulHi(w.hi, w.hi), s)
	v := w.times(ln2).minus(fixed{s >> 14, s << 50}) // (1 - 2^-u)·2^14
	return table.minus(table.times(v).right(14))
}

// logarithm is a base-2 logarithm with 7 integer and 121 fraction bits.
type logarithm fixed

// log2 returns the base-2 logarithm of carry·2^64 + n, which must be at least
// 1, with an absolute error below 2^-88. (carry is 0 or 1.)
//
// The number is 2^k·(1+y). Multiplying by 2^(-g/128), g guessed from the first
// eight bits of y, leaves 1+z with z < 2^-6; multiplying by 2^(-j/16384), where
// j never exceeds the logarithm of what is left, leaves 1+d with 0 <= d < 2^-14.
// Then the series log2(1+d) = (d - d²/2 + d³/3 - d⁴/4 + d⁵/5 - …) / ln2 is summed
// scaled by 2^14, its first term in 128 bits, the others in 64. The part left
// out is below 2^-89.
func log2(carry, n uint64) logarithm {
	k, y := uint64(64), n
	if carry == 0 {
		zeros := uint(bits.LeadingZeros64(n))
		k, y = 63-uint64(zeros), n<<(zeros+1)
	}
	if y == 0 {
		return logarithm{k << 57, 0}
	}
	g := guess[y>>56] & 127
	z := coarse[g].scaled(y).plus(coarse[g]) // the integer part 1 falls off
	low := z.hi - mulHi(z.hi, z.hi)>>1       // z - z²/2 < ln(1+z)
	j := mulHi(low, halfInv.hi) >> 49 & 255
	d := z.times(fine[j]).plus(fine[j]).left(14) // d·2^14; the 1 falls off again
	s := log4c - mulHi(d.hi, log5c)>>14
	s = log3c - mulHi(d.hi, s)>>14
	s = log2c - mulHi(d.hi, s)>>14
	s = mulHi(mulHi(d.hi, d.hi), s) // of weight 2^-28
	sum := d.times(halfInv).right(20).minus(fixed{s >> 35, s << 29})
	return logarithm{sum.hi + k<<57 + uint64(g)<<50 + j<<43, sum.lo}
}
