package decay

import (
	"math"
	"math/big"
	"math/bits"
)

// The exact path: what the fast path does not decide is decided here, by
// rational arithmetic where the value is rational, else by ever narrower
// intervals (Ziv's strategy), which must end because an irrational value is no
// midpoint. Doubles are built from integers: the conversions of math/big use
// floating-point operations that may flush subnormals.

// firstPrecision is the number of fraction bits of the first interval.
const firstPrecision = 256

// slack bounds the error of the functions below at any precision p: they are
// within 2^slack units of 2^-p. (Their true errors are a few thousand units.)
const slack = 40

// exactHalfLife is HalfLife by the exact path.
func exactHalfLife(elapsed, halfLife uint64) float64 {
	whole, rest := elapsed/halfLife, elapsed%halfLife
	if whole >= zeroAfter {
		return 0
	}
	if rest == 0 {
		return nearest(big.NewInt(1), big.NewInt(1), -int(whole))
	}
	// 2^(rest/halfLife) is irrational, because the fraction is no integer.
	return narrow(func(p uint) (*big.Int, int) {
		x := new(big.Int).Lsh(new(big.Int).SetUint64(rest), p)
		x.Div(x, new(big.Int).SetUint64(halfLife))
		return bigExp2neg(x, p), -int(whole)
	})
}

// exactPower is Power by the exact path.
func exactPower(importance float64, age, scale uint64, exponent float64) float64 {
	if math.Float64bits(importance)<<1 == 0 {
		return 0
	}
	m, e := decompose(importance)
	mantissa := new(big.Int).SetUint64(m)
	n := new(big.Int).Add(new(big.Int).SetUint64(age), new(big.Int).SetUint64(scale))
	s := new(big.Int).SetUint64(scale)
	if numerator, denominator, ok := rationalPower(s, n, exponent); ok {
		return nearest(numerator.Mul(numerator, mantissa), denominator, e-64)
	}
	f, fe := decompose(exponent)
	factor := new(big.Int).SetUint64(f)
	return narrow(func(p uint) (*big.Int, int) {
		// exponent < 2^4 multiplies the error of the logarithms: 64 more bits.
		x := bigLog2(n, s, p+64)
		x.Rsh(x.Mul(x, factor), uint(64+64-fe))
		whole := new(big.Int).Rsh(x, p)
		x.Sub(x, new(big.Int).Lsh(whole, p))
		y := bigExp2neg(x, p)
		return y.Rsh(y.Mul(y, mantissa), 64), e - int(whole.Int64())
	})
}

// narrow rounds a positive irrational number. approximate returns y and e such
// that the number lies within (y ± 2^slack)·2^(e-p).
func narrow(approximate func(p uint) (y *big.Int, e int)) float64 {
	margin := new(big.Int).Lsh(big.NewInt(1), slack)
	one := big.NewInt(1)
	for p := uint(firstPrecision); ; p *= 2 {
		y, e := approximate(p)
		low := nearest(new(big.Int).Sub(y, margin), one, e-int(p))
		high := nearest(new(big.Int).Add(y, margin), one, e-int(p))
		if math.Float64bits(low) == math.Float64bits(high) {
			return low
		}
	}
}

// rationalPower returns (s/n)^exponent as a fraction if it is rational. With
// s/n = a/b in lowest terms and exponent = f/2^k, f odd or k zero, it is
// rational if and only if a and b are both 2^k-th powers.
func rationalPower(s, n *big.Int, exponent float64) (numerator, denominator *big.Int, ok bool) {
	divisor := new(big.Int).GCD(nil, nil, s, n)
	a, b := new(big.Int).Div(s, divisor), new(big.Int).Div(n, divisor)
	one := big.NewInt(1)
	if b.Cmp(one) == 0 {
		return one, b, true
	}
	m, e := decompose(exponent)
	zeros := bits.TrailingZeros64(m)
	f, k := m>>uint(zeros), 64-e-zeros
	for ; k > 0; k-- { // at most six times, since b < 2^65
		rootA, rootB := new(big.Int).Sqrt(a), new(big.Int).Sqrt(b)
		if !isSquare(a, rootA) || !isSquare(b, rootB) {
			return nil, nil, false
		}
		a, b = rootA, rootB
	}
	power := new(big.Int).Lsh(new(big.Int).SetUint64(f), uint(-k))
	return new(big.Int).Exp(a, power, nil), new(big.Int).Exp(b, power, nil), true
}

