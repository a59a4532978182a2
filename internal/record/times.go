package record

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// timeReaders read a time to milliseconds, rounded down. Their errors lack the field's name.
var timeReaders = [...]func(value) (int64, error){
	Millis:  func(v value) (int64, error) { return readInteger(v, 0, "") },
	Seconds: readSeconds,
	Micros:  func(v value) (int64, error) { return readInteger(v, 3, " ms") },
	Nanos:   func(v value) (int64, error) { return readInteger(v, 6, " ms") },
	RFC3339: readRFC3339,
}

// readInteger reads an integer that counts 10^-decimals milliseconds.
func readInteger(v value, decimals int, unit string) (int64, error) {
	if v.kind() != aNumber {
		return 0, fmt.Errorf("must be an integer, got %s", v.kind())
	}
	d := splitDecimal(v.literal())
	if !d.isInteger() {
		return 0, fmt.Errorf("must be an integer, got %s", cutLiteral(v.literal()))
	}
	padded := append(bytes.Repeat([]byte{'0'}, decimals), d.whole...)
	point := len(padded) - decimals
	return floorMillis(v, d.negative, padded[:point], padded[point:], unit)
}

// readSeconds reads a number of seconds: its first three decimals are milliseconds.
func readSeconds(v value) (int64, error) {
	if v.kind() != aNumber {
		return 0, fmt.Errorf("must be a number of seconds, got %s", v.kind())
	}
	d := splitDecimal(v.literal())
	if d.exponent != nil {
		return 0, fmt.Errorf("must be a number of seconds without exponent, got %s", cutLiteral(v.literal()))
	}
	fraction := append(bytes.Clone(d.fraction), "000"...)
	return floorMillis(v, d.negative, append(bytes.Clone(d.whole), fraction[:3]...), fraction[3:], " ms")
}

// floorMillis rounds the number whole.fraction down to an integer, exactly.
func floorMillis(v value, negative bool, whole, fraction []byte, unit string) (int64, error) {
	const limit = 1 << 63 // as a magnitude: the range is [-limit, limit-1]
	n, err := strconv.ParseUint(string(whole), 10, 64)
	if negative && len(bytes.TrimLeft(fraction, "0")) > 0 && n < math.MaxUint64 {
		n++
	}
	switch {
	case err == nil && negative && n <= limit:
		return int64(-n), nil
	case err == nil && !negative && n < limit:
		return int64(n), nil
	}
	return 0, fmt.Errorf("must be between %d and %d%s, got %s", int64(math.MinInt64), int64(math.MaxInt64), unit, cutLiteral(v.literal()))
}

// readRFC3339 reads a string with a time and its offset from UTC.
func readRFC3339(v value) (int64, error) {
	if v.kind() != aString {
		return 0, fmt.Errorf("must be an RFC 3339 time, got %s", v.kind())
	}
	text := v.text()
	millis, verdict := parseRFC3339(text)
	switch verdict {
	case noOffset:
		return 0, fmt.Errorf("has no UTC offset, got %s (write Z or an offset like +02:00)", quoteText(text))
	case badTime:
		return 0, fmt.Errorf("must be an RFC 3339 time like 2026-01-02T03:04:05Z, got %s", quoteText(text))
	}
	return millis, nil
}

type timeVerdict uint8

const (
	goodTime timeVerdict = iota
	badTime
	noOffset // good but for its end
)

// parseRFC3339 reads YYYY-MM-DD (T|t|space) HH:MM:SS [.digits] (Z|z|±HH:MM).
func parseRFC3339(text []byte) (millis int64, verdict timeVerdict) {
	c := clock{rest: text}
	days := c.date()
	c.oneOf("Tt ")
	seconds := days*86400 + c.timeOfDay()
	millis = c.milliseconds()
	if !c.bad && len(c.rest) == 0 {
		return 0, noOffset
	}
	seconds -= c.offset()
	if c.bad || len(c.rest) > 0 {
		return 0, badTime
	}
	return seconds*1000 + millis, goodTime
}

// clock reads the parts of a time from left to right and remembers whether one was bad.
type clock struct {
	rest []byte
	bad  bool
}

// number reads exactly so many digits, a number in [low, high].
func (c *clock) number(digits int, low, high int64) (n int64) {
	if len(c.rest) < digits {
		c.bad = true
		return 0
	}
	for _, b := range c.rest[:digits] {
		if b < '0' || b > '9' {
			c.bad = true
			return 0
		}
		n = n*10 + int64(b-'0')
	}
	c.rest = c.rest[digits:]
	c.bad = c.bad || n < low || n > high
	return n
}

// oneOf reads one of the given bytes.
func (c *clock) oneOf(among string) *clock {
	if len(c.rest) == 0 || bytes.IndexByte([]byte(among), c.rest[0]) < 0 {
		c.bad = true
		return c
	}
	c.rest = c.rest[1:]
	return c
}

// date returns the days from 1970-01-01 to a date of the proleptic Gregorian calendar.
func (c *clock) date() int64 {
	year := c.number(4, 0, 9999)
	month := c.oneOf("-").number(2, 1, 12)
	day := c.oneOf("-").number(2, 1, 31)
	if c.bad || day > daysIn(year, month) {
		c.bad = true
		return 0
	}
	if month <= 2 { // count years from March on: the leap day is then a year's last
		year, month = year-1, month+12
	}
	const epoch = 719468 // days from 0000-03-01 to 1970-01-01
	return 365*year + floorDiv(year, 4) - floorDiv(year, 100) + floorDiv(year, 400) + (153*(month-3)+2)/5 + day - 1 - epoch
}

func daysIn(year, month int64) int64 {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// floorDiv divides rounding down, b > 0; no step overflows. The year before 0000-03-01 is -1.
func floorDiv(a, b int64) int64 {
	if a < 0 {
		return -1 - (-1-a)/b
	}
	return a / b
}

// timeOfDay returns seconds since midnight; a leap second, 60, is the next minute's first.
func (c *clock) timeOfDay() int64 {
	hour := c.number(2, 0, 23)
	minute := c.oneOf(":").number(2, 0, 59)
	return hour*3600 + minute*60 + c.oneOf(":").number(2, 0, 60)
}

// milliseconds reads the decimals of a second, if there are any, rounded down.
func (c *clock) milliseconds() (millis int64) {
	if len(c.rest) == 0 || c.rest[0] != '.' {
		return 0
	}
	c.rest = c.rest[1:]
	digits := len(c.rest) - len(bytes.TrimLeft(c.rest, "0123456789"))
	if digits == 0 {
		c.bad = true
		return 0
	}
	for i := range 3 {
		millis *= 10
		if i < digits {
			millis += int64(c.rest[i] - '0')
		}
	}
	c.rest = c.rest[digits:]
	return millis
}

// offset returns how many seconds the time is ahead of UTC.
func (c *clock) offset() int64 {
	if len(c.rest) > 0 && (c.rest[0] == 'Z' || c.rest[0] == 'z') {
		c.rest = c.rest[1:]
		return 0
	}
	negative := len(c.rest) > 0 && c.rest[0] == '-'
	hours := c.oneOf("+-").number(2, 0, 23)
	seconds := hours*3600 + c.oneOf(":").number(2, 0, 59)*60
	if negative {
		return -seconds
	}
	return seconds
}
