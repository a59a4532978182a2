package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/iamfaham/recolva/internal/sweep"
	"github.com/iamfaham/recolva/internal/transaction"
	"github.com/iamfaham/recolva/pkg/decay"
)

// The checks of flags against each other. Nothing is ignored silently: a flag
// that would have no effect is an error.

func checkExclusive(o *options) error {
	if o.given["now-ms"] && o.given["now"] {
		return misusef("pass one of them", "--now-ms and --now exclude each other")
	}
	for _, k := range decay.Kinds {
		for _, p := range k.Params {
			long := flagName(p)
			short := strings.TrimSuffix(long, "-ms")
			if short != long && o.given[long] && o.given[short] {
				return misusef("pass one of them", "--%s and --%s exclude each other", long, short)
			}
		}
	}
	return nil
}

func checkRequired(o *options) error {
	switch {
	case o.input == "":
		return misusef("try decay-sweep --input memories.jsonl --now system --half-life 30d --threshold 0.5, which changes nothing",
			"--input is required")
	case !o.given["now-ms"] && !o.given["now"]:
		return misusef("--now system takes the clock; --now-ms N makes a run that can be repeated",
			"--now-ms or --now is required")
	case !o.given["threshold"]:
		return misusef("records with a score below the threshold are pruned; at --threshold 0.5 that is after one half-life",
			"--threshold is required")
	}
	return nil
}

func checkMode(o *options) error {
	switch {
	case o.input == "-" && o.mode != sweep.DryRun:
		return misusef("pass a file, or drop --mode", "standard input can only be read in a dry-run")
	case o.mode == sweep.Archive && o.files.Archive == "":
		return misusef("--archive archive.jsonl names the file that pruned records are added to", "--archive is required by --mode archive")
	case o.mode == sweep.Delete && !o.confirmDelete:
		return misusef("a dry-run shows what would go; --mode archive keeps it", "--confirm-delete is required by --mode delete")
	case o.mode == sweep.Delete && o.files.Archive != "":
		return misusef("pass --mode archive, or drop --archive", "--archive has no effect in --mode delete")
	case o.mode == sweep.Archive && o.confirmDelete:
		return misusef("pass --mode delete, or drop --confirm-delete", "--confirm-delete has no effect in --mode archive")
	case o.given["archive-mode"] && o.files.Archive == "":
		return misusef("drop it", "--archive-mode has no effect without --archive")
	case o.given["audit-mode"] && o.files.Audit == "":
		return misusef("drop it", "--audit-mode has no effect without --audit")
	}
	return nil
}

// checkModel builds the policy's values from the flags of its model.
func checkModel(o *options) error {
	kind := o.policy.Kind
	for i := range decay.Kinds {
		for _, row := range modelFlags(&decay.Kinds[i]) {
			if o.given[row.name] && !hasFlag(kind, row.name) {
				return misusef("drop it, or pass --model "+row.kind.Name, "--%s is not a parameter of the %s model", row.name, kind.Name)
			}
		}
	}
	if o.given["importance-field"] && !kind.Needs(decay.FieldImportance) {
		return misusef("drop it, or pass a model that reads the importance", "--importance-field has no effect: the %s model ignores the importance", kind.Name)
	}
	for _, p := range kind.Params {
		given, ok := o.params[p.Name]
		if !ok {
			return misusef("for example "+example(p), "%s is required by the %s model", spellings(p), kind.Name)
		}
		o.policy.Values = append(o.policy.Values, given.value)
	}
	return checkPolicy(o)
}

// checkPolicy lets the policy judge itself, and puts its words behind the
// names of flags.
func checkPolicy(o *options) error {
	err := o.policy.Check()
	var p *decay.ParamError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &p):
		return misusef("a field is a name like id or a dotted path like meta.id", "--%s", strings.Replace(err.Error(), " field", "-field", 1))
	}
	called := "--" + flagName(p.Param)
	if given, ok := o.params[p.Param.Name]; ok {
		called = given.called
	}
	return misusef(seeHelp, "%s %s", called, p.Text)
}

func hasFlag(k *decay.Kind, name string) bool {
	for _, row := range modelFlags(k) {
		if row.name == name {
			return true
		}
	}
	return false
}

// spellings names the flags of a parameter.
func spellings(p decay.Param) string {
	name := flagName(p)
	if p.Unit == "ms" {
		return "--" + name + " or --" + strings.TrimSuffix(name, "-ms")
	}
	return "--" + name
}

func example(p decay.Param) string {
	name := flagName(p)
	if p.Unit == "ms" {
		return "--" + strings.TrimSuffix(name, "-ms") + " 30d"
	}
	return "--" + name + " 1"
}

// checkStreams refuses a file that is one of the program's own streams: what is
// said there would be written over its lines, or between them.
func (p *program) checkStreams(o *options) error {
	streams := []struct {
		name string
		of   any
	}{{"standard output", p.stdout}, {"standard error", p.stderr}, {"standard input", p.stdin}}
	files := []struct{ role, path string }{{"input", o.input}, {"archive", o.files.Archive}, {"audit", o.files.Audit}, {"backup", o.backup}}
	for _, s := range streams {
		stream, ok := s.of.(*os.File)
		if !ok || stream == os.Stdin && o.input != "-" {
			continue
		}
		at, err := stream.Stat()
		if err != nil || !at.Mode().IsRegular() {
			continue
		}
		for _, f := range files {
			if info, err := os.Stat(f.path); err == nil && os.SameFile(info, at) {
				return &transaction.Error{Class: transaction.Refused, Err: fmt.Errorf("%s %s is also %s", f.role, printable(f.path), s.name)}
			}
		}
	}
	return nil
}
