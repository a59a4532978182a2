package record

// This file finds the ends of strings and numbers for Scan. A 64-bit word is treated as eight lanes, one for each of
// eight bytes of the line, the first in the lowest bits.

import (
	"encoding/binary"
	"math/bits"
)

// The lanes of a word: eight times the same byte.
const (
	lanes     = 0x0101010101010101
	highBits  = 0x80 * lanes
	quotes    = '"' * lanes
	spaces    = ' ' * lanes
	zeros     = '0' * lanes
	belowHigh = (0x80 - 10) * lanes
)

// stringEnd checks the string whose content starts at i and returns the index of its closing quote.
func stringEnd(line []byte, i int) (end int, escaped bool) {
	for {
		// Skip plain characters. In each lane the high bit is set by a quote (now 0, it borrows), a backslash (now
		// 0x7E), a control character (it borrows), a byte beyond ASCII, and by ']' (now 0x7F), which does no harm.
		// Only such lanes borrow or carry, which disturbs higher lanes alone: the first lane found is right.
		for i >= 0 && i <= len(line)-8 { // both bounds written out spare the check of line[i:]
			w := binary.LittleEndian.Uint64(line[i:])
			x := w ^ quotes
			special := ((x - lanes) | (x + 2*lanes) | (w - spaces)) & highBits
			if special == 0 {
				i += 8
				continue
			}
			lane := bits.TrailingZeros64(special) &^ 7
			i += lane / 8
			if byte(w>>(lane&63)) == '"' { // most often
				return i, escaped
			}
			break
		}
		switch c := byteAt(line, i); {
		case c == '"':
			return i, escaped
		case c == '\\':
			escaped = true
			if c = byteAt(line, i+1); shortEscapes[c] != 0 {
				i += 2
			} else if i = unicodeEscapeEnd(line, i); i < 0 {
				return -1, false
			}
		case c < ' ': // or the end of the line
			return -1, false
		case c < 0x80:
			i++
		default:
			if i = nonASCIIEnd(line, i); i < 0 {
				return -1, false
			}
		}
	}
}

// unicodeEscapeEnd checks that a \u escape starts at i.
func unicodeEscapeEnd(line []byte, i int) int {
	if i+6 > len(line) || line[i+1] != 'u' {
		return -1
	}
	if d := line[i+2 : i+6]; isHex[d[0]]&isHex[d[1]]&isHex[d[2]]&isHex[d[3]] == 0 {
		return -1
	}
	return i + 6
}

// isHex is 1 for hexadecimal digits.
var isHex = func() (table [256]byte) {
	for c := range table {
		if _, ok := hexDigit(byte(c)); ok {
			table[c] = 1
		}
	}
	return table
}()

// nonASCIIEnd checks the run of characters beyond ASCII that starts at i.
func nonASCIIEnd(line []byte, i int) int {
	for {
		c := byteAt(line, i)
		if c < 0x80 {
			return i
		}
		second := byteAt(line, i+1)
		switch {
		case 0xC2 <= c && c <= 0xDF:
			if !isContinuation(second) {
				return -1
			}
			i += 2
		case 0xE0 <= c && c <= 0xEF:
			if !isContinuation(second) || !isContinuation(byteAt(line, i+2)) ||
				c == 0xE0 && second < 0xA0 || c == 0xED && second > 0x9F { // overlong; a surrogate
				return -1
			}
			i += 3
		case 0xF0 <= c && c <= 0xF4:
			if !isContinuation(second) || !isContinuation(byteAt(line, i+2)) || !isContinuation(byteAt(line, i+3)) ||
				c == 0xF0 && second < 0x90 || c == 0xF4 && second > 0x8F { // overlong; beyond U+10FFFF
				return -1
			}
			i += 4
		default:
			return -1
		}
	}
}

func isContinuation(c byte) bool { return c&0xC0 == 0x80 }

// numberEnd checks the number that starts at i.
func numberEnd(line []byte, i int) int {
	if byteAt(line, i) == '-' {
		i++
	}
	start := i
	if byteAt(line, i) == '0' {
		i++ // a digit may follow, but no value ends before a digit: what comes next in the line is checked anyway
	} else if i = digitsEnd(line, i); i == start {
		return -1
	}
	c := byteAt(line, i)
	if c == '.' {
		point := i
		if i = digitsEnd(line, i+1); i == point+1 {
			return -1
		}
		c = byteAt(line, i)
	}
	if c|0x20 == 'e' {
		i++
		if c = byteAt(line, i); c == '+' || c == '-' {
			i++
		}
		start = i
		if i = digitsEnd(line, i); i == start {
			return -1
		}
	}
	return i
}

// digitsEnd returns the index of the first byte from i on that is no digit.
func digitsEnd(line []byte, i int) int {
	for i >= 0 && i <= len(line)-8 {
		if other := nonDigits(binary.LittleEndian.Uint64(line[i:])); other != 0 {
			return i + bits.TrailingZeros64(other)/8
		}
		i += 8
	}
	for i < len(line) && line[i]-'0' <= 9 {
		i++
	}
	return i
}

// nonDigits sets the high bit of lanes that are no digit; the first one is right, as in stringEnd.
func nonDigits(w uint64) uint64 {
	w ^= zeros // digits become 0 to 9, everything else 10 or more
	return (w + belowHigh | w) & highBits
}

// scanDigits reads digits from i on; of a number above 2^64 only the end is right.
func scanDigits(line []byte, i int) (n uint64, end int) {
	for i >= 0 && i <= len(line)-8 {
		w := binary.LittleEndian.Uint64(line[i:])
		if other := nonDigits(w); other != 0 {
			run := bits.TrailingZeros64(other) / 8 // at most 7; the shifts put zeros in front of so many digits
			return n*powersOfTen[run&7] + eightDigits(w<<8<<uint(56-8*run)), i + run
		}
		n = n*1e8 + eightDigits(w)
		i += 8
	}
	for i < len(line) && line[i]-'0' <= 9 {
		n = n*10 + uint64(line[i]-'0')
		i++
	}
	return n, i
}

var powersOfTen = [8]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7}

// eightDigits returns the number that eight digits make; a zero byte counts as a zero. Neighbours are joined to
// pairs, pairs to fours, fours to eight, by three multiplications.
func eightDigits(w uint64) uint64 {
	w = (w & (0x0F * lanes)) * (10<<8 + 1) >> 8
	w = (w & 0x00FF00FF00FF00FF) * (100<<16 + 1) >> 16
	return (w & 0x0000FFFF0000FFFF) * (10000<<32 + 1) >> 32
}
