// Package conformance holds the cases that every implementation of recolva has
// to agree on, whatever its language: the folder testdata, which the Go tests
// read through this package and the Python tests read in place.
//
// In models/:
//
//   - golden_scores.jsonl.gz: scores of the unit-free mathematics. Model "E" is
//     2^(-age/half_life), "P" is importance·(1 + age/scale)^(-exponent). Integers
//     are JSON integers up to 2^64-1, doubles are texts in hexadecimal.
//   - limits.jsonl: parameters of a model and whether they are accepted, or which
//     one is rejected with what text. NaN and the infinities are the texts "NaN",
//     "Infinity" and "-Infinity".
//   - fractions.jsonl: the same for the values that belong to no model.
//   - selftest.txt: the digest of package selftest.
//   - ages.jsonl: the age of a record for a time of last access and a present time.
package conformance

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed testdata
var testdata embed.FS

// Files returns the folder testdata.
func Files() fs.FS {
	folder, err := fs.Sub(testdata, "testdata")
	if err != nil {
		panic(err) // the name is constant and valid
	}
	return folder
}

// Read returns the content of a file of the folder, unpacked if its name ends in
// .gz.
func Read(name string) ([]byte, error) {
	content, err := fs.ReadFile(Files(), name)
	if err != nil || !strings.HasSuffix(name, ".gz") {
		return content, err
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return io.ReadAll(unpacked)
}

// Cases decodes a JSONL file of the folder, a T a line. Fields that T does not
// have are an error, so that no part of a case is overlooked.
func Cases[T any](name string) ([]T, error) {
	content, err := Read(name)
	if err != nil {
		return nil, err
	}
	var cases []T
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	for decoder.More() {
		var c T
		if err := decoder.Decode(&c); err != nil {
			return nil, fmt.Errorf("%s: case %d: %w", name, len(cases)+1, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// GoldenCount is the number of cases that Golden returns.
const GoldenCount = 21136

// Score is a case of models/golden_scores.jsonl.gz.
type Score struct {
	Model      string `json:"model"` // "E" or "P"
	Age        uint64 `json:"age"`
	HalfLife   uint64 `json:"half_life"` // E
	Scale      uint64 `json:"scale"`     // P
	Exponent   Double `json:"exponent"`  // P
	Importance Double `json:"importance"`
	Want       Double `json:"score_hex"`
}

// Golden returns the cases of models/golden_scores.jsonl.gz.
func Golden() ([]Score, error) { return Cases[Score]("models/golden_scores.jsonl.gz") }

// Limit is a case of models/limits.jsonl.
type Limit struct {
	Model   string            `json:"model"`
	Params  map[string]Double `json:"params"`
	Accepts bool              `json:"accepts"`
	Rejects *Rejection        `json:"rejects"`
}

// Rejection is the parameter that is to be rejected and the text that follows its
// name.
type Rejection struct {
	Param string `json:"param"`
	Text  string `json:"text"`
}

// Limits returns the cases of models/limits.jsonl.
func Limits() ([]Limit, error) { return Cases[Limit]("models/limits.jsonl") }

// Fraction is a case of models/fractions.jsonl.
type Fraction struct {
	Name    string `json:"name"` // "threshold" or "importance"
	Value   Double `json:"value"`
	Accepts bool   `json:"accepts"`
	Rejects string `json:"rejects"` // the text that follows the name
}

// Fractions returns the cases of models/fractions.jsonl.
func Fractions() ([]Fraction, error) { return Cases[Fraction]("models/fractions.jsonl") }

// Age is a case of models/ages.jsonl.
type Age struct {
	LastAccessed int64  `json:"last_accessed"`
	Now          int64  `json:"now"`
	Age          uint64 `json:"age"`
}

// Ages returns the cases of models/ages.jsonl.
func Ages() ([]Age, error) { return Cases[Age]("models/ages.jsonl") }

// Double is a double that stands in JSON as a number or as a text: decimal,
// hexadecimal ("0x1.8p+0"), "NaN", "Infinity" or "-Infinity".
type Double float64

// UnmarshalJSON reads either form.
func (d *Double) UnmarshalJSON(text []byte) error {
	x, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	*d = Double(x)
	return err
}
