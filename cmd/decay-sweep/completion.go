package main

import (
	"context"
	"fmt"
	"strings"
)

func completionVerb() verb {
	return verb{
		name: "completion",
		doc:  "print a completion script for a shell",
		flags: func() []flagGroup {
			shell := flagRow{arg: strings.Join(shells, "|"), doc: "the shell; required", set: func(o *options, s string) (err error) {
				o.word, err = choice(s, isShell, strings.Join(shells, ", "))
				return err
			}}
			return []flagGroup{{"Arguments", append([]flagRow{shell}, infoFlags()...)}}
		},
		checks: []func(*options) error{func(o *options) error {
			if o.word == "" {
				return misusef("for example source <(decay-sweep completion bash)", "the name of a shell is required: %s", strings.Join(shells, ", "))
			}
			return nil
		}},
		run: func(ctx context.Context, p *program, o *options) error {
			var b strings.Builder
			map[string]func(*strings.Builder){"bash": completeBash, "zsh": completeZsh, "fish": completeFish}[o.word](&b)
			return p.result([]byte(b.String()))
		},
	}
}

var shells = []string{"bash", "zsh", "fish"}

func isShell(s string) (string, bool) {
	for _, shell := range shells {
		if s == shell {
			return s, true
		}
	}
	return "", false
}

// values are the words that a flag or argument takes, where they are a list.
func (r *flagRow) values() []string {
	if r.words == nil && strings.Contains(r.arg, "|") {
		return strings.Split(r.arg, "|")
	}
	return r.words
}

// rows are all rows of the verb's tables.
func (v *verb) rows() (all []flagRow) {
	for _, group := range v.flags() {
		all = append(all, group.rows...)
	}
	return all
}

func completeBash(b *strings.Builder) {
	b.WriteString(`# bash completion for decay-sweep
_decay_sweep() {
    local cur prev verb words
    cur=${COMP_WORDS[COMP_CWORD]}
    prev=${COMP_WORDS[COMP_CWORD-1]}
    verb=
    COMPREPLY=()
    [[ $COMP_CWORD -gt 1 && ${COMP_WORDS[1]} != -* ]] && verb=${COMP_WORDS[1]}
    case "$verb $prev" in
`)
	for _, v := range verbTable() {
		for _, row := range v.rows() {
			if row.name == "" || row.arg == "" {
				continue
			}
			fmt.Fprintf(b, "    %q) ", v.name+" --"+row.name)
			switch {
			case row.values() != nil:
				fmt.Fprintf(b, "COMPREPLY=($(compgen -W '%s' -- \"$cur\")) ;;\n", strings.Join(row.values(), " "))
			case row.arg == "FILE":
				b.WriteString("compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n")
			default:
				b.WriteString(";; # any value\n")
			}
		}
	}
	b.WriteString("    *)\n        case \"$verb\" in\n")
	for _, v := range verbTable() {
		var words []string
		for _, row := range v.rows() {
			if row.name == "" {
				words = append(words, row.values()...)
			} else {
				words = append(words, "--"+row.name)
			}
		}
		if v.name == "" {
			fmt.Fprintf(b, "        '') words='%s'; [[ $COMP_CWORD -eq 1 ]] && words=\"%s $words\" ;;\n", strings.Join(words, " "), strings.Join(verbNames(), " "))
		} else {
			fmt.Fprintf(b, "        %s) words='%s' ;;\n", v.name, strings.Join(words, " "))
		}
	}
	b.WriteString(`        esac
        COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
    esac
}
complete -F _decay_sweep decay-sweep
`)
}

// verbNames are the names of the verbs that have one.
func verbNames() (names []string) {
	for _, v := range verbTable()[1:] {
		names = append(names, v.name)
	}
	return names
}

func completeZsh(b *strings.Builder) {
	quote := strings.NewReplacer(`'`, `'\''`, `[`, `\[`, `]`, `\]`, `:`, `\:`)
	b.WriteString("#compdef decay-sweep\n# zsh completion for decay-sweep\n_decay_sweep() {\n    local -a verbs\n    verbs=(\n")
	for _, v := range verbTable()[1:] {
		fmt.Fprintf(b, "        '%s:%s'\n", v.name, quote.Replace(v.doc))
	}
	b.WriteString("    )\n    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n        _describe verb verbs\n        return\n    fi\n    local verb=''\n")
	b.WriteString("    if [[ $words[2] != -* ]]; then\n        verb=$words[2]\n        shift words\n        (( CURRENT-- ))\n    fi\n    case $verb in\n")
	for _, v := range verbTable() {
		fmt.Fprintf(b, "    '%s')\n        _arguments \\\n", v.name)
		rows := v.rows()
		for i, row := range rows {
			end := " \\\n"
			if i == len(rows)-1 {
				end = " ;;\n"
			}
			fmt.Fprintf(b, "            '%s'%s", zshSpec(&row, quote), end)
		}
	}
	b.WriteString("    esac\n}\ncompdef _decay_sweep decay-sweep\n")
}

// zshSpec is the row as _arguments takes it.
func zshSpec(row *flagRow, quote *strings.Replacer) string {
	action := " "
	switch {
	case row.values() != nil:
		action = "(" + strings.Join(row.values(), " ") + ")"
	case row.arg == "FILE":
		action = "_files"
	}
	switch {
	case row.name == "":
		return "1:" + quote.Replace(row.doc) + ":" + action
	case row.arg == "":
		return "--" + row.name + "[" + quote.Replace(row.doc) + "]"
	}
	spec := "--" + row.name + "[" + quote.Replace(row.doc) + "]:" + quote.Replace(row.arg) + ":" + action
	if row.repeats {
		spec = "*" + spec
	}
	return spec
}

func completeFish(b *strings.Builder) {
	quote := func(s string) string {
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
	}
	b.WriteString("# fish completion for decay-sweep\ncomplete -c decay-sweep -f\n")
	verbs := strings.Join(verbNames(), " ")
	for _, v := range verbTable()[1:] {
		fmt.Fprintf(b, "complete -c decay-sweep -n '__fish_is_first_token' -a %s -d %s\n", v.name, quote(v.doc))
	}
	for _, v := range verbTable() {
		when := "not __fish_seen_subcommand_from " + verbs
		if v.name != "" {
			when = "__fish_seen_subcommand_from " + v.name
		}
		for _, row := range v.rows() {
			line := "complete -c decay-sweep -n " + quote(when)
			if row.name != "" {
				line += " -l " + row.name
			}
			switch {
			case row.values() != nil:
				if row.name != "" {
					line += " -x"
				}
				line += " -a " + quote(strings.Join(row.values(), " "))
			case row.arg == "FILE":
				line += " -r -F"
			case row.arg != "":
				line += " -x"
			}
			b.WriteString(line + " -d " + quote(row.doc) + "\n")
		}
	}
}
