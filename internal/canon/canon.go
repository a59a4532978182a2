// Package canon writes JSON text as RFC 8785 (JSON Canonicalization Scheme)
// spells it, so that every program that writes the same value writes the same
// bytes. It appends to a caller's slice and never allocates on its own.
//
// It covers scalars only: callers write braces, names and commas themselves,
// in the order that they document.
package canon

import (
	"math"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string with its quotes. Only what RFC 8785
// section 3.2.2.2 requires is escaped; all other characters stay raw UTF-8.
// Bytes that are not UTF-8 become U+FFFD, because JSON text cannot carry them.
func AppendString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	clean := 0 // start of the run that needs no escape
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			size := runeLen(s[i:])
			if size > 0 {
				i += size
				continue
			}
			dst = append(dst, s[clean:i]...)
			dst = append(dst, "\uFFFD"...)
			i++
			clean = i
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[clean:i]...)
		dst = appendEscape(dst, c)
		i++
		clean = i
	}
	dst = append(dst, s[clean:]...)
	return append(dst, '"')
}

// runeLen returns the length of the well-formed UTF-8 sequence that s starts
// with, or 0 where there is none.
func runeLen[T string | []byte](s T) int {
	var first [utf8.UTFMax]byte
	n := copy(first[:], s)
	r, size := utf8.DecodeRune(first[:n])
	if r == utf8.RuneError && size <= 1 {
		return 0
	}
	return size
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\t':
		return append(dst, `\t`...)
	case '\n':
		return append(dst, `\n`...)
	case '\f':
		return append(dst, `\f`...)
	case '\r':
		return append(dst, `\r`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}

// AppendInt appends n in decimal. Integers beyond 2^53 keep all their digits.
func AppendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

// AppendFloat appends the finite x as ECMAScript's Number::toString prints it:
// the fewest digits that read back as x, without exponent for magnitudes from
// 1e-6 to below 1e21, and zero of either sign as 0. JSON has no NaN and no
// infinities; they are appended as null.
func AppendFloat(dst []byte, x float64) []byte {
	magnitude := math.Abs(x)
	switch {
	case x == 0:
		return append(dst, '0')
	case magnitude >= 1e-6 && magnitude < 1e21:
		return strconv.AppendFloat(dst, x, 'f', -1, 64)
	case math.IsNaN(x) || math.IsInf(x, 0):
		return append(dst, "null"...)
	}
	dst = strconv.AppendFloat(dst, x, 'e', -1, 64)
	// strconv pads the exponent to two digits (1e-07); ECMAScript does not.
	if n := len(dst); dst[n-4] == 'e' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}
