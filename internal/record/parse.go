package record

import (
	"fmt"
	"unicode/utf8"
)

// Parse reads a line (without its LF) and is the authority on what a record is: verdict and text. It checks, in this
// order: UTF-8, JSON, top level, repeated names, id, time, importance; the first fault wins.
func (s *Scanner) Parse(line []byte, rec *Record) error {
	if at := invalidUTF8(line); at >= 0 {
		return fmt.Errorf("invalid UTF-8 at byte %d", at+1)
	}
	if err := checkSyntax(line); err != nil {
		return err
	}
	object := value(line[skipSpace(line, 0):])
	if object.kind() != anObject {
		return fmt.Errorf("a record must be a JSON object, got %s", object.kind())
	}
	if err := s.checkRepeats(object); err != nil {
		return err
	}
	return s.read(object, rec)
}

// invalidUTF8 returns where the first ill-formed sequence starts, or -1.
func invalidUTF8(line []byte) int {
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRune(line[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// checkRepeats refuses a name that this layout reads and that occurs twice.
func (s *Scanner) checkRepeats(object value) error {
	if err := s.id.checkRepeats(object); err != nil {
		return err
	}
	if err := s.time.checkRepeats(object); err != nil {
		return err
	}
	if s.needImportance {
		return s.importance.checkRepeats(object)
	}
	return nil
}

// read fills the record from an object whose syntax and names are checked.
func (s *Scanner) read(object value, rec *Record) (err error) {
	*rec = Record{}
	if rec.ID, err = s.readID(object); err != nil {
		return err
	}
	rec.IDEscaped = isEscaped(rec.ID)
	if rec.LastAccessedMillis, err = s.readTime(object); err != nil {
		return err
	}
	if s.needImportance {
		rec.Importance, err = s.readImportance(object)
	}
	return err
}

// readID returns the id as it stands between its quotes.
func (s *Scanner) readID(object value) ([]byte, error) {
	v, err := s.id.find(object)
	if err != nil {
		return nil, err
	}
	if v.kind() != aString {
		return nil, fmt.Errorf("%s must be a string, got %s", s.id, v.kind())
	}
	text := v.text()
	if isBlankText(text) {
		return nil, fmt.Errorf("%s must not be blank", s.id)
	}
	if hasSurrogate(text) {
		return nil, fmt.Errorf("%s must not contain a lone surrogate", s.id)
	}
	return v.raw(), nil
}

// readTime returns the time of last access in milliseconds.
func (s *Scanner) readTime(object value) (int64, error) {
	v, err := s.time.find(object)
	if err != nil {
		return 0, err
	}
	millis, err := timeReaders[s.unit](v)
	if err != nil {
		return 0, fmt.Errorf("%s %w", s.time, err)
	}
	return millis, nil
}

// readImportance returns the double nearest to the literal, if that lies in [0, 1]; -0 is returned as 0.
func (s *Scanner) readImportance(object value) (float64, error) {
	v, err := s.importance.find(object)
	if err != nil {
		return 0, err
	}
	if v.kind() != aNumber {
		return 0, fmt.Errorf("%s must be a number, got %s", s.importance, v.kind())
	}
	x := nearestDouble(v.literal())
	if x < 0 || x > 1 {
		return 0, fmt.Errorf("%s must be between 0 and 1, got %s", s.importance, cutLiteral(v.literal()))
	}
	return x + 0, nil // -0 + 0 is 0
}
