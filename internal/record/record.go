// Package record reads one line of a JSONL store: bytes in, a record or the reason why it is none out.
//
// There are two readers of the same rules. [Scanner.Parse] is the authority: written to be read, it decides every
// verdict and words every fault. [Scanner.Scan] is the fast path: it validates and extracts in one pass without
// allocating, and says "undecided" to whatever is rare or wrong. Callers use them together:
//
//	if !s.Scan(line, &rec) {
//		err = s.Parse(line, &rec)
//	}
//
// A line is strictly RFC 8259 JSON in valid UTF-8, one object, nested at most [MaxDepth] deep, in which every name
// that is read occurs once. Texts of faults carry no line number; the caller, who counts lines, puts it in front.
package record

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may nest, the record's own braces counted.
const MaxDepth = 512

// DefaultMaxLineBytes is how long a line may be, its line end not counted, unless the user chose another limit.
const DefaultMaxLineBytes = 64 << 20

// TimeUnit says how a record writes the time of its last access.
type TimeUnit uint8

// The time units. All are read to whole milliseconds since 1970, rounded down.
const (
	Millis  TimeUnit = iota // an integer of milliseconds
	Seconds                 // a number of seconds, decimals allowed
	Micros                  // an integer of microseconds
	Nanos                   // an integer of nanoseconds
	RFC3339                 // a string like 2026-01-02T03:04:05Z
)

// unitNames are the names that users write, by TimeUnit.
var unitNames = [...]string{Millis: "ms", Seconds: "s", Micros: "us", Nanos: "ns", RFC3339: "rfc3339"}

// ParseTimeUnit returns the unit named ms, s, us, ns or rfc3339.
func ParseTimeUnit(s string) (TimeUnit, bool) {
	for unit, name := range unitNames {
		if s == name {
			return TimeUnit(unit), true
		}
	}
	return 0, false
}

// String returns the name that ParseTimeUnit reads.
func (u TimeUnit) String() string { return unitNames[u] }

// The field names of a Layout that gives none.
const (
	DefaultIDField         = "id"
	DefaultTimeField       = "last_accessed_ms"
	DefaultImportanceField = "importance"
)

// Layout says where a record keeps its fields. A field is a name, or a dotted path like "meta.seen" into nested
// objects; an empty string means the default name.
type Layout struct {
	IDField, TimeField, ImportanceField string
	Unit                                TimeUnit
	NeedImportance                      bool // the model reads the importance; otherwise it is ignored, whatever it is
}

// Record is what a line says. After a failed read its content is unspecified.
type Record struct {
	ID                 []byte  // what stands between the quotes of the id, still escaped; aliases the line
	IDEscaped          bool    // ID contains a backslash; see AppendID
	LastAccessedMillis int64   // milliseconds since 1970
	Importance         float64 // in [0, 1], never -0; 0 when the layout does not need it
}

// AppendID appends the id as UTF-8 text, escapes resolved, to dst.
func AppendID(dst []byte, rec *Record) []byte {
	if !rec.IDEscaped {
		return append(dst, rec.ID...)
	}
	return appendUnescaped(dst, rec.ID)
}

// UnquoteID returns the id as text, escapes resolved.
func UnquoteID(rec *Record) string {
	return string(AppendID(nil, rec))
}

// Scanner reads lines of one layout. It is cheap to make and not safe for concurrent use: each worker has its own.
type Scanner struct {
	id, time, importance path
	unit                 TimeUnit
	needImportance       bool

	// What Scan needs.
	root    *members // the paths as a tree; nil when Scan decides nothing
	allSeen uint32   // the bits of all names in it
	scratch []byte
}

// NewScanner returns a reader of the layout. It fails on a path with an empty part or invalid UTF-8.
func NewScanner(l Layout) (*Scanner, error) {
	s := &Scanner{unit: l.Unit, needImportance: l.NeedImportance}
	for _, f := range []struct {
		what, given, standard string
		path                  *path
	}{
		{"id", l.IDField, DefaultIDField, &s.id},
		{"time", l.TimeField, DefaultTimeField, &s.time},
		{"importance", l.ImportanceField, DefaultImportanceField, &s.importance},
	} {
		if f.given == "" {
			f.given = f.standard
		}
		var ok bool
		if *f.path, ok = parsePath(f.given); !ok {
			return nil, fmt.Errorf("%s field must be a name or a dotted path without empty parts, got %s", f.what, quoteText([]byte(f.given)))
		}
	}
	s.buildTree()
	return s, nil
}

// path leads from the record's object to a value: one name for each level.
type path []string

func parsePath(s string) (path, bool) {
	p := path(strings.Split(s, "."))
	for _, name := range p {
		if name == "" || !utf8.ValidString(name) {
			return nil, false
		}
	}
	return p, true
}

func (p path) String() string { return strings.Join(p, ".") }

// LooksLikeSeconds tells whether a time taken for milliseconds was probably written in seconds: the sweep runs after
// 2001, yet the time is a date of 2001 to 2100 only when read as seconds (as milliseconds it lies in early 1970).
func LooksLikeSeconds(lastAccessedMillis, nowMillis int64) bool {
	const year2001, year2100 = 978307200, 4102444800 // in seconds
	return nowMillis >= year2001*1000 && lastAccessedMillis >= year2001 && lastAccessedMillis < year2100
}
