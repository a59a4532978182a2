package record

// This file is the fast reader. It reads a line once, from left to right, and does two things at a time: it checks
// that the line is strict JSON in valid UTF-8, and it picks up the fields of the layout on the way. It allocates
// nothing, keeps the open brackets in a bit stack instead of recursing, and looks at eight bytes at a time inside
// strings and digits (tokens.go).
//
// Why no library does this: the fast parsers (fastjson, gjson, jsonparser, sonic, simdjson-go) each let bad input
// pass, such as repeated names, invalid UTF-8, 1.0 for an integer, leading zeros, raw control characters or trailing
// text; encoding/json takes repeated and differently-cased names, and is several times slower. A store must not lose
// a memory over a line that was read wrongly, so strictness is not ours to give up, nor is speed.
//
// One rule makes the code easy to trust: true means that Parse agrees. Everything unusual is answered with false,
// whether it is wrong or only rare (an integer of 20 digits, a fraction of a hundred), and Parse decides it.
// An index of -1 stands for "undecided" throughout.

import (
	"math"
	"strconv"
)

// Scan reads a line (without its LF) fast. True means that Parse would return nil and the same record; false means
// that the line is undecided and Parse must be asked.
func (s *Scanner) Scan(line []byte, rec *Record) bool {
	at := s.root // the object of the layout that we are in
	if at == nil {
		return false
	}
	i := space(line, 0)
	if byteAt(line, i) != '{' {
		return false
	}
	i = space(line, i+1)
	seen := uint32(0)
	rec.Importance = 0
	for {
		// A name, a colon.
		if byteAt(line, i) != '"' {
			return false
		}
		start := i + 1
		end, escaped := stringEnd(line, start)
		if end < 0 {
			return false
		}
		i = space(line, end+1)
		if byteAt(line, i) != ':' {
			return false
		}
		i = space(line, i+1)

		// A value: another's, an object on the way to one of ours, or ours.
		var m *member
		if escaped {
			m = at.findEscaped(s, line[start:end])
		} else if at.mayHave(end - start) {
			m = at.find(line[start:end])
		}
		if m == nil {
			i = valueEnd(line, i, at.depth)
		} else {
			if seen&m.bit != 0 {
				return false // it occurs twice
			}
			seen |= m.bit
			if m.object != nil {
				if byteAt(line, i) != '{' {
					return false
				}
				at = m.object
				i = space(line, i+1)
				continue
			}
			i = s.readField(m.field, line, i, rec)
		}
		if i < 0 {
			return false
		}

		// A comma, or one or more braces.
		i = space(line, i)
		for byteAt(line, i) == '}' {
			i = space(line, i+1)
			if at = at.parent; at == nil {
				return i == len(line) && seen == s.allSeen
			}
		}
		if byteAt(line, i) != ',' {
			return false
		}
		i = space(line, i+1)
	}
}

// readField reads one of our fields into the record and returns where its value ends.
func (s *Scanner) readField(f field, line []byte, i int, rec *Record) (end int) {
	switch f {
	case fieldTime:
		rec.LastAccessedMillis, end = s.scanTime(line, i)
	case fieldImportance:
		rec.Importance, end = scanFraction(line, i)
	default:
		end = s.scanID(line, i, rec)
	}
	return end
}

// longestEscaped bounds what is unescaped into the scratch space; Parse reads what is longer.
const longestEscaped = 4096

func (s *Scanner) scanID(line []byte, i int, rec *Record) int {
	if byteAt(line, i) != '"' {
		return -1
	}
	start := i + 1
	end, escaped := stringEnd(line, start)
	if end < 0 {
		return -1
	}
	rec.ID, rec.IDEscaped = line[start:end], escaped
	if escaped {
		if end-start > longestEscaped {
			return -1
		}
		s.scratch = appendUnescaped(s.scratch[:0], rec.ID)
		if isBlankText(s.scratch) || hasSurrogate(s.scratch) {
			return -1
		}
	} else if c := line[start]; (c <= ' ' || c >= 0x7F) && isBlankText(rec.ID) || start == end {
		return -1
	}
	return end + 1
}

// scanTime returns the time in milliseconds. Negative fractions, which round down away from zero, are left to Parse.
func (s *Scanner) scanTime(line []byte, i int) (millis int64, end int) {
	if s.unit == RFC3339 {
		return scanRFC3339(line, i)
	}
	negative := byteAt(line, i) == '-'
	if negative {
		i++
	}
	n, end := scanDigits(line, i)
	if end == i || end > i+19 || n > math.MaxInt64 || line[i] == '0' && end > i+1 {
		return 0, -1
	}
	millis = int64(n)
	switch s.unit {
	case Seconds:
		if n > 1e12 || negative {
			return 0, -1
		}
		millis *= 1000
		if byteAt(line, end) == '.' {
			point := end
			if end = digitsEnd(line, end+1); end == point+1 {
				return 0, -1
			}
			for k, unit := point+1, int64(100); k < end && unit > 0; k, unit = k+1, unit/10 {
				millis += int64(line[k]-'0') * unit
			}
		}
	case Micros:
		millis = floorDiv(signed(millis, negative), 1e3)
	case Nanos:
		millis = floorDiv(signed(millis, negative), 1e6)
	default:
		millis = signed(millis, negative)
	}
	if c := byteAt(line, end); c == '.' || c|0x20 == 'e' {
		return 0, -1
	}
	return millis, end
}

