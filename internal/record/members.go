package record

// field is one of the values that a record is read for.
type field uint8

const (
	fieldID field = iota
	fieldTime
	fieldImportance
)

// members is an object on the way to our fields, as Scan looks for them: for plain names there is one, the record.
type members struct {
	parent  *members
	depth   uint   // brackets open inside it, its own counted
	lengths uint64 // bit n: some name has n bytes; bit 63: 63 or more
	list    []member
}

// member is a name that Scan looks for: one of our fields, or an object with some of them.
type member struct {
	name   string
	bit    uint32 // of the names seen
	field  field
	object *members // nil for a field
}

// buildTree arranges the paths for Scan. It leaves the tree empty, so that Scan decides nothing, when two fields share
// a value, one stands inside the other, or there are more names than bits, or longer ones than findEscaped reads.
func (s *Scanner) buildTree() {
	root := &members{depth: 1}
	paths := []path{s.id, s.time}
	if s.needImportance {
		paths = append(paths, s.importance)
	}
	names := 0
	for f, p := range paths {
		at := root
		for level, name := range p {
			last := level == len(p)-1
			m := at.named(name)
			switch {
			case m == nil:
				if names == 32 || 6*len(name) > longestEscaped {
					return
				}
				at.add(member{name: name, bit: 1 << names, field: field(f)})
				names++
				m = &at.list[len(at.list)-1]
				if !last {
					m.object = &members{parent: at, depth: at.depth + 1}
				}
			case last || m.object == nil:
				return
			}
			at = m.object
		}
	}
	s.root, s.allSeen = root, uint32(1<<names-1)
}

func (o *members) add(m member) {
	o.list = append(o.list, m)
	o.lengths |= 1 << min(len(m.name), 63)
}

func (o *members) named(name string) *member {
	for i := range o.list {
		if o.list[i].name == name {
			return &o.list[i]
		}
	}
	return nil
}

// mayHave tells whether any name has this length: most names are told apart by it alone.
func (o *members) mayHave(length int) bool {
	return o.lengths>>min(uint(length), 63)&1 != 0
}

// find returns the member of that name, if we look for it.
func (o *members) find(name []byte) *member {
	for i := range o.list {
		if o.list[i].name == string(name) {
			return &o.list[i]
		}
	}
	return nil
}

// findEscaped is find for a name with escapes in it: at most six bytes for one of ours.
func (o *members) findEscaped(s *Scanner, raw []byte) *member {
	if len(raw) > longestEscaped {
		return nil
	}
	s.scratch = appendUnescaped(s.scratch[:0], raw)
	return o.find(s.scratch)
}
