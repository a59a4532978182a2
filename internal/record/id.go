package record

// IDScanner reads nothing of a record but its id, so that records with any time and importance will do.
type IDScanner struct{ s Scanner }

// NewIDScanner returns a reader of the id at a name or dotted path; "" means the default name.
func NewIDScanner(idField string) (*IDScanner, error) {
	s, err := NewScanner(Layout{IDField: idField})
	if err != nil {
		return nil, err
	}
	r := &IDScanner{Scanner{id: s.id}}
	r.s.buildTree()
	return r, nil
}

// Scan reads a line without its LF and sets the id of rec. False means that the line has no valid id or is not valid
// at all, by the rules of Parse.
func (r *IDScanner) Scan(line []byte, rec *Record) bool {
	if r.s.Scan(line, rec) {
		return true
	}
	if invalidUTF8(line) >= 0 || checkSyntax(line) != nil {
		return false
	}
	object := value(line[skipSpace(line, 0):])
	if object.kind() != anObject || r.s.id.checkRepeats(object) != nil {
		return false
	}
	id, err := r.s.readID(object)
	*rec = Record{ID: id, IDEscaped: isEscaped(id)}
	return err == nil
}
