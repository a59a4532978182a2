package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iamfaham/recolva/internal/transaction"
	"github.com/iamfaham/recolva/pkg/decay"
)

const (
	day     = 86_400_000
	testNow = 1_790_000_000_000
)

func testPolicy() Policy {
	return Policy{Kind: &decay.Kinds[0], Values: []float64{day}, Threshold: 0.5}
}

func testRecord(id string, age int64) string {
	return fmt.Sprintf(`{"id":"%s","last_accessed_ms":%d}`, id, testNow-age)
}

// testStore writes a store and returns a job that archives it with an audit.
func testStore(t *testing.T, content string) Job {
	t.Helper()
	dir := t.TempDir()
	input := filepath.Join(dir, "store.jsonl")
	if err := os.WriteFile(input, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return Job{
		Mode: Archive, Policy: testPolicy(), NowMillis: testNow,
		Files: transaction.Files{Input: input, Archive: filepath.Join(dir, "archive.jsonl"), Audit: filepath.Join(dir, "audit.jsonl")},
	}
}

// state is the content of all files beside the store, by name.
func state(t *testing.T, job Job) string {
	t.Helper()
	dir := filepath.Dir(job.Files.Input)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s: %q\n", e.Name(), content)
	}
	return b.String()
}

// randomStore returns lines of every sort; with faults, some are invalid.
func randomStore(rng *rand.Rand, faults bool) string {
	var b strings.Builder
	if rng.IntN(4) == 0 {
		b.WriteString("\xef\xbb\xbf")
	}
	for i := range rng.IntN(60) {
		switch rng.IntN(8) {
		case 0:
			b.WriteString([]string{"", " ", "\t\r"}[rng.IntN(3)])
		case 1:
			if faults {
				b.WriteString([]string{"{", "null", `{"id":"x"}`, strings.Repeat("z", 400)}[rng.IntN(4)])
				break
			}
			fallthrough
		default:
			b.WriteString(testRecord(strings.Repeat("i", rng.IntN(80))+fmt.Sprint(i), rng.Int64N(2*day)))
		}
		b.WriteString([]string{"\n", "\r\n"}[rng.IntN(2)])
	}
	if rng.IntN(3) == 0 {
		b.WriteString(testRecord("last", rng.Int64N(2*day)))
	}
	return b.String()
}

// Outputs, counts and faults are the same for every number of workers and size of blocks.
func TestSameForAllWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 24 {
		content := randomStore(rng, round%2 == 0)
		var want string
		for i, shape := range []struct{ workers, block int }{{1, 0}, {1, 7}, {3, 1}, {8, 300}} {
			job := testStore(t, content)
			job.Workers, job.BlockBytes, job.MaxLineBytes = shape.workers, shape.block, 300
			if round%4 == 0 {
				job.Policy.OnInvalid = Keep
			}
			var decisions []Decision
			var invalid []string
			job.Visit = func(d Decision) { decisions = append(decisions, d) }
			job.Invalid = func(line *InvalidLine) { invalid = append(invalid, line.Error()) }
			summary, err := Run(context.Background(), job)
			got := fmt.Sprintln(err) + state(t, job)
			if err == nil { // what was seen before a fault depends on the blocks
				got += fmt.Sprint(decisions, invalid, string(summary.AppendJSON(nil)))
			}
			if i == 0 {
				want = got
			} else if got != want {
				t.Fatalf("round %d, %+v:\n%s\nwant\n%s\nstore %q", round, shape, got, want, content)
			}
		}
	}
}

