package record

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Strings of a record are handled as generalised UTF-8: a lone surrogate, which JSON can write (\ud800) and UTF-8
// cannot, is kept as the three bytes that its number would give. Such bytes occur in no valid UTF-8, so a name with a
// lone surrogate never equals a configured one, and the surrogate is still there to be found and shown.

// isEscaped tells whether the content of a string holds an escape.
func isEscaped(raw []byte) bool { return bytes.IndexByte(raw, '\\') >= 0 }

// appendUnescaped appends the content of a valid JSON string to dst, escapes resolved.
func appendUnescaped(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			dst = append(dst, raw[i])
			i++
			continue
		}
		if raw[i+1] != 'u' {
			dst = append(dst, shortEscapes[raw[i+1]])
			i += 2
			continue
		}
		r := hex4(raw[i+2:])
		i += 6
		if isHighSurrogate(r) && i+6 <= len(raw) && raw[i] == '\\' && raw[i+1] == 'u' {
			if low := hex4(raw[i+2:]); isLowSurrogate(low) {
				r = utf16.DecodeRune(r, low)
				i += 6
			}
		}
		dst = appendRune(dst, r)
	}
	return dst
}

// shortEscapes maps the letter of a two-byte escape to what it stands for.
var shortEscapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// hex4 reads four hexadecimal digits.
func hex4(b []byte) (r rune) {
	for _, c := range b[:4] {
		d, _ := hexDigit(c)
		r = r<<4 | d
	}
	return r
}

func hexDigit(c byte) (rune, bool) {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0'), true
	case 'a' <= c && c <= 'f':
		return rune(c-'a') + 10, true
	case 'A' <= c && c <= 'F':
		return rune(c-'A') + 10, true
	}
	return 0, false
}

func isHighSurrogate(r rune) bool { return 0xD800 <= r && r <= 0xDBFF }
func isLowSurrogate(r rune) bool  { return 0xDC00 <= r && r <= 0xDFFF }

// appendRune is utf8.AppendRune for generalised UTF-8.
func appendRune(dst []byte, r rune) []byte {
	if isHighSurrogate(r) || isLowSurrogate(r) {
		return append(dst, 0xED, 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
	}
	return utf8.AppendRune(dst, r)
}

// decodeRune is utf8.DecodeRune for generalised UTF-8.
func decodeRune(text []byte) (r rune, size int) {
	if len(text) >= 3 && text[0] == 0xED && text[1] >= 0xA0 {
		return 0xD000 | rune(text[1]&0x3F)<<6 | rune(text[2]&0x3F), 3
	}
	return utf8.DecodeRune(text)
}

// hasSurrogate tells whether an unescaped text holds a lone surrogate.
func hasSurrogate(text []byte) bool {
	for i := 0; i < len(text); {
		r, size := decodeRune(text[i:])
		if isHighSurrogate(r) || isLowSurrogate(r) {
			return true
		}
		i += size
	}
	return false
}

// isBlankText tells whether an unescaped text is empty or white space throughout.
func isBlankText(text []byte) bool {
	for i := 0; i < len(text); {
		r, size := decodeRune(text[i:])
		if !isWhiteSpace(r) {
			return false
		}
		i += size
	}
	return true
}

// isWhiteSpace is Unicode's White_Space property, spelled out so that no library's version of it decides.
func isWhiteSpace(r rune) bool {
	switch {
	case 0x09 <= r && r <= 0x0D, 0x2000 <= r && r <= 0x200A:
		return true
	}
	switch r {
	case 0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000:
		return true
	}
	return false
}

// What a text quotes from a record is cut when longer than quoteLimit, to quoteKeep and three dots.
const (
	quoteLimit = 40
	quoteKeep  = 37
)

// cutLiteral returns a number as a text shows it.
func cutLiteral(literal []byte) string {
	if len(literal) > quoteLimit {
		return string(literal[:quoteKeep]) + "..."
	}
	return string(literal)
}

// quoteText returns a string as a text shows it: cut by characters, and as a JSON string of printable ASCII.
func quoteText(text []byte) string {
	var characters []rune
	for i := 0; i < len(text) && len(characters) <= quoteLimit; {
		r, size := decodeRune(text[i:])
		characters = append(characters, r)
		i += size
	}
	dots := ""
	if len(characters) > quoteLimit {
		characters, dots = characters[:quoteKeep], "..."
	}
	var quoted strings.Builder
	for _, r := range characters {
		switch {
		case r == '"' || r == '\\':
			quoted.WriteByte('\\')
			quoted.WriteRune(r)
		case 0x20 <= r && r <= 0x7E:
			quoted.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&quoted, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&quoted, `\u%04x`, r)
		}
	}
	return `"` + quoted.String() + dots + `"`
}
