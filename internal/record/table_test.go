package record

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"testing"
)

var update = flag.Bool("update", false, "write what Parse says into the table of cases; then review every text")

// Each case of the shared table gives the written records or the written fault, both by Parse alone and by Scan with
// Parse for what it leaves undecided.
func TestTable(t *testing.T) {
	cases, err := loadCases()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		updateCases(t, cases)
	}
	seen := map[string]bool{}
	var all counts
	for _, c := range cases {
		if seen[c.Name] {
			t.Errorf("two cases are named %q", c.Name)
		}
		seen[c.Name] = true
		file, s, limit := c.open(t)
		if got := readFile(s, file, limit, s.Parse); !reflect.DeepEqual(got, c.outcome) {
			t.Errorf("%s: Parse gives\n%s\nwant\n%s", c.Name, show(got), show(c.outcome))
		}
		if got := readFile(s, file, limit, all.scanOrParse(s)); !reflect.DeepEqual(got, c.outcome) {
			t.Errorf("%s: Scan, then Parse gives\n%s\nwant\n%s", c.Name, show(got), show(c.outcome))
		}
	}
	// The table is full of odd cases, yet most of its good records are ones that Scan should decide.
	if all.scanned < all.records*9/10 {
		t.Errorf("of %d records, Scan decides only %d", all.records, all.scanned)
	}
}

// counts tells how many records were read, and how many of them by Scan.
type counts struct{ records, scanned int }

// scanOrParse is how callers read.
func (c *counts) scanOrParse(s *Scanner) func(line []byte, rec *Record) error {
	return func(line []byte, rec *Record) error {
		if s.Scan(line, rec) {
			c.records++
			c.scanned++
			return nil
		}
		err := s.Parse(line, rec)
		if err == nil {
			c.records++
		}
		return err
	}
}

// open returns the bytes, the scanner and the line limit of a case.
func (c *recordCase) open(t *testing.T) ([]byte, *Scanner, int64) {
	t.Helper()
	file, err := c.file()
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	s, limit, err := c.scanner()
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return file, s, limit
}

func updateCases(t *testing.T, cases []recordCase) {
	var table bytes.Buffer
	encoder := json.NewEncoder(&table)
	encoder.SetEscapeHTML(false)
	for i := range cases {
		c := &cases[i]
		file, s, limit := c.open(t)
		c.outcome = readFile(s, file, limit, s.Parse)
		if err := encoder.Encode(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("../conformance/testdata/records.jsonl", table.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func show(o outcome) string {
	text, _ := json.Marshal(o)
	return string(text)
}
