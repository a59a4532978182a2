package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/iamfaham/recolva/internal/record"
	"github.com/iamfaham/recolva/internal/sweep"
	"github.com/iamfaham/recolva/internal/transaction"
	"github.com/iamfaham/recolva/pkg/decay"
)

// flagRow is one flag: what --help says about it and what it does. Everything
// that is about flags in general derives from the table of these rows. A row
// without a name is the one argument of a verb.
type flagRow struct {
	name string
	arg  string // what the value is called; "" for a switch
	doc  string
	kind *decay.Kind // the one model that the flag belongs to, or nil

	repeats bool     // it may be given several times
	words   []string // the values that it takes, where they are a list
	set     func(o *options, value string) error
}

// flagGroup is a part of the table under a heading.
type flagGroup struct {
	title string
	rows  []flagRow
}

func sweepFlags() []flagGroup {
	return []flagGroup{
		{"Files", fileFlags()},
		{"Scores", scoreFlags()},
		{"Records", recordFlags},
		{"Running", runFlags},
		{"Output", append(outputFlags(), infoFlags()...)},
	}
}

func fileFlags() []flagRow {
	return []flagRow{
		inputFlag("the store, JSON Lines; - is standard input (dry-run only); required"),
		{name: "mode", arg: "MODE", words: []string{"dry-run", "archive", "delete"}, doc: "dry-run (default): decide and report; archive: move pruned records to the archive; delete: drop them",
			set: func(o *options, s string) (err error) {
				o.mode, err = choice(s, sweep.ParseMode, "dry-run, archive, delete")
				return err
			}},
		archiveFlag("where pruned records go; required by --mode archive"),
		auditFlag("write one line for each decision, in any mode"),
		{name: "confirm-delete", doc: "required by --mode delete",
			set: toggle(func(o *options) *bool { return &o.confirmDelete })},
		{name: "max-prune", arg: "N|P%", doc: "refuse to prune more than N records, like 1000, or more than P percent of all, like 20% (default: no limit)",
			set: func(o *options, s string) error {
				limit, ok := sweep.ParsePruneLimit(s)
				if !ok {
					return fmt.Errorf("must be a number of records like 1000 or a percentage like 20%%, got %q", s)
				}
				o.maxPrune = &limit
				return nil
			}},
		{name: "archive-mode", arg: "append|replace", doc: "add to an earlier archive (default), or put the new one in its place",
			set: appendMode(func(o *options) *transaction.AppendMode { return &o.files.ArchiveMode })},
		{name: "audit-mode", arg: "append|replace", doc: "the same for the audit",
			set: appendMode(func(o *options) *transaction.AppendMode { return &o.files.AuditMode })},
	}
}

func inputFlag(doc string) flagRow {
	return flagRow{name: "input", arg: "FILE", doc: doc, set: path(func(o *options) *string { return &o.input })}
}

func archiveFlag(doc string) flagRow {
	return flagRow{name: "archive", arg: "FILE", doc: doc, set: output(func(o *options) *string { return &o.files.Archive })}
}

func auditFlag(doc string) flagRow {
	return flagRow{name: "audit", arg: "FILE", doc: doc, set: output(func(o *options) *string { return &o.files.Audit })}
}

func idFieldFlag() flagRow {
	return flagRow{name: "id-field", arg: "NAME", doc: "where a record keeps its id (default " + record.DefaultIDField + "); meta.key looks into an object",
		set: path(func(o *options) *string { return &o.policy.IDField })}
}

func lockTimeoutFlag() flagRow {
	return flagRow{name: "lock-timeout", arg: "D", doc: "how long to wait for another run on the same files (default 10s)",
		set: func(o *options, s string) (err error) {
			o.transaction.LockTimeout, err = parseTimeout(s)
			return err
		}}
}

func networkFlag() flagRow {
	return flagRow{name: "allow-network-fs", doc: "change files on a network file system, where locks may not hold",
		set: toggle(func(o *options) *bool { return &o.transaction.AllowNetworkFS })}
}

// scoreFlags are the flags of the policy; those of the models come from decay.Kinds.
func scoreFlags() []flagRow {
	var names []string
	for _, k := range decay.Kinds {
		names = append(names, k.Name)
	}
	rows := []flagRow{
		{name: "now-ms", arg: "N", doc: "the time of the sweep in Unix milliseconds; this or --now is required",
			set: func(o *options, s string) (err error) {
				o.now, err = parseInt(s, math.MinInt64, math.MaxInt64)
				return err
			}},
		{name: "now", arg: "T", doc: "the same as an RFC 3339 time like 2026-01-02T03:04:05Z, or system for the clock",
			set: func(o *options, s string) (err error) {
				o.now, err = parseTime(s, time.Now)
				if err != nil && isInteger(s) {
					return misusef("--now-ms takes Unix milliseconds", "%v", err)
				}
				return err
			}},
		{name: "threshold", arg: "X", doc: "prune records with a score below X, from 0 to 1; required",
			set: func(o *options, s string) (err error) {
				o.policy.Threshold, err = parseNumber(s)
				return err
			}},
		{name: "model", arg: "MODEL", words: names, doc: "how scores fade, see above: " + names[0] + " (default), " + strings.Join(names[1:], ", "),
			set: func(o *options, s string) (err error) {
				o.policy.Kind, err = choice(s, decay.KindByName, strings.Join(names, ", "))
				return err
			}},
	}
	for i := range decay.Kinds {
		rows = append(rows, modelFlags(&decay.Kinds[i])...)
	}
	return rows
}

