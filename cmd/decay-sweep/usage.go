package main

import (
	_ "embed"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/iamfaham/recolva/internal/canon"
	"github.com/iamfaham/recolva/internal/version"
	"github.com/iamfaham/recolva/pkg/decay"
)

//go:embed usage.txt
var usageText string

const (
	usageWidth  = 96 // columns of the flag table
	usageIndent = 30 // where its texts begin
)

// usage returns the help text with the models and the flag table in their places.
func usage() []byte {
	var table strings.Builder
	for _, group := range flagTable() {
		fmt.Fprintf(&table, "%s:\n", group.title)
		for _, row := range group.rows {
			writeRow(&table, row)
		}
		table.WriteByte('\n')
	}
	var models strings.Builder
	for _, k := range decay.Kinds {
		fmt.Fprintf(&models, "  %-*s%s\n", usageIndent-2, k.Name, k.Formula)
	}
	text := strings.NewReplacer("{{models}}\n", models.String(), "{{flags}}\n", table.String()).Replace(usageText)
	return []byte(text)
}

func writeRow(b *strings.Builder, row flagRow) {
	head := "  --" + row.name
	if row.arg != "" {
		head += " " + row.arg
	}
	column := len(head)
	b.WriteString(head)
	if column > usageIndent-2 {
		b.WriteByte('\n')
		column = 0
	}
	fmt.Fprintf(b, "%*s", usageIndent-column, "")
	column = usageIndent
	for i, word := range strings.Fields(row.doc) {
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
