package ffi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/iamfaham/recolva/internal/record"
	"github.com/iamfaham/recolva/pkg/decay"
)

// table is a set of rows with room for capacity records, and the progress.
type table struct {
	lineStart, lineEnd, idStart, idEnd, lastAccessed []int64
	score                                            []float64
	prune                                            []uint8
	records, blanks, consumed, badLine               int64
}

func newTable(capacity int) *table {
	column := func() []int64 { return make([]int64, capacity) }
	return &table{
		lineStart: column(), lineEnd: column(), idStart: column(), idEnd: column(), lastAccessed: column(),
		score: make([]float64, capacity), prune: make([]uint8, capacity),
		records: -1, blanks: -1, consumed: -1, badLine: -1,
	}
}

func (t *table) rows() Rows {
	return Rows{
		int64(len(t.score)), &t.lineStart[0], &t.lineEnd[0], &t.idStart[0], &t.idEnd[0],
		&t.lastAccessed[0], &t.score[0], &t.prune[0],
	}
}

func (t *table) progress() Progress { return Progress{&t.records, &t.blanks, &t.consumed, &t.badLine} }

func blockOf(text string, atEnd bool) Block {
	data := append([]byte(text), 0) // so that an empty block has an address too
	return Block{&data[0], int64(len(text)), atEnd}
}

var scanParameters = []float64{86400000, 1}

func scanPolicy(model int32) Policy {
	kind := decay.Kinds[model]
	return Policy{model, &scanParameters[0], int32(len(kind.Params)), now, 0.3}
}

const (
	lineA = `{"id":"a","last_accessed_ms":1000000,"importance":0.5}` // scores 0.5 and 0.25
	lineB = `{"last_accessed_ms": 87400000, "importance": 1, "id": "b\n"}`
)

// A block's whole lines become rows; blank lines are counted; offsets bound the
// lines with their line ends and the ids without their quotes.
func TestScanBlock(t *testing.T) {
	text := lineA + "\r\n \t\r\n" + lineB + "\n" + lineA
	for _, c := range []struct {
		model  int32
		scores []float64
		prune  string
	}{
		{Exponential, []float64{0.5, 1, 0.5}, "[0 0 0]"},
		{PowerLaw, []float64{0.25, 1, 0.25}, "[1 0 1]"},
	} {
		rows := newTable(10)
		if status := ScanBlock(blockOf(text, true), scanPolicy(c.model), rows.rows(), rows.progress()); status != OK {
			t.Fatalf("status %d", status)
		}
		if rows.records != 3 || rows.blanks != 1 || rows.consumed != int64(len(text)) || rows.badLine != 0 {
			t.Fatalf("got %d records, %d blanks, consumed %d, bad line %d",
				rows.records, rows.blanks, rows.consumed, rows.badLine)
		}
		var lines, ids []string
		for i := range 3 {
			lines = append(lines, text[rows.lineStart[i]:rows.lineEnd[i]])
			ids = append(ids, text[rows.idStart[i]:rows.idEnd[i]])
		}
		if got, want := strings.Join(lines, "|"), lineA+"\r\n|"+lineB+"\n|"+lineA; got != want {
			t.Errorf("got lines %q, want %q", got, want)
		}
		if got, want := strings.Join(ids, "|"), `a|b\n|a`; got != want {
			t.Errorf("got ids %q, want %q", got, want)
		}
		if got, want := fmt.Sprint(rows.score[:3]), fmt.Sprint(c.scores); got != want {
			t.Errorf("got scores %s, want %s", got, want)
		}
		if got := fmt.Sprint(rows.prune[:3]); got != c.prune {
			t.Errorf("got prune %s, want %s", got, c.prune)
		}
		if got := fmt.Sprint(rows.lastAccessed[:3]); got != "[1000000 87400000 1000000]" {
			t.Errorf("got times %s", got)
		}
	}
}

// A scan stops where the rows are full, before a line without newline unless the
// file ends there, and at a bad line, whose number counts blank lines.
func TestScanBlockStops(t *testing.T) {
	long := `{"id":"` + strings.Repeat("x", record.DefaultMaxLineBytes) + `"}` + "\n"
	for name, c := range map[string]struct {
		text                               string
		atEnd                              bool
		capacity                           int
		records, blanks, consumed, badLine int64
	}{
		"empty":                     {"", false, 2, 0, 0, 0, 0},
		"empty at end":              {"", true, 2, 0, 0, 0, 0},
		"full":                      {lineA + "\n" + lineA + "\n" + lineA + "\n", true, 2, 2, 0, 110, 0},
		"blank after full":          {lineA + "\n\n", true, 1, 1, 0, 55, 0},
		"half a line":               {lineA + "\n" + lineA[:9], false, 2, 1, 0, 55, 0},
		"half a line at end":        {lineA + "\n" + lineA[:9], true, 2, 1, 0, 55, 2},
		"whole line, no newline":    {lineA, false, 2, 0, 0, 0, 0},
		"bad first line":            {"{}\n" + lineA + "\n", true, 2, 0, 0, 0, 1},
		"bad line after blank ones": {"\n\n" + lineA + "\n\r\n[]\n", true, 2, 1, 3, 59, 5},
		"only blank lines":          {"\n \n", false, 2, 0, 2, 3, 0},
		"blank end":                 {lineA + "\n  ", true, 2, 1, 1, 57, 0},
		"too long":                  {lineA + "\n" + long, false, 2, 1, 0, 55, 2},
	} {
		rows := newTable(c.capacity)
		status := ScanBlock(blockOf(c.text, c.atEnd), scanPolicy(Exponential), rows.rows(), rows.progress())
		got := [4]int64{rows.records, rows.blanks, rows.consumed, rows.badLine}
		if want := [4]int64{c.records, c.blanks, c.consumed, c.badLine}; status != OK || got != want {
			t.Errorf("%s: status %d, got %v, want %v", name, status, got, want)
		}
	}
}

