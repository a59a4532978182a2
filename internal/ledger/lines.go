package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/iamfaham/recolva/internal/record"
)

// lineReader reads lines, the last of which may lack its newline.
type lineReader struct {
	buffer *bufio.Reader
	line   []byte
	number int64 // of the line read last, from 1
	start  int64 // where that line begins
	end    int64 // where it ends, its newline included
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{buffer: bufio.NewReaderSize(r, 64<<10)}
}

// longest is how much of a line is held in memory: more is no record.
const longest = record.DefaultMaxLineBytes + 2

// next reads a line, cut off if it is longer than any record; io.EOF means
// that there is none.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	err := l.pieces(func(piece []byte) error {
		l.line = append(l.line, piece[:min(len(piece), longest-len(l.line))]...)
		return nil
	})
	return l.line, err
}

// copyTo copies a line to w in pieces; io.EOF means that there is none.
func (l *lineReader) copyTo(w io.Writer) error {
	return l.pieces(func(piece []byte) error {
		_, err := w.Write(piece)
		return err
	})
}

func (l *lineReader) pieces(do func(piece []byte) error) error {
	l.start = l.end
	for {
		piece, err := l.buffer.ReadSlice('\n')
		l.end += int64(len(piece))
		if len(piece) > 0 {
			if err := do(piece); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && err != io.EOF:
			return err
		case l.end == l.start:
			return io.EOF
		}
		l.number++
		return nil
	}
}

// bom passes on the byte order mark before the first line, if there is one.
func (l *lineReader) bom(w io.Writer) error {
	if head, _ := l.buffer.Peek(len(record.BOM)); !bytes.Equal(head, record.BOM) {
		return nil
	}
	n, _ := l.buffer.Discard(len(record.BOM))
	l.end += int64(n)
	_, err := w.Write(record.BOM)
	return err
}

// content is the line without its LF, and on the first line without a byte
// order mark.
func (l *lineReader) content() []byte {
	line := bytes.TrimSuffix(l.line, []byte{'\n'})
	if l.number == 1 {
		line = bytes.TrimPrefix(line, record.BOM)
	}
	return line
}
