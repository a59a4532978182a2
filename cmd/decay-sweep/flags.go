package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/iamfaham/recolva/internal/sweep"
	"github.com/iamfaham/recolva/internal/transaction"
	"github.com/iamfaham/recolva/pkg/decay"
)

// misuse is an error in how the program was called.
type misuse struct{ text, hint string }

func (m *misuse) Error() string { return m.text }

func misusef(hint, format string, args ...any) error {
	return &misuse{fmt.Sprintf(format, args...), hint}
}

// options are the values of all flags.
type options struct {
	input         string
	files         transaction.Files
	mode          sweep.Mode
	confirmDelete bool
	policy        sweep.Policy
	params        map[string]param // of the model, by decay.Param.Name
	now           int64
	maxPrune      *sweep.PruneLimit
	maxLineBytes  int64
	workers       int
	transaction   transaction.Options

	preview bool     // restore: --mode dry-run
	runID   string   // restore
	ids     []string // restore
	backup  string   // verify
	word    string   // the argument of a verb that takes one

	json, quiet, version, help bool

	given map[string]bool // flags by name, without dashes
	fault error           // the first *misuse while reading
}

// param is the value of a model's parameter, and how an error calls it.
type param struct {
	called string
	value  float64
}

const seeHelp = "decay-sweep --help explains by example"

// seeHelp is the hint that leads to the verb's help.
func (v *verb) seeHelp() string { return strings.Replace(seeHelp, " ", v.space(), 1) }

// space is what stands between the program's name and the flags.
func (v *verb) space() string {
	if v.name == "" {
		return " "
	}
	return " " + v.name + " "
}

// parse reads the flags and checks them against each other.
func (v *verb) parse(args []string) (*options, error) {
	o := &options{
		policy:      sweep.Policy{Kind: &decay.Kinds[0]},
		params:      map[string]param{},
		workers:     1,
		transaction: transaction.Options{LockTimeout: 10 * time.Second},
		given:       map[string]bool{},
	}
	if err := v.read(o, args); err != nil {
		return nil, err
	}
	if o.help || o.version {
		return o, nil
	}
	for _, check := range v.checks {
		if err := check(o); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// read sets the options from the arguments. The flag package does the
// splitting; the words are ours.
func (v *verb) read(o *options, args []string) error {
	set := flag.NewFlagSet("decay-sweep", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	var names []string
	for _, group := range v.flags() {
		for i := range group.rows {
			row := &group.rows[i]
			if row.name == "" { // an argument, not a flag
				if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
					if err := row.set(o, args[0]); err != nil {
						return misusef(v.seeHelp(), "%s %v", row.arg, err)
					}
					args = args[1:]
				}
				continue
			}
			names = append(names, row.name)
			set.Var(&flagValue{row, o, v.seeHelp()}, row.name, "")
		}
	}
	err := set.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp): // -h
		o.help = true
		return nil
	case err != nil && o.fault != nil:
		return o.fault
	case err != nil:
		return misuseOf(err.Error(), names, v.seeHelp())
	case set.NArg() > 0:
		return v.stray(set.Arg(0))
	}
	return nil
}

// stray is the error about an argument that is no flag.
func (v *verb) stray(word string) error {
	var words []string
	for _, other := range verbTable() {
		words = append(words, other.name)
	}
	hint := "all arguments are flags, " + v.seeHelp()
	switch near := nearest(word, words); {
	case v.name == "" && slices.Contains(words, word):
		hint = "a verb stands first: decay-sweep " + word + " …"
	case v.name == "" && near != "":
		hint = "did you mean decay-sweep " + near + "?"
	}
	return misusef(hint, "stray argument %q", word)
}

// misuseOf words an error of the flag package, which has no types for them.
func misuseOf(text string, names []string, seeHelp string) error {
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		hint := seeHelp
		if near := nearest(name, names); near != "" {
			hint = "did you mean --" + near + "?"
		}
		return misusef(hint, "unknown flag --%s", name)
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return misusef(seeHelp, "--%s needs a value", name)
	}
	return misusef(seeHelp, "%s", text)
}

// flagValue connects a row to the flag package.
type flagValue struct {
	row     *flagRow
	o       *options
	seeHelp string
}

func (f *flagValue) String() string   { return "" }
func (f *flagValue) IsBoolFlag() bool { return f.row.arg == "" }

// Set takes the flag's value. A flag that is given twice contradicts itself,
// unless it makes a list.
func (f *flagValue) Set(s string) error {
	if f.o.given[f.row.name] && !f.row.repeats {
		f.o.fault = misusef(f.seeHelp, "--%s is given twice", f.row.name)
		return f.o.fault
	}
	f.o.given[f.row.name] = true
	if err := f.row.set(f.o, s); err != nil {
		hint := f.seeHelp
		var m *misuse
		if errors.As(err, &m) {
			hint = m.hint
		}
		f.o.fault = misusef(hint, "--%s %v", f.row.name, err)
		return f.o.fault
	}
	return nil
}

// nearest returns the known name with the fewest edits from name: at most two,
// and no more than half of its letters.
func nearest(name string, names []string) string {
	best, least := "", min(3, len(name)/2+1)
	for _, known := range names {
		if d := distance(name, known); d < least || strings.HasPrefix(known, name) && best == "" {
			best, least = known, min(d, least)
		}
	}
	return best
}

// distance counts the insertions, deletions and replacements from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// asksForJSON looks for --json before the flags are read, so that an error in
// reading them takes that form too.
func asksForJSON(args []string) bool {
	for _, a := range args {
		if strings.TrimPrefix(strings.TrimPrefix(a, "-"), "-") == "json" && strings.HasPrefix(a, "-") {
			return true
		}
	}
	return false
}
