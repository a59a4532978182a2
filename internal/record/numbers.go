package record

import (
	"bytes"
	"math"
	"strconv"
)

// decimal is a JSON number taken apart: (-) whole . fraction e exponent.
type decimal struct {
	negative        bool
	whole, fraction []byte // digits; whole has at least one
	exponent        []byte // sign and digits; nil when there is none
	hasPoint        bool
}

func splitDecimal(literal []byte) (d decimal) {
	literal, d.negative = bytes.CutPrefix(literal, []byte{'-'})
	if e := bytes.IndexAny(literal, "eE"); e >= 0 {
		literal, d.exponent = literal[:e], literal[e+1:]
	}
	d.whole, d.fraction, d.hasPoint = bytes.Cut(literal, []byte{'.'})
	return d
}

// isInteger tells whether a number is written without fraction and exponent.
func (d decimal) isInteger() bool { return !d.hasPoint && d.exponent == nil }

// nearestDouble returns the double nearest to a number, ties to even; infinite beyond the largest double.
//
// strconv.ParseFloat stops reading an exponent that has many digits, which is wrong when as many zeros outweigh it.
// So the number is first brought to the form 0.DIGITSe±N, in which N alone tells whether it can matter.
func nearestDouble(literal []byte) float64 {
	d := splitDecimal(literal)
	digits := append(bytes.Clone(d.whole), d.fraction...)
	significant := bytes.TrimLeft(digits, "0")
	n := len(d.whole) - (len(digits) - len(significant)) + clampedInt(d.exponent)
	sign := 1.0
	if d.negative {
		sign = -1
	}
	switch {
	case len(significant) == 0 || n < -400: // the least double above 0 is 5e-324
		return math.Copysign(0, sign)
	case n > 400: // the largest is 1.8e308
		return math.Inf(int(sign))
	}
	// The only possible error is that the number is out of range, and then the result is infinite as wanted.
	x, _ := strconv.ParseFloat("0."+string(significant)+"e"+strconv.Itoa(n), 64)
	return sign * x
}

// clampedInt reads an exponent; one that no line is long enough to outweigh stops growing.
func clampedInt(exponent []byte) int {
	digits := bytes.TrimLeft(exponent, "+-0")
	const enough = 18
	if len(digits) > enough {
		digits = bytes.Repeat([]byte{'9'}, enough)
	}
	n, _ := strconv.Atoi(string(digits))
	if len(exponent) > 0 && exponent[0] == '-' {
		return -n
	}
	return n
}
