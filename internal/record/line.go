package record

import (
	"bytes"
	"fmt"
)

// BOM is the UTF-8 byte order mark. At the very start of a file it is not part of the first line.
var BOM = []byte("\xef\xbb\xbf")

// IsBlank tells whether the line is no record but white space: nothing, or only space, tab, CR and LF.
func IsBlank(line []byte) bool {
	return skipSpace(line, 0) == len(line)
}

// ContentLength is the length of a line that counts against the limit: without its LF or CR LF. A CR that no LF
// follows (the file ends) belongs to the content.
func ContentLength(line []byte) int {
	content, ended := bytes.CutSuffix(line, []byte{'\n'})
	if ended {
		content = bytes.TrimSuffix(content, []byte{'\r'})
	}
	return len(content)
}

// TooLong is the fault of a line whose content exceeds maxLineBytes. It comes before every other check, that for a
// blank line included.
func TooLong(maxLineBytes int64) error {
	return fmt.Errorf("line is longer than %d bytes", maxLineBytes)
}

// TornSuffix is added to the whole text of a fault in a last line that has no newline.
const TornSuffix = " (no newline at the end of the file: an interrupted append?)"

// whiteSpace has the bits of the characters that JSON counts as white space.
const whiteSpace = 1<<' ' | 1<<'\t' | 1<<'\r' | 1<<'\n'

// skipSpace returns the index of the first byte from i on that is no JSON white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && uint64(1)<<b[i]&whiteSpace != 0 {
		i++
	}
	return i
}
