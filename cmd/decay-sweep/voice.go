package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/iamfaham/recolva/internal/canon"
	"github.com/iamfaham/recolva/internal/ledger"
	"github.com/iamfaham/recolva/internal/sweep"
	"github.com/iamfaham/recolva/internal/transaction"
)

// The program's voice. Results go to stdout, everything else to stderr as
//
//	decay-sweep: error: <lower case, no full stop>
//	decay-sweep: hint: <what to do about it>
//
// With --json an error goes to stdout too, as one object. Ids and paths come
// from strangers: nothing reaches a terminal but printable characters.
type voice struct {
	stdout, stderr io.Writer
	json           bool
}

func (v *voice) say(kind, text string) {
	fmt.Fprintf(v.stderr, "decay-sweep: %s: %s\n", kind, printable(text))
}

func (v *voice) warn(text string) { v.say("warning", text) }

func (v *voice) note(text string) { v.say("note", text) }

// fail reports the error that ends the program.
func (v *voice) fail(err error, status int) {
	hint := hintFor(err)
	v.say("error", err.Error())
	if hint != "" {
		v.say("hint", hint)
	}
	if v.json && !errors.Is(err, errInconsistent) { // whose report is the one object
		v.result(appendError(nil, err, hint, status))
	}
}

// result writes to stdout. A reader that went away is no error.
func (v *voice) result(text []byte) error {
	_, err := v.stdout.Write(text)
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// appendError appends {"error":{…}} and a newline.
func appendError(dst []byte, err error, hint string, status int) []byte {
	dst = canon.AppendString(append(dst, `{"error":{"text":`...), printable(err.Error()))
	dst = canon.AppendInt(append(dst, `,"status":`...), int64(status))
	if line := lineOf(err); line > 0 {
		dst = canon.AppendInt(append(dst, `,"line":`...), line)
	}
	if hint != "" {
		dst = canon.AppendString(append(dst, `,"hint":`...), hint)
	}
	return append(dst, "}}\n"...)
}

// lineOf returns the number of the line that err is about, or 0.
func lineOf(err error) int64 {
	var invalid *sweep.InvalidLine
	var units *sweep.WrongUnits
	switch {
	case errors.As(err, &invalid):
		return invalid.Line
	case errors.As(err, &units):
		return units.Line
	}
	return 0
}

// hintFor says what a user can do about err, or nothing.
func hintFor(err error) string {
	var invalid *sweep.InvalidLine
	var units *sweep.WrongUnits
	var many *sweep.TooMany
	var m *misuse
	var pending *ledger.Pending
	switch {
	case errors.As(err, &m):
		return m.hint
	case transaction.ClassOf(err) == transaction.NeedsPerson:
		return "nothing is lost; decay-sweep recover --help says what can be done"
	case errors.As(err, &pending):
		return "decay-sweep recover --input FILE settles it"
	case errors.As(err, &units) && units.Many < units.Scanned:
		return fmt.Sprintf("only %d of %d records look so: bring the store to one unit first, or pass --time-unit ms if these times really are milliseconds", units.Many, units.Scanned)
	case errors.As(err, &units):
		return "pass --time-unit s to convert, or --time-unit ms if the times really are milliseconds"
	case errors.As(err, &many):
		return "nothing was changed; a dry-run with --audit shows which; raise --max-prune if they are meant to go"
	case errors.As(err, &invalid):
		if strings.HasSuffix(invalid.Error(), " is missing") {
			return "nothing was changed; --id-field, --time-field and --importance-field take other names; --on-invalid keep leaves such lines where they are"
		}
		return "nothing was changed; --on-invalid keep leaves such lines where they are"
	}
	return ""
}

// printable escapes what could move a terminal's cursor, change its state or
// reorder text: control characters, C1, bidirectional controls, line and
// paragraph separators, and bytes that are not UTF-8.
func printable(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}
