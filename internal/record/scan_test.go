package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// layouts are those that the comparisons of Scan with Parse use: every unit, plain and dotted names.
var layouts = []Layout{
	{NeedImportance: true},
	{},
	{Unit: Seconds, NeedImportance: true},
	{Unit: Micros},
	{Unit: Nanos},
	{Unit: RFC3339, NeedImportance: true},
	{IDField: "meta.id", TimeField: "meta.seen", ImportanceField: "meta.a.w", NeedImportance: true},
	{IDField: "id", TimeField: "meta.seen", ImportanceField: "é", Unit: Seconds, NeedImportance: true},
	{IDField: "id", TimeField: "id"},
	{IDField: "id", TimeField: "id.last"},
}

func newScanners(t testing.TB) (all []*Scanner) {
	t.Helper()
	for _, l := range layouts {
		s, err := NewScanner(l)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// compare checks one line: Scan decides nothing that Parse decides otherwise, what Parse takes is JSON also to the
// standard library, and what the standard library does not take is no JSON to Parse.
func compare(t *testing.T, s *Scanner, line []byte) (accepted, scanned bool) {
	t.Helper()
	var fast, slow Record
	before := bytes.Clone(line)
	scanned = s.Scan(line, &fast)
	err := s.Parse(line, &slow)
	if scanned && err != nil {
		t.Errorf("Scan takes %q, Parse says: %v", line, err)
	}
	if scanned && err == nil && !equal(&fast, &slow) {
		t.Errorf("%q: Scan reads %+v, Parse %+v", line, fast, slow)
	}
	if err == nil && !json.Valid(line) {
		t.Errorf("Parse takes %q, encoding/json does not", line)
	}
	checkVerdictOnSyntax(t, line)
	if !bytes.Equal(before, line) {
		t.Errorf("%q was changed to %q", before, line)
	}
	return err == nil, scanned
}

// checkVerdictOnSyntax holds checkSyntax against encoding/json, which allows deeper nesting and invalid UTF-8.
func checkVerdictOnSyntax(t *testing.T, line []byte) {
	t.Helper()
	if !utf8.Valid(line) {
		return
	}
	err := checkSyntax(line)
	if err != nil && strings.HasPrefix(err.Error(), "nesting") {
		return
	}
	if json.Valid(line) != (err == nil) {
		t.Errorf("%q: encoding/json says %v, checkSyntax %v", line, json.Valid(line), err)
	}
}

// equal compares bit for bit and where the id lies.
func equal(a, b *Record) bool {
	return math.Float64bits(a.Importance) == math.Float64bits(b.Importance) && reflect.DeepEqual(a, b) &&
		len(a.ID) > 0 && &a.ID[0] == &b.ID[0]
}

// seedLines are all lines of the table that are not huge.
func seedLines(t testing.TB) (lines [][]byte) {
	t.Helper()
	cases, err := loadCases()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range cases {
		if len(c.Generate) > 0 {
			continue
		}
		file, err := c.file()
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.SplitSeq(file, []byte{'\n'}) {
			if !seen[string(line)] {
				seen[string(line)] = true
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// Every line of the table, under every layout, is judged alike by Scan and Parse.
func TestScanAgreesOnTable(t *testing.T) {
	scanners := newScanners(t)
	for _, line := range seedLines(t) {
		for _, s := range scanners {
			compare(t, s, line)
		}
	}
}

// A few hundred thousand lines with random small damage are judged alike by Scan and Parse.
func TestScanAgreesOnMutations(t *testing.T) {
	const rounds = 300_000
	rng := rand.New(rand.NewSource(1))
	scanners := newScanners(t)
	seeds := append(seedLines(t), realisticLines(50)...)
	seeds = append(seeds, minimalLines(10)...)
	accepted, scanned := 0, 0
	for range rounds {
		line := mutate(rng, seeds)
		a, s := compare(t, scanners[rng.Intn(len(scanners))], line)
		if a {
			accepted++
		}
		if s {
			scanned++
		}
		if t.Failed() {
			return
		}
	}
	// Both verdicts must be well represented, or the comparison shows little.
	if accepted < rounds/50 || scanned < accepted/2 || accepted > rounds/2 {
		t.Errorf("of %d lines, Parse took %d and Scan %d", rounds, accepted, scanned)
	}
}

// fragments are what mutations insert: all that has a meaning somewhere in a record.
var fragments = []string{
	`"id":"x",`, `"last_accessed_ms":1,`, `"importance":0.25,`, `"meta":{"id":"y","seen":2,"a":{"w":1}},`, `"seen":1.0625,`, `"é":1,`,
	`"\u0069d":"x",`, `\ud800`, `\udc00`, `\ud83d\ude00`, `\u00e9`, `\n`, `\\`, `\"`, `\`, `"`, `{`, `}`, `[`, `]`, `:`, `,`, ` `, "\t", "\r",
	"\x00", "\x1f", "\x7f", "\x80", "\xc3\xa9", "\xe2\x80\xa8", "\xed\xa0\x80", "\xf0\x9f\x98\x80", "\xf4\x90\x80\x80", "\xc0\x80", "\u3000",
	`0`, `1`, `9`, `-`, `+`, `.`, `e`, `E`, `e5`, `.5`, `-0`, `00`, `0.5`, `1e-3`, `9223372036854775807`, `12345678`, `0.30000000000000004`,
	`true`, `false`, `null`, `{}`, `[]`, `[[[`, `]]]`, `{"a":`, `"2026-01-02T03:04:05.678Z"`, `"2026-01-02 03:04:05+01:00"`, `,"z":[1,{"b":null}]`,
}

// mutate returns a seed with up to four small changes.
func mutate(rng *rand.Rand, seeds [][]byte) []byte {
	line := bytes.Clone(seeds[rng.Intn(len(seeds))])
	for range rng.Intn(5) {
		at := rng.Intn(len(line) + 1)
		end := min(len(line), at+rng.Intn(4))
		switch rng.Intn(6) {
		case 0: // drop a few bytes
			line = append(line[:at:at], line[end:]...)
		case 1: // change one byte
			if at < len(line) {
				line[at] = byte(rng.Intn(256))
			}
		case 2: // put a piece of another seed in
			other := seeds[rng.Intn(len(seeds))]
			from := rng.Intn(len(other) + 1)
			to := min(len(other), from+rng.Intn(40))
			line = bytes.Join([][]byte{line[:at], other[from:to], line[at:]}, nil)
		case 3: // cut the end off
			if rng.Intn(4) == 0 {
				line = line[:at]
			}
		default:
			fragment := fragments[rng.Intn(len(fragments))]
			line = bytes.Join([][]byte{line[:at], []byte(fragment), line[end:]}, nil)
		}
	}
	return line
}

// Numbers are read alike by Scan and Parse, whatever their length and wherever the line ends after them.
func TestScanAgreesOnNumbers(t *testing.T) {
	rng := rand.New(rand.NewSource(2))
	scanners := newScanners(t)[:5]
	for range 50_000 {
		tail := "}"
		if rng.Intn(2) == 0 {
			tail = `,"p":"some more text"}`
		}
		line := fmt.Sprintf(`{"id":"x","last_accessed_ms":%s,"importance":%s%s`, randomNumber(rng), randomNumber(rng), tail)
		for _, s := range scanners {
			compare(t, s, []byte(line))
		}
		if t.Failed() {
			return
		}
	}
}

// randomNumber returns a number, mostly valid, mostly in range.
func randomNumber(rng *rand.Rand) string {
	digits := func(n int) (d []byte) {
		for range n {
			d = append(d, byte('0'+rng.Intn(10)))
		}
		return d
	}
	sign := []string{"", "", "", "-"}[rng.Intn(4)]
	switch rng.Intn(5) {
	case 0:
		return sign + string(digits(rng.Intn(25)))
	case 1:
		return sign + "0." + string(digits(rng.Intn(20)))
	case 2:
		return sign + string(digits(1+rng.Intn(12))) + "." + string(digits(1+rng.Intn(8)))
	case 3:
		return fmt.Sprintf("%s%d.%se%d", sign, rng.Intn(10), digits(rng.Intn(18)), rng.Intn(40)-30)
	}
	return sign + fmt.Sprint(rng.Float64())
}

// A line of every length around the word size is read alike wherever in memory it ends: Scan looks not past the end.
func TestScanStaysInside(t *testing.T) {
	s := newScanners(t)[0]
	for n := range 40 {
		id := bytes.Repeat([]byte{'x'}, n)
		for _, tail := range []string{"", ",", "}", `,"p":"`, `,"p":1`, `,"p":1}`, `,"p":"y"}`, `,"p":"é"}`, `,"p":"\u00e9"}`, `,"p":[1,"é"]}`} {
			text := fmt.Sprintf(`{"id":"%s","last_accessed_ms":1000,"importance":0.5%s`, id, tail)
			// What follows in memory would complete or spoil the record if it were read.
			memory := append([]byte(text), `"}}}]]000"\xff`...)
			compare(t, s, memory[:len(text)])
			for cut := range text {
				compare(t, s, memory[:cut])
			}
		}
	}
}

// Scan allocates nothing for lines that it decides.
func TestScanAllocatesNothing(t *testing.T) {
	lines := append(realisticLines(200), minimalLines(200)...)
	lines = append(lines, []byte(`{"\u0069d":"\u00e9\ud83d\ude00","last_accessed_ms":-5,"importance":1e-3,"n\u00e9":[[[{}]]]}`))
	s, err := NewScanner(Layout{NeedImportance: true})
	if err != nil {
		t.Fatal(err)
	}
	var rec Record
	allocations := testing.AllocsPerRun(10, func() {
		for _, line := range lines {
			if !s.Scan(line, &rec) {
				t.Fatalf("undecided: %s", line)
			}
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

// Scan itself decides what ordinary stores hold, under every time unit and with dotted names: were they left to
// Parse, all would still be right but slow, and no other test would tell.
func TestScanDecidesOrdinaryLines(t *testing.T) {
	dotted := Layout{IDField: "meta.id", TimeField: "meta.t.at"}
	for _, c := range []struct {
		layout Layout
		line   string
	}{
		{Layout{}, `{"id":"x","last_accessed_ms":1790000000000}`},
		{Layout{}, ` { "last_accessed_ms" : -1 , "id" : "\t x" } ` + "\r"},
		{Layout{}, `{"id":"x","last_accessed_ms":9223372036854775807}`},
		{Layout{}, `{"id":"x","last_accessed_ms":0,"importance":"high"}`},
		{Layout{}, `{"id":"3f2b8c1e-9a4d-4e7b-8f21-0c5d6e7f8a9b","last_accessed_ms":1790000000000,"text":"日本語 — naïve \"quoted\" C:\\dir\n\u00e9\ud83d\ude00"}`},
		{Layout{}, `{"id":"x","last_accessed_ms":1,"embedding":[0.0123,-0.5e-3,1,-1,0,1.5E+3],"parent":null,"pinned":false,"live":true,"empty":{},"none":[]}`},
		{Layout{NeedImportance: true}, `{"id":"é","last_accessed_ms":0,"importance":1.0,"p":[[],{},"\ud800",-1.5e+3,true,false,null]}`},
		{Layout{NeedImportance: true}, `{"id":"x","last_accessed_ms":0,"importance":0}`},
		{Layout{NeedImportance: true}, `{"id":"x","last_accessed_ms":0,"importance":1}`},
		{Layout{NeedImportance: true}, `{"id":"x","last_accessed_ms":0,"importance":0.8}`},
		{Layout{NeedImportance: true}, `{"importance":1e-7,"id":"x","last_accessed_ms":0}`},
		{Layout{NeedImportance: true}, `{"id":"x","last_accessed_ms":0,"importance":0.12345678901234567}`},
		{Layout{Unit: Seconds}, `{"id":"x","last_accessed_ms":1790000000}`},
		{Layout{Unit: Seconds}, `{"id":"x","last_accessed_ms":1790000000.123456}`},
		{Layout{Unit: Micros}, `{"id":"x","last_accessed_ms":1790000000123456}`},
		{Layout{Unit: Nanos}, `{"id":"x","last_accessed_ms":1790000000123456789}`},
		{Layout{Unit: Nanos}, `{"id":"x","last_accessed_ms":-1}`},
		{Layout{Unit: RFC3339}, `{"id":"x","last_accessed_ms":"2026-01-02T03:04:05Z"}`},
		{Layout{Unit: RFC3339}, `{"id":"x","last_accessed_ms":"2026-01-02T03:04:05.678+02:00"}`},
		{dotted, `{"a":1,"meta":{"b":{"id":1},"t":{"at":5,"c":[]},"id":"x"},"id":2}`},
	} {
		s, err := NewScanner(c.layout)
		if err != nil {
			t.Fatal(err)
		}
		if accepted, scanned := compare(t, s, []byte(c.line)); !accepted || !scanned {
			t.Errorf("%s: Parse takes it: %v, Scan decides it: %v", c.line, accepted, scanned)
		}
	}
}

// FuzzScan looks for a line and a layout on which Scan or encoding/json contradict Parse.
func FuzzScan(f *testing.F) {
	scanners := newScanners(f)
	for i, line := range seedLines(f) {
		f.Add(line, byte(i))
	}
	f.Fuzz(func(t *testing.T, line []byte, layout byte) {
		compare(t, scanners[int(layout)%len(scanners)], line)
	})
}
