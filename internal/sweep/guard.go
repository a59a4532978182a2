package sweep

import (
	"fmt"
	"strconv"
	"strings"
)

// PruneLimit bounds how much one sweep may prune: so many records, or so many
// percent of those that were scanned.
type PruneLimit struct {
	Most    int64
	Percent bool
}

// ParsePruneLimit reads a number of records like 1000, or whole percents like 20%.
func ParsePruneLimit(s string) (PruneLimit, bool) {
	digits, percent := strings.CutSuffix(s, "%")
	most, err := strconv.ParseUint(digits, 10, 63)
	ok := err == nil && strings.Trim(digits, "0123456789") == "" && (!percent || most <= 100)
	return PruneLimit{Most: int64(most), Percent: percent}, ok
}

func (l PruneLimit) String() string {
	if l.Percent {
		return fmt.Sprintf("%d%%", l.Most)
	}
	return strconv.FormatInt(l.Most, 10)
}

// verdict returns a *TooMany if the counts exceed the limit; nil sets none.
func (l *PruneLimit) verdict(c Counts) error {
	switch {
	case l == nil:
		return nil
	case !l.Percent && c.Pruned <= l.Most:
		return nil
	case l.Percent && c.Pruned*100 <= l.Most*c.Scanned():
		return nil
	}
	return &TooMany{Limit: *l, Pruned: c.Pruned, Scanned: c.Scanned()}
}

// TooMany says that a sweep would prune more than it may.
type TooMany struct {
	Limit           PruneLimit
	Pruned, Scanned int64
}

func (e *TooMany) Error() string {
	return fmt.Sprintf("%d of %d records would be pruned, more than the limit of %v", e.Pruned, e.Scanned, e.Limit)
}

// suspects are the records whose time looks like seconds where milliseconds
// are due.
type suspects struct {
	count, line, value int64 // how many; the first one's line and time
}

func (s *suspects) add(line, value int64) {
	if s.count == 0 {
		s.line, s.value = line, value
	}
	s.count++
}

// merge adds those of a later block.
func (s *suspects) merge(later suspects) {
	if s.count == 0 {
		s.line, s.value = later.line, later.value
	}
	s.count += later.count
}

// WrongUnits says that times look like seconds. A mutation refuses to act on
// them: every record would seem to be decades old.
type WrongUnits struct {
	Field             string
	Line, Value, Many int64 // the first such record, and how many there are
	Scanned           int64 // how many records there are in all
}

func (e *WrongUnits) Error() string {
	return fmt.Sprintf("line %d: %s %d looks like seconds, not milliseconds (%d such records)", e.Line, e.Field, e.Value, e.Many)
}

// verdict returns a *WrongUnits if there is anything to suspect.
func (s *suspects) verdict(field string, c Counts) error {
	if s.count == 0 {
		return nil
	}
	return &WrongUnits{Field: field, Line: s.line, Value: s.value, Many: s.count, Scanned: c.Scanned()}
}
