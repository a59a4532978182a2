package record

// Scan reads a line (without its LF) fast. True means that Parse would return nil and the same record; false means
// that it is undecided: ask Parse.
func (s *Scanner) Scan(line []byte, rec *Record) bool {
	return s.Parse(line, rec) == nil
}