func signed(n int64, negative bool) int64 {
	if negative {
		return -n
	}
	return n
}

func scanRFC3339(line []byte, i int) (millis int64, end int) {
	if byteAt(line, i) != '"' {
		return 0, -1
	}
	end, escaped := stringEnd(line, i+1)
	if end < 0 || escaped {
		return 0, -1
	}
	millis, verdict := parseRFC3339(line[i+1 : end])
	if verdict != goodTime {
		return 0, -1
	}
	return millis, end + 1
}

// scanFraction reads a number in [0, 1].
func scanFraction(line []byte, i int) (x float64, end int) {
	if byteAt(line, i) == '0' && byteAt(line, i+1) == '.' {
		var n uint64
		n, end = scanDigits(line, i+2)
		decimals := end - (i + 2)
		// Below 2^53 and up to 10^22, integers and powers of ten are exact doubles: their quotient is the nearest.
		if 1 <= decimals && decimals < len(tenTo) && byteAt(line, end)|0x20 != 'e' {
			return float64(int64(n)) / tenTo[decimals], end
		}
	}
	end = numberEnd(line, i)
	if end < 0 || line[i] == '-' || end-i > 32 { // a longer string would be allocated
		return 0, -1
	}
	x, err := strconv.ParseFloat(string(line[i:end]), 64)
	if err != nil || x > 1 {
		return 0, -1
	}
	return x, end
}

// tenTo has the powers of ten for as many decimals as surely make an integer below 2^53.
var tenTo = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// valueEnd checks the value that starts at i, inside so many open brackets, and returns where it ends.
func valueEnd(line []byte, i int, depth uint) int {
	switch c := byteAt(line, i); {
	case c == '"':
		end, _ := stringEnd(line, i+1)
		if end < 0 {
			return -1
		}
		return end + 1
	case c-'0' <= 9:
		return numberEnd(line, i)
	case c == '{' || c == '[':
		return bracketEnd(line, i, depth)
	}
	return scalarEnd(line, i)
}

// scalarEnd is valueEnd for numbers and literals.
func scalarEnd(line []byte, i int) int {
	rest := line[min(i, len(line)):]
	switch byteAt(line, i) {
	case 't':
		if len(rest) >= 4 && string(rest[:4]) == "true" {
			return i + 4
		}
	case 'f':
		if len(rest) >= 5 && string(rest[:5]) == "false" {
			return i + 5
		}
	case 'n':
		if len(rest) >= 4 && string(rest[:4]) == "null" {
			return i + 4
		}
	default:
		return numberEnd(line, i)
	}
	return -1
}

// bracketEnd is valueEnd for arrays and objects.
func bracketEnd(line []byte, i int, depth uint) int {
	var objects [MaxDepth / 64]uint64 // bit d: what is open at depth d is an object
	outside := depth

value:
	switch byteAt(line, i) {
	case '{':
		if depth == MaxDepth {
			return -1
		}
		objects[depth/64] |= 1 << (depth % 64)
		depth++
		i = space(line, i+1)
		if byteAt(line, i) == '}' {
			goto closed
		}
		goto name
	case '[':
		if depth == MaxDepth {
			return -1
		}
		objects[depth/64] &^= 1 << (depth % 64)
		depth++
		i = space(line, i+1)
		if byteAt(line, i) == ']' {
			goto closed
		}
		goto value
	case '"':
		if i, _ = stringEnd(line, i+1); i < 0 {
			return -1
		}
		i++
	default:
		if i = scalarEnd(line, i); i < 0 {
			return -1
		}
	}

after:
	i = space(line, i)
	switch inObject := objects[(depth-1)/64]>>((depth-1)%64)&1 != 0; byteAt(line, i) {
	case ',':
		i = space(line, i+1)
		if inObject {
			goto name
		}
		goto value
	case '}':
		if !inObject {
			return -1
		}
	case ']':
		if inObject {
			return -1
		}
	default:
		return -1
	}

closed:
	i++
	depth--
	if depth == outside {
		return i
	}
	goto after

name:
	if byteAt(line, i) != '"' {
		return -1
	}
	if i, _ = stringEnd(line, i+1); i < 0 {
		return -1
	}
	i = space(line, i+1)
	if byteAt(line, i) != ':' {
		return -1
	}
	i = space(line, i+1)
	goto value
}

// byteAt returns a byte of the line, 0 beyond its end; a 0 is never valid outside.
func byteAt(line []byte, i int) byte {
	if uint(i) < uint(len(line)) {
		return line[i]
	}
	return 0
}

// space returns the index of the first byte from i on that is no JSON white space: most often i itself.
func space(line []byte, i int) int {
	if byteAt(line, i) > ' ' {
		return i
	}
	return skipSpace(line, i)
}
