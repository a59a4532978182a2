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
	open   bool  // next did not read all of it
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{buffer: bufio.NewReaderSize(r, 64<<10)}
}

// longest is how much of a line is held in memory: a longer one is no record.
const longest = record.DefaultMaxLineBytes + 2

// next reads a line, or the first part of one that is longer than any record;
// io.EOF means that there is none.
func (l *lineReader) next() ([]byte, error) {
	if err := l.begin(); err != nil {
		return nil, err
	}
	l.line = l.line[:0]
	for l.open && len(l.line) < longest {
		piece, err := l.piece()
		if err != nil {
			return nil, err
		}
		l.line = append(l.line, piece...)
	}
	return l.line, nil
}

// copyTo copies a line to w in pieces; io.EOF means that there is none.
func (l *lineReader) copyTo(w io.Writer) error {
	if err := l.begin(); err != nil {
		return err
	}
	return l.rest(w)
}

// rest copies to w what next did not read of the line.
func (l *lineReader) rest(w io.Writer) error {
	for l.open {
		piece, err := l.piece()
		if err != nil {
			return err
		}
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// begin goes to the start of the next line; io.EOF means that there is none.
func (l *lineReader) begin() error {
	if err := l.rest(io.Discard); err != nil {
		return err
	}
	if _, err := l.buffer.Peek(1); err != nil {
		return err
	}
	l.number++
	l.start, l.open = l.end, true
	return nil
}

// piece reads a part of the line, and ends it at a newline or the end.
func (l *lineReader) piece() ([]byte, error) {
	piece, err := l.buffer.ReadSlice('\n')
	l.end += int64(len(piece))
	l.open = errors.Is(err, bufio.ErrBufferFull)
	if l.open || err == io.EOF {
		err = nil
	}
	return piece, err
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
