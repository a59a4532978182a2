package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/iamfaham/recolva/internal/version"
	"github.com/iamfaham/recolva/pkg/decay"
)

func manVerb() verb {
	return verb{
		name:  "man",
		doc:   "print the manual page, in roff",
		flags: func() []flagGroup { return []flagGroup{{"Flags", infoFlags()}} },
		run: func(ctx context.Context, p *program, o *options) error {
			return p.result(manPage())
		},
	}
}

// manPage is made of the help texts: they teach, and the tables fill them.
func manPage() []byte {
	m := &roff{}
	m.line(`.TH DECAY\-SWEEP 1 "" "recolva ` + version.Number() + `" "User Commands"`)
	m.line(".SH NAME")
	m.line(`decay\-sweep \- ` + escapeRoff(verbTable()[0].doc))
	m.line(".SH SYNOPSIS")
	for i, v := range verbTable() {
		if i > 0 {
			m.line(".br")
		}
		m.line(`.B decay\-sweep` + strings.TrimRight(v.space(), " "))
		m.line(`[\fIflags\fR]`)
	}
	for i, v := range verbTable() {
		if i == 0 {
			m.line(".SH DESCRIPTION")
		} else {
			m.line(".SH DECAY\\-SWEEP " + strings.ToUpper(v.name))
		}
		text, err := helpTexts.ReadFile(v.helpFile())
		if err != nil {
			panic("decay-sweep: " + err.Error())
		}
		m.help(&v, string(text))
	}
	return []byte(m.b.String())
}

// roff writes a manual page.
type roff struct {
	b       strings.Builder
	literal bool
}

func (m *roff) line(text string) { m.b.WriteString(text + "\n") }

// help sets a help text: indented lines are literal, {{names}} are tables.
func (m *roff) help(v *verb, text string) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		table := strings.HasPrefix(line, "{{")
		m.setLiteral(strings.HasPrefix(line, "  ") && !table)
		switch {
		case table:
			m.table(v, line)
		case line == "":
			m.line(".PP")
		case strings.HasSuffix(line, ":") && i+1 < len(lines) && lines[i+1] == "{{statuses}}":
			m.line(".SS " + escapeRoff(strings.TrimSuffix(line, ":")))
		default:
			m.line(escapeRoff(line))
		}
	}
	m.setLiteral(false)
}

func (m *roff) setLiteral(on bool) {
	if on == m.literal {
		return
	}
	m.literal = on
	if on {
		m.line(".PP\n.nf")
	} else {
		m.line(".fi")
	}
}

func (m *roff) table(v *verb, name string) {
	switch name {
	case "{{flags}}":
		for _, group := range v.flags() {
			m.line(".SS " + escapeRoff(group.title))
			for _, row := range group.rows {
				m.item(row.head(), row.doc)
			}
		}
		m.line(".PP")
	case "{{models}}":
		for _, k := range decay.Kinds {
			m.item(k.Name, k.Formula)
		}
	case "{{verbs}}":
		for _, other := range verbTable()[1:] {
			m.item(other.name, other.doc)
		}
	case "{{statuses}}":
		for _, s := range exitStatuses {
			m.item(s.number, s.doc)
		}
	default:
		panic(fmt.Sprintf("decay-sweep: no table %s", name))
	}
}

func (m *roff) item(head, doc string) {
	m.line(".TP")
	m.line(`\fB` + escapeRoff(head) + `\fR`)
	m.line(escapeRoff(doc))
}

// escapeRoff makes a text mean itself.
func escapeRoff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, `-`, `\-`, `~`, `\(ti`, `^`, `\(ha`, "`", `\(ga`, `…`, `...`, `'`, `\(aq`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}
