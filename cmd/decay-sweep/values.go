package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/iamfaham/recolva/internal/canon"
	"github.com/iamfaham/recolva/internal/record"
)

// The values of flags are read strictly: no sign but a minus, no underscores,
// no hexadecimal, no NaN. Errors are worded to follow the flag's name.

// isInteger reports whether s is decimal digits with or without a minus.
func isInteger(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

func parseInt(s string, low, high int64) (int64, error) {
	if !isInteger(s) {
		return 0, fmt.Errorf("must be an integer, got %q", s)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("must be between %d and %d, got %s", low, high, s)
	}
	return n, nil
}

// parseNumber reads a number as JSON spells it. One beyond the range of doubles
// becomes an infinity, which every later check of a range refuses.
func parseNumber(s string) (float64, error) {
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(s), "e")
	whole, fraction, hasFraction := strings.Cut(mantissa, ".")
	ok := isInteger(whole) &&
		(!hasFraction || isInteger(fraction) && fraction[0] != '-') &&
		(!hasExponent || isInteger(strings.TrimPrefix(exponent, "+")))
	if !ok {
		return 0, fmt.Errorf("must be a number like 0.5, got %q", s)
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("must be a number like 0.5, got %q", s)
	}
	return x, nil
}

// durationUnits are the units of durations in milliseconds; m is minutes.
var durationUnits = map[string]int64{
	"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000,
}

// parseDuration reads one integer and one unit to milliseconds.
func parseDuration(s string) (int64, error) {
	unit := strings.TrimLeft(s, "0123456789")
	digits := strings.TrimSuffix(s, unit)
	scale, known := durationUnits[unit]
	if digits == "" || !known {
		return 0, fmt.Errorf("must be one integer and one of ms s m h d w (like 30d), got %q", s)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt64/scale {
		return 0, fmt.Errorf("is too long: %s", s)
	}
	return n * scale, nil
}

// parseTimeout reads a duration to wait, of at most a year.
func parseTimeout(s string) (time.Duration, error) {
	const most = 366 * 86_400_000
	ms, err := parseDuration(s)
	if err == nil && ms > most {
		err = fmt.Errorf("must be at most 366d, got %s", s)
	}
	return time.Duration(ms) * time.Millisecond, err
}

// parseTime reads "system" or an RFC 3339 time, by the rules for records, to
// Unix milliseconds.
func parseTime(s string, clock func() time.Time) (int64, error) {
	if s == "system" {
		return clock().UnixMilli(), nil
	}
	scanner, err := record.NewScanner(record.Layout{TimeField: "now", Unit: record.RFC3339})
	if err != nil {
		return 0, err
	}
	line := append(canon.AppendString([]byte(`{"id":"now","now":`), s), '}')
	var r record.Record
	if err := scanner.Parse(line, &r); err != nil {
		return 0, errors.New(strings.TrimPrefix(err.Error(), "now "))
	}
	return r.LastAccessedMillis, nil
}

// choice reads one of a list of names by parse.
func choice[T any](s string, parse func(string) (T, bool), names string) (T, error) {
	v, ok := parse(s)
	if !ok {
		return v, fmt.Errorf("must be one of %s, got %q", names, s)
	}
	return v, nil
}
