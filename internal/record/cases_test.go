package record

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// recordCase is one line of records.jsonl; records.md beside it explains the form.
type recordCase struct {
	Name     string       `json:"name"`
	Data     *string      `json:"data,omitempty"`
	Base64   *string      `json:"base64,omitempty"`
	Generate []recipe     `json:"generate,omitempty"`
	Options  *caseOptions `json:"options,omitempty"`
	outcome
}

// recipe is a text repeated; in each repetition its counter, if any, is replaced by 0, 1, 2, …
type recipe struct {
	Text    string `json:"text"`
	Repeat  int    `json:"repeat,omitempty"`
	Counter string `json:"counter,omitempty"`
}

type caseOptions struct {
	Model           string `json:"model,omitempty"`
	IDField         string `json:"id_field,omitempty"`
	TimeField       string `json:"time_field,omitempty"`
	ImportanceField string `json:"importance_field,omitempty"`
	TimeUnit        string `json:"time_unit,omitempty"`
	MaxLineBytes    int64  `json:"max_line_bytes,omitempty"`
}

// outcome is what reading a whole file gives: its records and how many lines are blank, or the first fault.
type outcome struct {
	Records *[]caseRecord `json:"records,omitempty"`
	Blank   int           `json:"blank,omitempty"`
	Error   string        `json:"error,omitempty"`
}

type caseRecord struct {
	Line           int      `json:"line"`
	ID             string   `json:"id,omitempty"`
	IDBytes        int      `json:"id_bytes,omitempty"` // instead of an id that is too long to write down
	LastAccessedMS int64    `json:"last_accessed_ms"`
	Importance     *float64 `json:"importance,omitempty"`
}

// loadCases reads the table that the Python tests read too.
func loadCases() (cases []recordCase, err error) {
	text, err := os.ReadFile("../conformance/testdata/records.jsonl")
	if err != nil {
		return nil, err
	}
	for i, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		var c recordCase
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&c); err != nil {
			return nil, fmt.Errorf("records.jsonl line %d: %w", i+1, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// file returns the bytes of the file that the case is about.
func (c *recordCase) file() ([]byte, error) {
	switch {
	case c.Data != nil:
		return []byte(*c.Data), nil
	case c.Base64 != nil:
		return base64.StdEncoding.DecodeString(*c.Base64)
	}
	var file bytes.Buffer
	for _, r := range c.Generate {
		if r.Counter == "" {
			file.WriteString(strings.Repeat(r.Text, max(r.Repeat, 1)))
			continue
		}
		for i := range max(r.Repeat, 1) {
			file.WriteString(strings.ReplaceAll(r.Text, r.Counter, strconv.Itoa(i)))
		}
	}
	return file.Bytes(), nil
}

// scanner returns a reader for the case's options; power-law is the model when none is named.
func (c *recordCase) scanner() (s *Scanner, maxLineBytes int64, err error) {
	o := caseOptions{}
	if c.Options != nil {
		o = *c.Options
	}
	unit, ok := Millis, true
	if o.TimeUnit != "" {
		unit, ok = ParseTimeUnit(o.TimeUnit)
	}
	if !ok || o.Model != "" && o.Model != "exponential" && o.Model != "power-law" {
		return nil, 0, fmt.Errorf("bad options %+v", o)
	}
	if o.MaxLineBytes == 0 {
		o.MaxLineBytes = DefaultMaxLineBytes
	}
	s, err = NewScanner(Layout{o.IDField, o.TimeField, o.ImportanceField, unit, o.Model != "exponential"})
	return s, o.MaxLineBytes, err
}

// readFile reads a whole file as a sweep does that stops at the first fault.
func readFile(s *Scanner, file []byte, maxLineBytes int64, read func(line []byte, rec *Record) error) (o outcome) {
	o.Records = &[]caseRecord{}
	file = bytes.TrimPrefix(file, BOM)
	for number := 1; len(file) > 0; number++ {
		line, rest, ended := bytes.Cut(file, []byte{'\n'})
		suffix := ""
		if !ended {
			suffix = TornSuffix
		}
		var rec Record
		var err error
		switch {
		case int64(ContentLength(file[:len(file)-len(rest)])) > maxLineBytes:
			err = TooLong(maxLineBytes)
		case IsBlank(line):
			o.Blank++
			file = rest
			continue
		default:
			err = read(line, &rec)
		}
		if err != nil {
			return outcome{Error: fmt.Sprintf("line %d: %v%s", number, err, suffix)}
		}
		*o.Records = append(*o.Records, s.caseRecord(number, &rec))
		file = rest
	}
	return o
}

func (s *Scanner) caseRecord(number int, rec *Record) caseRecord {
	c := caseRecord{Line: number, ID: UnquoteID(rec), LastAccessedMS: rec.LastAccessedMillis}
	if len(c.ID) > 1000 {
		c.ID, c.IDBytes = "", len(c.ID)
	}
	if s.needImportance {
		c.Importance = &rec.Importance
	}
	return c
}
