package ledger

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"runtime"

	"github.com/iamfaham/recolva/internal/transaction"
)

// Content is bytes to look at: of a file as long as it was when it was opened,
// or of a temporary file.
type Content struct {
	file    *os.File
	from    int64 // where it begins in the file
	Bytes   int64
	scratch bool
	path    string
}

// Open opens a plain file to look at. Where missing is allowed, a file that is
// not there counts as empty.
func Open(path string, missing bool) (*Content, error) {
	info, err := os.Stat(path) // before opening: a FIFO would wait for its other end
	if missing && errors.Is(err, fs.ErrNotExist) {
		return &Content{path: path}, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil {
		f.Close()
		return nil, err
	}
	return &Content{file: f, Bytes: info.Size(), path: path}, nil
}

// ReadAt reads as io.ReaderAt does; bytes that came later are not there.
func (c *Content) ReadAt(p []byte, off int64) (int, error) {
	if off >= c.Bytes {
		return 0, io.EOF
	}
	short := int64(len(p)) > c.Bytes-off
	if short {
		p = p[:c.Bytes-off]
	}
	n, err := c.file.ReadAt(p, c.from+off)
	if err == nil && short {
		err = io.EOF
	}
	return n, err
}

// Close closes the file, and removes a temporary one.
func (c *Content) Close() error {
	if c == nil || c.file == nil {
		return nil
	}
	err := c.file.Close()
	if c.scratch && !unlinksOpenFiles {
		err = errors.Join(err, os.Remove(c.file.Name()))
	}
	return err
}

// Changed reports whether the file at the content's path is another one now,
// or has fewer bytes or, unless growing is allowed, more.
func (c *Content) Changed(grows bool) bool {
	now, err := os.Stat(c.path)
	if c.file == nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	if err != nil {
		return true
	}
	was, err := c.file.Stat()
	return err != nil || !os.SameFile(was, now) || now.Size() < c.Bytes || !grows && now.Size() > c.Bytes
}

// slice is the bytes [from, to) as a content that ends with this one.
func (c *Content) slice(from, to int64) *Content {
	return &Content{file: c.file, from: c.from + from, Bytes: to - from, path: c.path}
}

// section reads the bytes [from, to).
func (c *Content) section(from, to int64) *io.SectionReader {
	return io.NewSectionReader(c, from, to-from)
}

// digest returns the digest of the bytes [from, to).
func (c *Content) digest(from, to int64) (transaction.Digest, error) {
	s := newSum()
	if _, err := io.Copy(s, c.section(from, to)); err != nil {
		return transaction.Digest{}, err
	}
	return s.digest(), nil
}

// startsWith reports whether the content's first bytes have the digest d.
func (c *Content) startsWith(d transaction.Digest) (bool, error) {
	if c.Bytes < d.Bytes {
		return false, nil
	}
	got, err := c.digest(0, d.Bytes)
	return got == d, err
}

// sum is a digest in the making.
type sum struct {
	hash  hash.Hash
	bytes int64
}

func newSum() *sum { return &sum{hash: sha256.New()} }

func (s *sum) Write(p []byte) (int, error) {
	s.bytes += int64(len(p))
	return s.hash.Write(p)
}

func (s *sum) digest() transaction.Digest {
	d := transaction.Digest{Bytes: s.bytes}
	s.hash.Sum(d.SHA256[:0])
	return d
}

const unlinksOpenFiles = runtime.GOOS != "windows"

// scratch is a temporary file in the making. It has no name where the system
// can do without one, so nothing remains of it, whatever happens.
type scratch struct {
	*sum
	buffer *bufio.Writer
	file   *os.File
}

func newScratch() (*scratch, error) {
	f, err := os.CreateTemp("", "recolva-*")
	if err != nil {
		return nil, err
	}
	if unlinksOpenFiles {
		if err := os.Remove(f.Name()); err != nil {
			f.Close()
			return nil, err
		}
	}
	return &scratch{newSum(), bufio.NewWriterSize(f, 64<<10), f}, nil
}

// Write appends p.
func (s *scratch) Write(p []byte) (int, error) {
	s.sum.Write(p)
	return s.buffer.Write(p)
}

// content ends the writing.
func (s *scratch) content() (*Content, error) {
	c := &Content{file: s.file, Bytes: s.bytes, scratch: true}
	return c, s.buffer.Flush()
}

// drop forgets a temporary file that is of no use.
func (s *scratch) drop() { (&Content{file: s.file, scratch: true}).Close() }

// Reader reads the content from its start.
func (c *Content) Reader() io.Reader { return c.section(0, c.Bytes) }
