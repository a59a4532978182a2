package transaction

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/iamfaham/recolva/internal/storefs"
)

// stage holds what a sweep writes before its commit; nil for what it has not.
type stage struct{ retained, pruned, audit *staged }

func (s stage) all() []*staged {
	var out []*staged
	for _, w := range []*staged{s.retained, s.pruned, s.audit} {
		if w != nil {
			out = append(out, w)
		}
	}
	return out
}

// staged is one staged file, written through a buffer and hashed on the way.
// Without a file it only counts and hashes.
type staged struct {
	path string
	file storefs.File
	buf  []byte // its capacity is the size of a write
	sum  hash.Hash
	size int64
	tail byte // the last byte written
	err  error
}

func (e *engine) stageAt(path string) (*staged, error) {
	s := &staged{path: path, sum: sha256.New()}
	if path == "" {
		return s, nil
	}
	f, err := e.create(path)
	if err != nil {
		return nil, err
	}
	s.file, s.buf = f, make([]byte, 0, e.chunk())
	return s, nil
}

func (s *staged) writer() io.Writer {
	if s == nil {
		return nil
	}
	return s
}

func (s *staged) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	s.sum.Write(p)
	s.size += int64(len(p))
	s.tail = p[len(p)-1]
	if s.file == nil {
		return len(p), nil
	}
	if len(s.buf)+len(p) > cap(s.buf) {
		if err := s.flush(); err != nil {
			return 0, err
		}
		if len(p) >= cap(s.buf) {
			return len(p), s.put(p)
		}
	}
	s.buf = append(s.buf, p...)
	return len(p), nil
}

func (s *staged) flush() error {
	if s.err != nil || len(s.buf) == 0 {
		return s.err
	}
	err := s.put(s.buf)
	s.buf = s.buf[:0]
	return err
}

func (s *staged) put(p []byte) error {
	n, err := s.file.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		s.err = fmt.Errorf("cannot write %s: %w", show(s.path), bare(err))
	}
	return s.err
}

func (s *staged) digest() Digest {
	if s == nil {
		return Digest{SHA256: sha256.Sum256(nil)}
	}
	d := Digest{Bytes: s.size}
	s.sum.Sum(d.SHA256[:0])
	return d
}

func (s *staged) close() error {
	if s == nil || s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// drop closes and removes a staged file, unless its name leads to another: then
// somebody took our lock away, and another run staged its own.
func (e *engine) drop(s *staged) error {
	mine, err := s.file.Stat()
	if err = errors.Join(err, s.close()); err != nil {
		return errors.Join(err, e.remove(s.path))
	}
	current, exists, err := e.lookup(s.path)
	if err != nil || !exists || !current.SameFile(mine) {
		return err
	}
	return e.remove(s.path)
}

// inputReader reads the input up to its size at open, and hashes what it
// reads when the commit will need it.
type inputReader struct {
	file storefs.File
	pipe io.Reader // standard input, instead of file
	size int64     // at open; 0 for standard input
	read int64
	sum  hash.Hash
	line hash.Hash // state of sum after the last newline read
	info storefs.Info
}

func (r *inputReader) Read(p []byte) (int, error) {
	n, err := r.next(p)
	r.read += int64(n)
	if r.sum != nil {
		r.hash(p[:n])
	}
	return n, err
}

func (r *inputReader) next(p []byte) (int, error) {
	if r.pipe != nil {
		return r.pipe.Read(p)
	}
	rest := r.size - r.read
	if rest == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > rest {
		p = p[:rest]
	}
	n, err := r.file.ReadAt(p, r.read)
	if errors.Is(err, io.EOF) {
		err = nil
		if n == 0 && len(p) > 0 {
			err = refusedf("the input was cut while it was read")
		}
	}
	return n, err
}

func (r *inputReader) hash(p []byte) {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] == '\n' {
			r.sum.Write(p[:i+1])
			r.line = clone(r.sum)
			p = p[i+1:]
			break
		}
	}
	r.sum.Write(p)
}

// clone copies the state of a hash; every hash of the standard library can.
func clone(h hash.Hash) hash.Hash {
	c, err := h.(hash.Cloner).Clone()
	if err != nil {
		panic("recolva: sha256 cannot be copied: " + err.Error())
	}
	return c
}

// digest describes the swept bytes, without the undecided bytes of a last line
// that was not decided.
func (r *inputReader) digest(undecided int64) Digest {
	d := Digest{Bytes: r.read - undecided}
	switch {
	case r.sum == nil:
		return Digest{}
	case undecided == 0:
		r.sum.Sum(d.SHA256[:0])
	case r.line == nil: // the file has no newline at all
		d.SHA256 = sha256.Sum256(nil)
	default:
		r.line.Sum(d.SHA256[:0])
	}
	return d
}

func (r *inputReader) close() {
	if r != nil && r.file != nil {
		_ = r.file.Close()
		r.file = nil
	}
}

// copyRange appends the bytes [from, to) of src to dst in bounded pieces.
func (e *engine) copyRange(dst io.Writer, src storefs.File, from, to int64) error {
	buf := make([]byte, min(int64(e.chunk()), max(to-from, 1)))
	for from < to {
		n, err := readFull(src, buf[:min(int64(len(buf)), to-from)], from)
		if err != nil {
			return err
		}
		m, err := dst.Write(buf[:n])
		if err != nil {
			return err
		}
		if m < n {
			return io.ErrShortWrite
		}
		from += int64(n)
	}
	return nil
}

// sumOf returns the sum of src[from:to) as the journal writes it.
func (e *engine) sumOf(src storefs.File, from, to int64) (string, error) {
	sum := sha256.New()
	err := e.copyRange(sum, src, from, to)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// readFull fills p from off; a file that ends before is an error.
func readFull(f storefs.File, p []byte, off int64) (int, error) {
	n, err := f.ReadAt(p, off)
	if n == len(p) {
		return n, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// endsOpen tells whether the first size bytes of f end without a newline.
func endsOpen(f storefs.File, size int64) (bool, error) {
	if size == 0 {
		return false, nil
	}
	var last [1]byte
	_, err := readFull(f, last[:], size-1)
	return last[0] != '\n', err
}

// lastNewline finds where the last whole line in [from, to) ends: the offset
// behind its newline, or from when there is none.
func (e *engine) lastNewline(f storefs.File, from, to int64) (int64, error) {
	buf := make([]byte, min(int64(e.chunk()), max(to-from, 1)))
	for end := to; end > from; {
		start := max(from, end-int64(len(buf)))
		n, err := readFull(f, buf[:end-start], start)
		if err != nil {
			return from, err
		}
		for i := n - 1; i >= 0; i-- {
			if buf[i] == '\n' {
				return start + int64(i) + 1, nil
			}
		}
		end = start
	}
	return from, nil
}
