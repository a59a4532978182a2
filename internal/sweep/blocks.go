package sweep

import (
	"bytes"
	"io"

	"github.com/iamfaham/recolva/internal/record"
)

// defaultBlockBytes fits a block and its outputs into a core's cache.
const defaultBlockBytes = 256 << 10

// bigBytes is where a block that grows for a long line becomes a big one. Only
// one big block is on its way at a time, so that memory holds one long line,
// not one for each worker.
const bigBytes = 2 << 20

// blockKind says how the bytes of a block are to be read.
type blockKind uint8

const (
	wholeLines blockKind = iota // lines, each with its LF
	lastLine                    // one line, the last of the file, without LF
	verbatim                    // no records: a byte order mark, or a piece of an overlong line
)

// block is a piece of the input on its way through the sweep: first its bytes,
// then what was decided about them.
type block struct {
	seq       int
	kind      blockKind
	overlong  bool  // verbatim: the first piece of a line beyond the limit
	big       bool  // see bigBytes
	firstLine int64 // the number of the first line
	buf       []byte
	data      []byte // the lines, in buf
	err       error  // the input could not be read on

	ruling
}

// blockReader cuts a stream into blocks that end at line ends.
type blockReader struct {
	src          io.Reader
	blockBytes   int
	maxLineBytes int64
	admit        func(b *block) []byte // waits until b may become big; returns memory for it

	started    bool
	eof        bool
	failed     error // what ended the stream instead of its end
	inOverlong bool
	carry      []byte // read already, belongs to the next block
	lines      int64  // complete lines handed out
	bytes      int64  // bytes handed out
	seq        int
}

// next fills b, reusing its memory. It returns false at the end of the stream.
// A read error comes as a block of its own after the whole lines before it, so
// that it keeps its place in the order of faults.
func (r *blockReader) next(b *block) bool {
	*b = block{seq: r.seq, firstLine: r.lines + 1, buf: b.buf, ruling: b.ruling.emptied()}
	if err := r.cut(b); err != nil {
		b.kind, b.data, b.err = verbatim, nil, err
		r.carry, r.failed = nil, nil
	} else if len(b.data) == 0 {
		return false
	}
	r.seq++
	r.bytes += int64(len(b.data))
	r.lines += int64(bytes.Count(b.data, newline))
	return true
}

var newline = []byte{'\n'}

// cut sets b.kind and b.data, and keeps what follows for the next block.
func (r *blockReader) cut(b *block) error {
	b.buf = append(sized(b.buf, max(r.blockBytes, len(r.carry))), r.carry...)
	r.carry = r.carry[:0]
	for searched := 0; ; {
		r.fill(b, searched+r.blockBytes)
		if r.failed != nil && len(b.buf) == 0 {
			return r.failed
		}
		if !r.started {
			r.started = true
			if bytes.HasPrefix(b.buf, record.BOM) {
				r.split(b, verbatim, len(record.BOM))
				return nil
			}
		}
		if r.inOverlong {
			r.cutOverlong(b)
			return nil
		}
		if end := bytes.LastIndexByte(b.buf[searched:], '\n') + 1; end > 0 {
			r.split(b, wholeLines, searched+end)
			return nil
		}
		if r.failed != nil {
			return r.failed
		}
		if r.eof {
			r.split(b, lastLine, len(b.buf))
			return nil
		}
		// One byte more than the limit may be the CR of a line end.
		if int64(len(b.buf)) > r.maxLineBytes+1 {
			r.inOverlong, b.overlong = true, true
			r.split(b, verbatim, len(b.buf))
			return nil
		}
		searched = len(b.buf)
		if searched == cap(b.buf) {
			r.grow(b)
		}
	}
}

// cutOverlong ends an overlong line at its LF, if that is in the block.
func (r *blockReader) cutOverlong(b *block) {
	end := bytes.IndexByte(b.buf, '\n') + 1
	if end == 0 {
		end = len(b.buf)
	} else {
		r.inOverlong = false
	}
	r.split(b, verbatim, end)
}

// split makes the first n bytes of the buffer the block and carries the rest.
func (r *blockReader) split(b *block, kind blockKind, n int) {
	b.kind, b.data = kind, b.buf[:n]
	r.carry = append(sized(r.carry, r.blockBytes), b.buf[n:]...)
}

// fill reads until the buffer holds size bytes, or is full, or the stream ends.
func (r *blockReader) fill(b *block, size int) {
	size = min(size, cap(b.buf))
	for empty := 0; len(b.buf) < size && !r.eof; {
		n, err := r.src.Read(b.buf[len(b.buf):size])
		b.buf = b.buf[:len(b.buf)+n]
		if n > 0 {
			empty = 0
		} else if empty++; empty == 100 && err == nil {
			err = io.ErrNoProgress
		}
		if err != nil {
			r.eof = true
		}
		if err != io.EOF {
			r.failed = err
		}
	}
}

// sized returns an empty slice with room for n bytes: buf, unless it is too
// small or was blown up by a long line that has passed.
func sized(buf []byte, n int) []byte {
	if cap(buf) < n || cap(buf) > 4*n {
		return make([]byte, 0, n)
	}
	return buf[:0]
}

// grow gives b about twice the room, but no more than the longest line takes.
func (r *blockReader) grow(b *block) {
	room, limit := 2*int64(cap(b.buf)), r.maxLineBytes+2
	if 2*room > limit { // the last step takes all, so that no copy of nearly the same size remains
		room = limit
	}
	var bigger []byte
	if room > bigBytes && !b.big {
		bigger = r.admit(b)
	}
	if int64(cap(bigger)) < room {
		bigger = make([]byte, 0, room)
	}
	b.buf = append(bigger[:0], b.buf...)
}