func isSquare(x, root *big.Int) bool {
	return new(big.Int).Mul(root, root).Cmp(x) == 0
}

// nearest returns the double nearest to numerator/denominator·2^e, ties to
// even. The numerator is positive or zero, and the value below 2^1024.
func nearest(numerator, denominator *big.Int, e int) float64 {
	if numerator.Sign() <= 0 {
		return 0
	}
	top := numerator.BitLen() - denominator.BitLen() // 2^(top-1) < fraction < 2^(top+1)
	place := max(top+e-53, -1074)
	quotient, rest, divisor := divide(numerator, denominator, place-e)
	if quotient.BitLen() > 53 {
		place++
		quotient, rest, divisor = divide(numerator, denominator, place-e)
	}
	kept := low64(quotient)
	switch rest.Lsh(rest, 1).Cmp(divisor) {
	case 1:
		kept++
	case 0:
		kept += kept & 1
	}
	return math.Float64frombits(uint64(place+1074)<<52 + kept)
}

// divide returns floor(n / (d·2^shift)), the rest and the divisor used, for a
// shift of either sign.
func divide(n, d *big.Int, shift int) (quotient, rest, divisor *big.Int) {
	if shift > 0 {
		d = new(big.Int).Lsh(d, uint(shift))
	} else {
		n = new(big.Int).Lsh(n, uint(-shift))
	}
	quotient, rest = new(big.Int).QuoRem(n, d, new(big.Int))
	return quotient, rest, d
}

// bigExp2neg returns 2^(-x/2^p)·2^p for x in [0, 2^p), by Taylor's series of
// exp(-x·ln2).
func bigExp2neg(x *big.Int, p uint) *big.Int {
	t := new(big.Int).Mul(x, bigLn2(p))
	t.Rsh(t, p)
	sum := new(big.Int).Lsh(big.NewInt(1), p)
	term := new(big.Int).Set(sum)
	for i := int64(1); ; i++ {
		term.Rsh(term.Mul(term, t), p)
		term.Quo(term, big.NewInt(i))
		if term.Sign() == 0 {
			return sum
		}
		if i%2 == 1 {
			sum.Sub(sum, term)
		} else {
			sum.Add(sum, term)
		}
	}
}

// bigLog2 returns log2(n/s)·2^p for n >= s > 0.
func bigLog2(n, s *big.Int, p uint) *big.Int {
	shift := n.BitLen() - s.BitLen()
	scaled := new(big.Int).Lsh(s, uint(shift)) // m = n/scaled is in (1/2, 2)
	difference, sum := new(big.Int).Sub(n, scaled), new(big.Int).Add(n, scaled)
	y := bigAtanh(new(big.Int).Abs(difference), sum, p) // ln m = 2·atanh((m-1)/(m+1))
	y.Quo(y.Lsh(y, p+1), bigLn2(p))
	if difference.Sign() < 0 {
		y.Neg(y)
	}
	return y.Add(y, new(big.Int).Lsh(big.NewInt(int64(shift)), p))
}

// bigLn2 returns ln2·2^p, which is 2·atanh(1/3).
func bigLn2(p uint) *big.Int {
	y := bigAtanh(big.NewInt(1), big.NewInt(3), p)
	return y.Lsh(y, 1)
}

// bigAtanh returns atanh(a/b)·2^p for 0 <= a/b <= 1/3, by its series.
func bigAtanh(a, b *big.Int, p uint) *big.Int {
	power := new(big.Int).Lsh(a, p)
	power.Quo(power, b)
	square := new(big.Int).Mul(power, power)
	square.Rsh(square, p)
	sum := new(big.Int).Set(power)
	for i := int64(3); power.Sign() != 0; i += 2 {
		power.Rsh(power.Mul(power, square), p)
		sum.Add(sum, new(big.Int).Quo(power, big.NewInt(i)))
	}
	return sum
}