// A fault far from the start is the first one in file order, and changes nothing.
func TestFirstFaultWins(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		b.WriteString(testRecord(fmt.Sprint(i), day+1) + "\n")
		if i >= 3000 {
			b.WriteString("broken\n")
		}
	}
	for _, workers := range []int{1, 2, 8} {
		job := testStore(t, b.String())
		job.Workers, job.BlockBytes = workers, 512
		before := state(t, job)
		_, err := Run(context.Background(), job)
		var line *InvalidLine
		var class *transaction.Error
		if !errors.As(err, &line) || line.Line != 3002 || !errors.As(err, &class) || class.Class != transaction.Failed {
			t.Errorf("%d workers: %v, want line 3002", workers, err)
		}
		if after := state(t, job); after != before {
			t.Errorf("%d workers: files changed", workers)
		}
	}
}

// A cancelled sweep ends with the cause and changes nothing.
func TestCancel(t *testing.T) {
	job := testStore(t, strings.Repeat(testRecord("x", day+1)+"\n", 5000))
	job.Workers, job.BlockBytes = 2, 512
	before := state(t, job)
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("enough")
	job.Progress = func(int64) { cancel(cause) }
	if _, err := Run(ctx, job); !errors.Is(err, cause) {
		t.Errorf("error %v, want %v", err, cause)
	}
	if after := state(t, job); after != before {
		t.Errorf("files changed: %s", after)
	}
}

// Lines that need big blocks take turns, and come out as they went in.
func TestBigLines(t *testing.T) {
	var store, kept, gone strings.Builder
	for i := range 12 {
		line := testRecord(strings.Repeat("x", i%3*bigBytes)+"y", int64(i%2)*2*day) + "\n"
		store.WriteString(line)
		if i%2 == 0 {
			kept.WriteString(line)
		} else {
			gone.WriteString(line)
		}
	}
	for _, workers := range []int{1, 3} {
		job := testStore(t, store.String())
		job.Workers, job.Files.Audit = workers, ""
		if _, err := Run(context.Background(), job); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{job.Files.Input: kept.String(), job.Files.Archive: gone.String()} {
			if got, err := os.ReadFile(path); err != nil || string(got) != want {
				t.Errorf("%d workers: %s holds %d bytes (%v), want %d others", workers, path, len(got), err, len(want))
			}
		}
	}
}

// growing makes the store grow by tail while it is swept.
func growing(t *testing.T, job *Job, tail string) {
	t.Helper()
	grown := false
	job.BlockBytes = 64
	job.Progress = func(int64) {
		if grown {
			return
		}
		grown = true
		f, err := os.OpenFile(job.Files.Input, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		_, err = io.WriteString(f, tail)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Error(err)
		}
	}
}

// A last line that was still being written is neither a fault nor decided.
func TestLastLineStillGrowing(t *testing.T) {
	whole := strings.Repeat(testRecord("x", day+1)+"\n", 20)
	for _, half := range []string{`{"id":"hal`, testRecord("y", day+1)} {
		job := testStore(t, whole+half)
		job.Mode, job.Files.Archive = DryRun, ""
		growing(t, &job, " ")
		summary, err := Run(context.Background(), job)
		if err != nil {
			t.Fatal(err)
		}
		if summary.Scanned() != 20 || summary.Bytes != int64(len(whole)) {
			t.Errorf("%d records in %d bytes, want 20 in %d", summary.Scanned(), summary.Bytes, len(whole))
		}
		audit, err := os.ReadFile(job.Files.Audit)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(audit, newline); n != 21 {
			t.Errorf("%d audit lines, want 20 and the run line", n)
		}
	}
}

// Decisions are seen in source order with their reasons.
func TestVisit(t *testing.T) {
	job := testStore(t, testRecord("a", 0)+"\n\n"+testRecord(`\u0062`, day+1)+"\n"+testRecord("c", day))
	job.Mode, job.Files = DryRun, transaction.Files{Input: job.Files.Input}
	var seen []Decision
	job.Visit = func(d Decision) { seen = append(seen, d) }
	if _, err := Run(context.Background(), job); err != nil {
		t.Fatal(err)
	}
	model, err := job.Policy.Kind.New(job.Policy.Values...)
	if err != nil {
		t.Fatal(err)
	}
	want := []Decision{
		{"a", 1, false, ReasonRetained, 1},
		{"b", model.ScoreAge(1, day+1), true, ReasonPruned, 3},
		{"c", 0.5, false, ReasonRetained, 4},
	}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("decisions %v, want %v", seen, want)
	}
}