// The importance is read for the models that need it only.
func TestScanBlockImportance(t *testing.T) {
	text := `{"id":"a","last_accessed_ms":1,"importance":"high"}` + "\n"
	for model, badLine := range map[int32]int64{Exponential: 0, PowerLaw: 1} {
		rows := newTable(1)
		if status := ScanBlock(blockOf(text, false), scanPolicy(model), rows.rows(), rows.progress()); status != OK ||
			rows.badLine != badLine {
			t.Errorf("model %d: status %d, bad line %d, want %d", model, status, rows.badLine, badLine)
		}
	}
}

// Every bad argument has its status, and nothing is written.
func TestScanBlockRejects(t *testing.T) {
	type call struct {
		block    Block
		policy   Policy
		rows     Rows
		progress Progress
	}
	for name, c := range map[string]struct {
		change func(*call)
		want   Status
	}{
		"no data":             {func(c *call) { c.block.Data = nil }, InvalidArgument},
		"negative length":     {func(c *call) { c.block.Length = -1 }, InvalidArgument},
		"negative capacity":   {func(c *call) { c.rows.Capacity = -1 }, InvalidArgument},
		"impossible capacity": {func(c *call) { c.rows.Capacity = 1 << 62 }, InvalidArgument},
		"unknown model":       {func(c *call) { c.policy.Model = 2 }, InvalidArgument},
		"no parameters":       {func(c *call) { c.policy.Parameters = nil }, InvalidArgument},
		"too many parameters": {func(c *call) { c.policy.ParameterCount = 2 }, InvalidArgument},
		"negative parameters": {func(c *call) { c.policy.ParameterCount = -1 }, InvalidArgument},
		"bad threshold":       {func(c *call) { c.policy.Threshold = 1.5 }, InvalidArgument},
		"no line starts":      {func(c *call) { c.rows.LineStart = nil }, NullOutput},
		"no line ends":        {func(c *call) { c.rows.LineEnd = nil }, NullOutput},
		"no id starts":        {func(c *call) { c.rows.IDStart = nil }, NullOutput},
		"no id ends":          {func(c *call) { c.rows.IDEnd = nil }, NullOutput},
		"no times":            {func(c *call) { c.rows.LastAccessed = nil }, NullOutput},
		"no scores":           {func(c *call) { c.rows.Score = nil }, NullOutput},
		"no prune":            {func(c *call) { c.rows.Prune = nil }, NullOutput},
		"no records":          {func(c *call) { c.progress.Records = nil }, NullOutput},
		"no blanks":           {func(c *call) { c.progress.Blanks = nil }, NullOutput},
		"no consumed":         {func(c *call) { c.progress.Consumed = nil }, NullOutput},
		"no bad line":         {func(c *call) { c.progress.BadLine = nil }, NullOutput},
		"no output, bad data": {func(c *call) { c.progress.BadLine, c.block.Data = nil, nil }, NullOutput},
	} {
		rows := newTable(2)
		arguments := call{blockOf(lineA+"\n", false), scanPolicy(Exponential), rows.rows(), rows.progress()}
		c.change(&arguments)
		got := ScanBlock(arguments.block, arguments.policy, arguments.rows, arguments.progress)
		if got != c.want {
			t.Errorf("%s: got status %d, want %d", name, got, c.want)
		}
		if rows.records != -1 || rows.blanks != -1 || rows.consumed != -1 || rows.badLine != -1 || rows.lineEnd[0] != 0 {
			t.Errorf("%s: something was written", name)
		}
	}
}

// Rows without room take no arrays and nothing from the block.
func TestScanBlockWithoutRoom(t *testing.T) {
	progress := newTable(1)
	status := ScanBlock(blockOf(lineA+"\n", true), scanPolicy(Exponential), Rows{}, progress.progress())
	if status != OK || progress.records != 0 || progress.consumed != 0 || progress.badLine != 0 {
		t.Errorf("status %d, %d records, consumed %d", status, progress.records, progress.consumed)
	}
}
