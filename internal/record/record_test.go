package record

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// A time is suspect from the first second of 2001 until the last of 2099, read as seconds, and only in a run whose
// own time lies after 2001.
func TestLooksLikeSeconds(t *testing.T) {
	const now = 1790000000000
	for _, c := range []struct {
		lastAccessed, now int64
		want              bool
	}{
		{978307199, now, false},
		{978307200, now, true},
		{1790000000, now, true},
		{4102444799, now, true},
		{4102444800, now, false},
		{1790000000000, now, false},
		{0, now, false},
		{-1790000000, now, false},
		{math.MinInt64, now, false},
		{math.MaxInt64, now, false},
		{1790000000, 978307199999, false},
		{1790000000, 978307200000, true},
		{1790000000, math.MaxInt64, true},
		{1790000000, math.MinInt64, false},
	} {
		if got := LooksLikeSeconds(c.lastAccessed, c.now); got != c.want {
			t.Errorf("LooksLikeSeconds(%d, %d) is %v", c.lastAccessed, c.now, got)
		}
	}
}

// Every unit is found by the name that it prints, and no other name is one.
func TestTimeUnitNames(t *testing.T) {
	for unit, name := range []string{"ms", "s", "us", "ns", "rfc3339"} {
		got, ok := ParseTimeUnit(name)
		if !ok || got != TimeUnit(unit) || got.String() != name {
			t.Errorf("ParseTimeUnit(%q) is %v, %v", name, got, ok)
		}
	}
	for _, name := range []string{"", "MS", "m", "seconds", "RFC3339"} {
		if unit, ok := ParseTimeUnit(name); ok {
			t.Errorf("ParseTimeUnit(%q) is %v", name, unit)
		}
	}
}

// A layout is refused, with the field at fault, when a path has an empty part or is no UTF-8.
func TestNewScannerRefusesBadPaths(t *testing.T) {
	for _, c := range []struct {
		layout Layout
		want   string
	}{
		{Layout{IDField: "."}, `id field must be a name or a dotted path without empty parts, got "."`},
		{Layout{TimeField: "a..b"}, `time field must be a name or a dotted path without empty parts, got "a..b"`},
		{Layout{TimeField: ".a"}, `time field must be a name or a dotted path without empty parts, got ".a"`},
		{Layout{ImportanceField: "a."}, `importance field must be a name or a dotted path without empty parts, got "a."`},
		{Layout{IDField: "a\xff"}, `id field must be a name or a dotted path without empty parts, got "a\ufffd"`},
	} {
		if _, err := NewScanner(c.layout); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %s", c.layout, err, c.want)
		}
	}
}

// Only JSON's four characters of white space make a line blank.
func TestIsBlank(t *testing.T) {
	for line, want := range map[string]bool{
		"": true, " ": true, " \t\r\n": true, "\r": true,
		"x": false, " {": false, "\f": false, "\v": false, "\x00": false, "\u00a0": false, "\u2028": false, string(BOM): false,
	} {
		if got := IsBlank([]byte(line)); got != want {
			t.Errorf("IsBlank(%q) is %v", line, got)
		}
	}
}

// The line end does not count against the limit of length; a CR that no LF follows does.
func TestContentLength(t *testing.T) {
	for line, want := range map[string]int{"": 0, "\n": 0, "\r\n": 0, "ab": 2, "ab\n": 2, "ab\r\n": 2, "ab\r": 3, "a\r\r\n": 2} {
		if got := ContentLength([]byte(line)); got != want {
			t.Errorf("ContentLength(%q) is %d", line, got)
		}
	}
}

// An id is given back as text, its escapes resolved, after whatever the buffer holds.
func TestAppendID(t *testing.T) {
	s, err := NewScanner(Layout{})
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]string{
		`x`: "x", `日本`: "日本", `a\"b\\\/`: `a"b\/`, `\b\f\n\r\t.`: "\b\f\n\r\t.", `\u00E9\ud83D\uDe00`: "é😀",
	} {
		var rec Record
		if err := s.Parse(fmt.Appendf(nil, `{"id":"%s","last_accessed_ms":1}`, raw), &rec); err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if got := UnquoteID(&rec); got != want {
			t.Errorf("%s: UnquoteID gives %q", raw, got)
		}
		if got := string(AppendID([]byte("before "), &rec)); got != "before "+want {
			t.Errorf("%s: AppendID gives %q", raw, got)
		}
	}
}

// A layout of more names than Scan can mark, or longer ones than it unescapes, still works: by Parse.
func TestUnusualLayouts(t *testing.T) {
	deep := strings.Repeat("a.", 20)
	long := strings.Repeat("n", longestEscaped)
	for _, c := range []struct {
		layout Layout
		line   string
	}{
		{Layout{IDField: deep + "id", TimeField: "t." + deep + "at"},
			strings.Repeat(`{"a":`, 20) + `{"id":"x"}` + strings.Repeat("}", 19) + `,"t":` +
				strings.Repeat(`{"a":`, 20) + `{"at":5}` + strings.Repeat("}", 21)},
		{Layout{IDField: long}, `{"` + long + `":"x","last_accessed_ms":5}`},
		{Layout{}, `{"` + strings.Repeat(`\u006e`, longestEscaped) + `":1,"id":"x","last_accessed_ms":5}`},
	} {
		s, err := NewScanner(c.layout)
		if err != nil {
			t.Fatal(err)
		}
		var rec Record
		if err := s.Parse([]byte(c.line), &rec); err != nil || string(rec.ID) != "x" || rec.LastAccessedMillis != 5 {
			t.Errorf("%.60s: %+v, %v", c.line, rec, err)
		}
		compare(t, s, []byte(c.line))
	}
}
