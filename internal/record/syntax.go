package record

import (
	"bytes"
	"fmt"
)

// expectation is what the grammar of JSON allows next, white space apart.
type expectation uint8

const (
	wantValue        expectation = iota
	wantFirstElement             // after '[': a value or ']'
	wantFirstName                // after '{': a name or '}'
	wantName                     // after ',' in an object
	wantColon
	wantComma // after a value: ',' or the bracket that closes what is open
	wantEnd
)

// grammar checks one line against RFC 8259, byte by byte.
type grammar struct {
	line []byte
	pos  int
	open []byte // the brackets that are open: '{' and '['
}

// checkSyntax returns the first fault of the line in byte order. The line is valid UTF-8 already.
func checkSyntax(line []byte) error {
	g := grammar{line: line}
	want := wantValue
	for {
		g.pos = skipSpace(line, g.pos)
		if g.pos == len(line) {
			if want == wantEnd {
				return nil
			}
			return g.unexpectedEnd()
		}
		var err error
		if want, err = g.step(want); err != nil {
			return err
		}
	}
}

// step consumes one token and returns what may follow.
func (g *grammar) step(want expectation) (expectation, error) {
	b := g.line[g.pos]
	switch {
	case want == wantValue && !startsValue(b):
		return 0, g.fault(g.pos, "expected a value")
	case want == wantFirstElement && b != ']' && !startsValue(b):
		return 0, g.fault(g.pos, "expected a value or ']'")
	case want == wantFirstName && b != '}' && b != '"':
		return 0, g.fault(g.pos, "expected a name or '}'")
	case want == wantName && b != '"':
		return 0, g.fault(g.pos, "expected a name")
	case want == wantColon && b != ':':
		return 0, g.fault(g.pos, "expected ':'")
	case want == wantComma && b != ',' && b != g.closer():
		return 0, g.fault(g.pos, fmt.Sprintf("expected ',' or '%c'", g.closer()))
	case want == wantEnd:
		return 0, g.fault(g.pos, "expected the end of the line")
	}
	switch b {
	case ']', '}':
		g.pos++
		g.open = g.open[:len(g.open)-1]
		return g.afterValue(), nil
	case ',':
		g.pos++
		if g.closer() == '}' {
			return wantName, nil
		}
		return wantValue, nil
	case ':':
		g.pos++
		return wantValue, nil
	}
	if want == wantFirstName || want == wantName {
		return wantColon, g.string()
	}
	return g.value(b)
}

// closer is the bracket that closes the innermost open one.
func (g *grammar) closer() byte {
	if g.open[len(g.open)-1] == '{' {
		return '}'
	}
	return ']'
}

func (g *grammar) afterValue() expectation {
	if len(g.open) == 0 {
		return wantEnd
	}
	return wantComma
}

func startsValue(b byte) bool {
	return bytes.IndexByte([]byte(`{["-0123456789tfn`), b) >= 0
}

// value consumes a scalar or an opening bracket.
func (g *grammar) value(first byte) (expectation, error) {
	switch first {
	case '{', '[':
		if len(g.open) == MaxDepth {
			return 0, fmt.Errorf("nesting is deeper than %d at byte %d", MaxDepth, g.pos+1)
		}
		g.open = append(g.open, first)
		g.pos++
		if first == '{' {
			return wantFirstName, nil
		}
		return wantFirstElement, nil
	case '"':
		return g.afterValue(), g.string()
	case 't':
		return g.afterValue(), g.keyword("true")
	case 'f':
		return g.afterValue(), g.keyword("false")
	case 'n':
		return g.afterValue(), g.keyword("null")
	}
	return g.afterValue(), g.number()
}

func (g *grammar) keyword(word string) error {
	rest := g.line[g.pos:]
	if bytes.HasPrefix(rest, []byte(word)) {
		g.pos += len(word)
		return nil
	}
	if bytes.HasPrefix([]byte(word), rest) {
		return g.unexpectedEnd()
	}
	return g.fault(g.pos, "invalid literal")
}

// string consumes a string with both its quotes.
func (g *grammar) string() error {
	for g.pos++; g.pos < len(g.line); {
		switch b := g.line[g.pos]; {
		case b == '"':
			g.pos++
			return nil
		case b < 0x20:
			return g.fault(g.pos, "control character in a string")
		case b == '\\':
			if err := g.escape(); err != nil {
				return err
			}
		default:
			g.pos++
		}
	}
	return g.unexpectedEnd()
}

// escape consumes a backslash and what belongs to it.
func (g *grammar) escape() error {
	rest := g.line[g.pos+1:]
	if len(rest) == 0 {
		return g.unexpectedEnd()
	}
	if bytes.IndexByte([]byte(`"\/bfnrtu`), rest[0]) < 0 {
		return g.fault(g.pos, "invalid escape")
	}
	if rest[0] != 'u' {
		g.pos += 2
		return nil
	}
	for i := 1; i <= 4; i++ {
		if i == len(rest) {
			return g.unexpectedEnd()
		}
		if _, ok := hexDigit(rest[i]); !ok {
			return g.fault(g.pos, "invalid escape")
		}
	}
	g.pos += len(`\u0000`)
	return nil
}

// number consumes -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
func (g *grammar) number() error {
	start := g.pos
	g.accept("-")
	if g.accept("0") {
		if g.digits() { // 01
			return g.fault(start, "invalid number")
		}
	} else if !g.digits() {
		return g.cutNumber(start)
	}
	if g.accept(".") && !g.digits() {
		return g.cutNumber(start)
	}
	if g.accept("eE") {
		g.accept("+-")
		if !g.digits() {
			return g.cutNumber(start)
		}
	}
	return nil
}

// cutNumber is the fault of a number that stops where a digit must follow.
func (g *grammar) cutNumber(start int) error {
	if g.pos == len(g.line) {
		return g.unexpectedEnd()
	}
	return g.fault(start, "invalid number")
}

// accept consumes one byte if it is among those given.
func (g *grammar) accept(among string) bool {
	if g.pos < len(g.line) && bytes.IndexByte([]byte(among), g.line[g.pos]) >= 0 {
		g.pos++
		return true
	}
	return false
}

// digits consumes all digits that follow and tells whether there was one.
func (g *grammar) digits() bool {
	start := g.pos
	for g.accept("0123456789") {
	}
	return g.pos > start
}

func (g *grammar) unexpectedEnd() error {
	return g.fault(len(g.line), "unexpected end of line")
}

func (g *grammar) fault(at int, what string) error {
	return fmt.Errorf("invalid JSON at byte %d: %s", at+1, what)
}
