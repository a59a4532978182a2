// The program go scores with package decay itself: Go needs no C library. The
// reading of lines, which the library does for other languages, is Go's own here.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/iamfaham/recolva/pkg/decay"
)

const (
	now = 87400000
	day = 86400000
)

// model returns the model of that name; its parameters are checked here, and then
// scoring cannot fail.
func model(name string, values ...float64) (decay.Model, error) {
	kind, ok := decay.KindByName(name)
	if !ok {
		return nil, fmt.Errorf("no model is named %s", name)
	}
	return kind.New(values...)
}

// score prints one score of each model, and a batch.
func score(w io.Writer) error {
	exponential, err := model("exponential", day)
	if err != nil {
		return err
	}
	powerLaw, err := model("power-law", day, 1)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "exponential", exponential.Score(decay.Record{LastAccessedMillis: 1000000}, now))
	fmt.Fprintln(w, "power-law", powerLaw.Score(decay.Record{LastAccessedMillis: 1000000, Importance: 0.5}, now))
	fmt.Fprint(w, "batch")
	for _, last := range []int64{1000000, -85400000, -171800000} {
		fmt.Fprint(w, " ", exponential.Score(decay.Record{LastAccessedMillis: last}, now))
	}
	fmt.Fprintln(w)
	return nil
}

// memory is one line of a JSONL file.
type memory struct {
	ID           json.RawMessage `json:"id"`
	LastAccessed *int64          `json:"last_accessed_ms"`
	Importance   *float64        `json:"importance"`
}

func (m *memory) valid() bool {
	return len(m.ID) > 2 && m.ID[0] == '"' && m.LastAccessed != nil && m.Importance != nil &&
		decay.CheckImportance(*m.Importance) == nil
}

// scan prints id, score and decision of each memory in a JSONL file.
func scan(w io.Writer, name string) error {
	powerLaw, err := model("power-law", day, 1)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")) // a byte order mark belongs to no line
	memories, blanks := 0, 0
	for line := range bytes.Lines(data) {
		if len(bytes.Trim(line, " \t\r\n")) == 0 {
			blanks++
			continue
		}
		var m memory
		if json.Unmarshal(line, &m) != nil || !m.valid() {
			return fmt.Errorf("line %d is not valid", memories+blanks+1)
		}
		memories++
		x := powerLaw.Score(decay.Record{LastAccessedMillis: *m.LastAccessed, Importance: *m.Importance}, now)
		prune := 0
		if x < 0.3 {
			prune = 1
		}
		fmt.Fprintf(w, "%s\t%016x\t%d\n", bytes.Trim(m.ID, `"`), math.Float64bits(x), prune)
	}
	_, err = fmt.Fprintf(w, "%d memories, %d blank lines\n", memories, blanks)
	return err
}

// vectors answers each line of input with status and score, twice, as the clients
// of the C library do.
func vectors(w io.Writer, input io.Reader) error {
	lines := bufio.NewScanner(input)
	for lines.Scan() {
		var name string
		var last, then, millis int64
		var exponent, importance uint64
		if n, err := fmt.Sscanf(lines.Text(), "%s %d %d %d %x %x", &name, &last, &then, &millis, &exponent, &importance); n < 4 {
			return err
		}
		status, x := 1, -7.25
		values := []float64{float64(millis), math.Float64frombits(exponent)}
		r := decay.Record{LastAccessedMillis: last, Importance: math.Float64frombits(importance)}
		if name == "exponential" {
			values = values[:1]
		}
		if m, err := model(name, values...); err == nil && decay.CheckImportance(r.Importance) == nil {
			status, x = 0, m.Score(r, then)
		}
		fmt.Fprintf(w, "%d %016x %d %016x\n", status, math.Float64bits(x), status, math.Float64bits(x))
	}
	return lines.Err()
}

func run(w io.Writer, arguments []string) error {
	if len(arguments) != 1 {
		return fmt.Errorf("usage: client FILE.jsonl | client --vectors")
	}
	if arguments[0] == "--vectors" {
		return vectors(w, os.Stdin)
	}
	if err := score(w); err != nil {
		return err
	}
	return scan(w, arguments[0])
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	err := run(out, os.Args[1:])
	out.Flush()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
