package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iamfaham/recolva/internal/record"
	"github.com/iamfaham/recolva/internal/transaction"
	"github.com/iamfaham/recolva/internal/version"
	"github.com/iamfaham/recolva/pkg/decay"
)

const casesDir = "../conformance/testdata/sweeps"

// readCase splits a .txtar file as README.txt beside the cases describes.
func readCase(t *testing.T, path string) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string][]byte{}
	name := ""
	for line := range bytes.Lines(text) {
		if s, ok := bytes.CutPrefix(line, []byte("-- ")); ok {
			if s, ok := bytes.CutSuffix(s, []byte(" --\n")); ok {
				name = string(s)
				sections[name] = []byte{}
				continue
			}
		}
		sections[name] = append(sections[name], line...)
	}
	for name, content := range sections {
		if bare, ok := strings.CutSuffix(name, ".nonl"); ok {
			sections[bare] = bytes.TrimSuffix(content, []byte("\n"))
			delete(sections, name)
		}
	}
	return sections
}

// caseArgs is args.json.
type caseArgs struct {
	Mode            string   `json:"mode"`
	Model           string   `json:"model"`
	Now             int64    `json:"now_ms"`
	HalfLife        float64  `json:"half_life_ms"`
	Scale           float64  `json:"scale_ms"`
	Exponent        float64  `json:"exponent"`
	Threshold       *float64 `json:"threshold"`
	Audit           bool     `json:"audit"`
	ArchiveMode     string   `json:"archive_mode"`
	AuditMode       string   `json:"audit_mode"`
	OnInvalid       string   `json:"on_invalid"`
	TimeUnit        string   `json:"time_unit"`
	IDField         string   `json:"id_field"`
	TimeField       string   `json:"time_field"`
	ImportanceField string   `json:"importance_field"`
	MaxLineBytes    int64    `json:"max_line_bytes"`
	MaxPrune        string   `json:"max_prune"`
}

// job is the sweep of a case in dir.
func (a *caseArgs) job(t *testing.T, dir string) Job {
	t.Helper()
	kind, ok := decay.KindByName(a.Model)
	if !ok {
		t.Fatalf("no model %q", a.Model)
	}
	mode, ok := ParseMode(a.Mode)
	if !ok {
		t.Fatalf("no mode %q", a.Mode)
	}
	values := map[string]float64{"half_life_ms": a.HalfLife, "scale_ms": a.Scale, "exponent": a.Exponent}
	p := Policy{
		Kind: kind, Threshold: *a.Threshold,
		IDField: a.IDField, TimeField: a.TimeField, ImportanceField: a.ImportanceField,
	}
	for _, param := range kind.Params {
		p.Values = append(p.Values, values[param.Name])
	}
	if a.OnInvalid != "" {
		if p.OnInvalid, ok = ParseOnInvalid(a.OnInvalid); !ok {
			t.Fatalf("no on_invalid %q", a.OnInvalid)
		}
	}
	if a.TimeUnit != "" {
		if p.TimeUnit, ok = record.ParseTimeUnit(a.TimeUnit); !ok {
			t.Fatalf("no time_unit %q", a.TimeUnit)
		}
		p.UnitGiven = true
	}
	files := transaction.Files{Input: filepath.Join(dir, "input"), Archive: filepath.Join(dir, "archive")}
	if a.Audit {
		files.Audit = filepath.Join(dir, "audit")
	}
	if a.ArchiveMode == "replace" {
		files.ArchiveMode = transaction.Replace
	}
	if a.AuditMode == "replace" {
		files.AuditMode = transaction.Replace
	}
	job := Job{Mode: mode, Policy: p, NowMillis: a.Now, Files: files, MaxLineBytes: a.MaxLineBytes}
	if a.MaxPrune != "" {
		limit, ok := ParsePruneLimit(a.MaxPrune)
		if !ok {
			t.Fatalf("no max_prune %q", a.MaxPrune)
		}
		job.MaxPrune = &limit
	}
	return job
}

// Every shared case comes out byte for byte, with any number of workers and any size of blocks.
func TestConformance(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(casesDir, "*.txtar"))
	if err != nil || len(paths) < 12 {
		t.Fatalf("%d cases found (%v)", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		sections := readCase(t, path)
		var args caseArgs
		decoder := json.NewDecoder(bytes.NewReader(sections["args.json"]))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&args); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, shape := range []struct{ workers, block int }{{1, 0}, {2, 50}, {7, 1}} {
			t.Run(fmt.Sprintf("%s/workers=%d/block=%d", name, shape.workers, shape.block), func(t *testing.T) {
				dir := t.TempDir()
				job := args.job(t, dir)
				job.Workers, job.BlockBytes = shape.workers, shape.block
				runCase(t, dir, job, sections)
			})
		}
	}
}

func runCase(t *testing.T, dir string, job Job, sections map[string][]byte) {
	t.Helper()
	for file, section := range map[string]string{"input": "input.jsonl", "archive": "archive.before", "audit": "audit.before"} {
		if content, ok := sections[section]; ok {
			if err := os.WriteFile(filepath.Join(dir, file), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	summary, err := Run(context.Background(), job)
	after := map[string]string{"input": "retained.jsonl", "archive": "archive.jsonl", "audit": "audit.jsonl"}
	if want, ok := sections["error.txt"]; ok {
		if err == nil || err.Error() != strings.TrimSpace(string(want)) {
			t.Errorf("error %v, want %s", err, want)
		}
		after = map[string]string{"input": "input.jsonl", "archive": "archive.before", "audit": "audit.before"}
	} else if err != nil {
		t.Fatal(err)
	} else if got, want := string(summary.AppendJSON(nil)), string(sections["summary.json"]); got != want {
		t.Errorf("summary\n got %s want %s", got, want)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if _, known := after[entry.Name()]; !known {
			t.Errorf("%s was left behind", entry.Name())
		}
	}
	for file, section := range after {
		got, err := os.ReadFile(filepath.Join(dir, file))
		want, expected := sections[section]
		want = bytes.ReplaceAll(want, []byte("$VERSION"), []byte(version.Number()))
		if expected != (err == nil) {
			t.Errorf("%s: expected to be there: %v, error %v", file, expected, err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s\n got %q\nwant %q", file, got, want)
		}
	}
}