// modelFlags are the flags of one model: a parameter in milliseconds has two
// spellings, --half-life-ms N and --half-life D.
func modelFlags(k *decay.Kind) (rows []flagRow) {
	for _, p := range k.Params {
		name := flagName(p)
		arg := "X"
		if p.Integer {
			arg = "N"
		}
		rows = append(rows, flagRow{name: name, arg: arg, doc: k.Name + ": " + p.Doc, kind: k,
			set: func(o *options, s string) error {
				if p.Integer && !isInteger(s) {
					return fmt.Errorf("must be an integer, got %q", s)
				}
				x, err := parseNumber(s)
				o.params[p.Name] = param{"--" + name, x}
				return err
			}})
		if p.Unit != "ms" {
			continue
		}
		short := strings.TrimSuffix(name, "-ms")
		rows = append(rows, flagRow{name: short, arg: "D", kind: k,
			doc: "the same as one integer and one of ms s m h d w (m is minutes), like 30d",
			set: func(o *options, s string) error {
				ms, err := parseDuration(s)
				o.params[p.Name] = param{"--" + short + " " + s + ": " + p.Name, float64(ms)}
				return err
			}})
	}
	return rows
}

func flagName(p decay.Param) string { return strings.ReplaceAll(p.Name, "_", "-") }

var recordFlags = []flagRow{
	idFieldFlag(),
	{name: "time-field", arg: "NAME", doc: "the time of its last access (default " + record.DefaultTimeField + ")",
		set: path(func(o *options) *string { return &o.policy.TimeField })},
	{name: "importance-field", arg: "NAME", doc: "its importance (default " + record.DefaultImportanceField + ")",
		set: path(func(o *options) *string { return &o.policy.ImportanceField })},
	{name: "time-unit", arg: "UNIT", words: []string{"ms", "s", "us", "ns", "rfc3339"}, doc: "ms (default), s, us, ns or rfc3339; naming it also says that times that look like seconds are none",
		set: func(o *options, s string) (err error) {
			o.policy.UnitGiven = true
			o.policy.TimeUnit, err = choice(s, record.ParseTimeUnit, "ms, s, us, ns, rfc3339")
			return err
		}},
	{name: "on-invalid", arg: "fail|keep", doc: "stop at an invalid line (default), or leave such lines where they are",
		set: func(o *options, s string) (err error) {
			o.policy.OnInvalid, err = choice(s, sweep.ParseOnInvalid, "fail, keep")
			return err
		}},
	{name: "max-line-bytes", arg: "N", doc: fmt.Sprintf("longer lines are invalid (default %d)", record.DefaultMaxLineBytes),
		set: func(o *options, s string) (err error) {
			o.maxLineBytes, err = parseInt(s, 1, 1<<40)
			return err
		}},
}

var runFlags = []flagRow{
	{name: "workers", arg: "N", doc: "how many cores to use (default 1); 0 means all; the outputs are the same",
		set: func(o *options, s string) error {
			n, err := parseInt(s, 0, 1024)
			o.workers = int(n)
			return err
		}},
	lockTimeoutFlag(),
	networkFlag(),
}

func outputFlags() []flagRow {
	return []flagRow{
		jsonFlag(),
		{name: "progress", arg: "auto|never", doc: "auto (default): on a terminal, when the work is long",
			set: func(o *options, s string) (err error) {
				o.quiet, err = choice(s, func(s string) (bool, bool) { return s == "never", s == "never" || s == "auto" }, "auto, never")
				return err
			}},
	}
}

func jsonFlag() flagRow {
	return flagRow{name: "json", doc: "errors, too, as one JSON object on standard output",
		set: toggle(func(o *options) *bool { return &o.json })}
}

func infoFlags() []flagRow {
	return []flagRow{
		{name: "version", doc: "print version, Go version and commit", set: toggle(func(o *options) *bool { return &o.version })},
		{name: "help", doc: "print this text", set: toggle(func(o *options) *bool { return &o.help })},
	}
}

func path(field func(*options) *string) func(*options, string) error {
	return func(o *options, s string) error {
		if s == "" {
			return fmt.Errorf("must not be empty")
		}
		*field(o) = s
		return nil
	}
}

// output reads the path of a file that is written; no output is a stream.
func output(field func(*options) *string) func(*options, string) error {
	return func(o *options, s string) error {
		if s == "-" {
			return misusef("./- names a file that is called -", "must be a file, got -")
		}
		return path(field)(o, s)
	}
}

func toggle(field func(*options) *bool) func(*options, string) error {
	return func(o *options, s string) (err error) {
		*field(o), err = choice(s, func(s string) (bool, bool) { return s == "true", s == "true" || s == "false" }, "true, false")
		return err
	}
}

func appendMode(field func(*options) *transaction.AppendMode) func(*options, string) error {
	return func(o *options, s string) (err error) {
		*field(o), err = choice(s, func(s string) (transaction.AppendMode, bool) {
			if s == "replace" {
				return transaction.Replace, true
			}
			return transaction.Append, s == "append"
		}, "append, replace")
		return err
	}
}
