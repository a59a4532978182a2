package main

import (
	"embed"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/iamfaham/recolva/internal/canon"
	"github.com/iamfaham/recolva/internal/version"
	"github.com/iamfaham/recolva/pkg/decay"
)

//go:embed help
var helpTexts embed.FS

const (
	usageWidth  = 96 // columns of the flag table
	usageIndent = 30 // where its texts begin
)

// helpFile is the name of the verb's help text.
func (v *verb) helpFile() string {
	if v.name == "" {
		return "help/sweep.txt"
	}
	return "help/" + v.name + ".txt"
}

// usage returns the verb's help with the tables in their places.
func (v *verb) usage() []byte {
	text, err := helpTexts.ReadFile(v.helpFile())
	if err != nil {
		panic("decay-sweep: " + err.Error())
	}
	var table, models, verbs, statuses strings.Builder
	for _, group := range v.flags() {
		fmt.Fprintf(&table, "%s:\n", group.title)
		for _, row := range group.rows {
			writeRow(&table, row.head(), row.doc)
		}
		table.WriteByte('\n')
	}
	for _, k := range decay.Kinds {
		writeRow(&models, k.Name, k.Formula)
	}
	for _, other := range verbTable()[1:] {
		writeRow(&verbs, other.name, other.doc)
	}
	for _, s := range exitStatuses {
		fmt.Fprintf(&statuses, "  %-9s%s\n", s.number, s.doc)
	}
	return []byte(strings.NewReplacer(
		"{{models}}\n", models.String(), "{{flags}}\n", table.String(),
		"{{verbs}}\n", verbs.String(), "{{statuses}}\n", statuses.String(),
	).Replace(string(text)))
}

// head is the flag as it is written.
func (r *flagRow) head() string {
	head := "--" + r.name
	if r.name == "" {
		head = ""
	}
	if r.arg != "" {
		head += " " + r.arg
	}
	return strings.TrimPrefix(head, " ")
}

// exitStatuses are the exit statuses for those who read about them.
var exitStatuses = []struct{ number, doc string }{
	{"0", "done"},
	{"1", "failed, nothing was changed (an invalid record, or input and output); verify: not consistent"},
	{"2", "called wrongly"},
	{"3", "refused, nothing was changed (a guard fired, or the store is busy or changed)"},
	{"4", "an interrupted run left what only a person can judge; nothing was touched"},
	{"5", "done, but something is left for the next run to settle"},
	{"128+N", "stopped by signal N, nothing was changed; a second signal kills at once, and the next run settles"},
}

// writeRow writes a name and what is to say about it in two columns.
func writeRow(b *strings.Builder, head, doc string) {
	head = "  " + head
	column := len(head)
	b.WriteString(head)
	if column > usageIndent-2 {
		b.WriteByte('\n')
		column = 0
	}
	fmt.Fprintf(b, "%*s", usageIndent-column, "")
	column = usageIndent
	for i, word := range strings.Fields(doc) {
		if i > 0 && column+1+len(word) > usageWidth {
			fmt.Fprintf(b, "\n%*s", usageIndent, "")
			column = usageIndent
		} else if i > 0 {
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	b.WriteByte('\n')
}

// versionText returns the version, and what the program was built from.
func versionText(json bool) []byte {
	goVersion, commit := "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		goVersion = info.GoVersion
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				commit = setting.Value
			}
		}
	}
	if !json {
		return fmt.Appendf(nil, "decay-sweep %s (%s, commit %s)\n", version.Number(), goVersion, commit)
	}
	b := canon.AppendString([]byte(`{"version":`), version.Number())
	b = canon.AppendString(append(b, `,"go":`...), goVersion)
	b = canon.AppendString(append(b, `,"commit":`...), commit)
	return append(b, "}\n"...)
}
