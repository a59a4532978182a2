package sweep

import "fmt"

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
}

func (e *WrongUnits) Error() string {
	return fmt.Sprintf("line %d: %s %d looks like seconds, not milliseconds (%d such records)", e.Line, e.Field, e.Value, e.Many)
}

// verdict returns a *WrongUnits if there is anything to suspect.
func (s *suspects) verdict(field string) error {
	if s.count == 0 {
		return nil
	}
	return &WrongUnits{Field: field, Line: s.line, Value: s.value, Many: s.count}
}