// Standard input gives the same summary as a file but for the run's name, and cannot be changed.
func TestStdin(t *testing.T) {
	content := testRecord("a", 0) + "\n" + testRecord("b", 2*day)
	job := testStore(t, content)
	job.Mode, job.Files.Archive = DryRun, ""
	fromFile, err := Run(context.Background(), job)
	if err != nil {
		t.Fatal(err)
	}
	fileAudit, err := os.ReadFile(job.Files.Audit)
	if err != nil {
		t.Fatal(err)
	}
	job.Files.AuditMode = transaction.Replace
	job.Stdin = strings.NewReader(content)
	fromStdin, err := Run(context.Background(), job)
	if err != nil {
		t.Fatal(err)
	}
	stdinAudit, err := os.ReadFile(job.Files.Audit)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.ReplaceAll(string(stdinAudit), fromStdin.RunID, fromFile.RunID); !strings.HasPrefix(got, before(string(fileAudit), `,"audited"`)) {
		t.Errorf("audit of standard input\n%s\nof the file\n%s", got, fileAudit)
	}
	fromStdin.RunID = fromFile.RunID
	if a, b := fromFile.AppendJSON(nil), fromStdin.AppendJSON(nil); !bytes.Equal(a, b) {
		t.Errorf("summaries differ: %s %s", a, b)
	}
	job.Mode = Delete
	if _, err := Run(context.Background(), job); err == nil {
		t.Error("standard input was swept in place")
	}
}

func before(s, mark string) string {
	s, _, _ = strings.Cut(s, mark)
	return s
}

// A policy's digest does not depend on which defaults were spelled out.
func TestPolicyDigest(t *testing.T) {
	bare, err := testPolicy().plan()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"half_life_ms":86400000,"id_field":"id","model":"exponential","on_invalid":"fail","threshold":0.5,"time_field":"last_accessed_ms","time_unit":"ms"}`
	if got := string(bare.appendJSON(nil)); got != want {
		t.Errorf("policy %s\nwant %s", got, want)
	}
	full := testPolicy()
	full.IDField, full.TimeField, full.ImportanceField, full.UnitGiven = "id", "last_accessed_ms", "weight", true
	spelled, err := full.plan()
	if err != nil {
		t.Fatal(err)
	}
	if bare.digest() != spelled.digest() {
		t.Error("digests differ")
	}
	full.Kind, full.Values = &decay.Kinds[1], []float64{day, 1.5}
	other, err := full.plan()
	if err != nil {
		t.Fatal(err)
	}
	const wantPower = `{"exponent":1.5,"id_field":"id","importance_field":"weight","model":"power-law","on_invalid":"fail","scale_ms":86400000,"threshold":0.5,"time_field":"last_accessed_ms","time_unit":"ms"}`
	if got := string(other.appendJSON(nil)); got != wantPower {
		t.Errorf("policy %s\nwant %s", got, wantPower)
	}
}

// A policy that cannot work is refused before anything is read.
func TestPolicyCheck(t *testing.T) {
	for name, spoil := range map[string]func(*Policy){
		"half-life": func(p *Policy) { p.Values[0] = 5 },
		"threshold": func(p *Policy) { p.Threshold = 1.5 },
		"path":      func(p *Policy) { p.IDField = "a..b" },
		"values":    func(p *Policy) { p.Values = nil },
	} {
		p := testPolicy()
		spoil(&p)
		if p.Check() == nil {
			t.Errorf("a wrong %s passed", name)
		}
	}
	if err := testPolicy().Check(); err != nil {
		t.Error(err)
	}
}
