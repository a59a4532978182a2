package transaction

import (
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"os"
	"path/filepath"
)

// staged is a temporary file beside its target. The zero value counts what is
// written to it and drops it.
type staged struct {
	path string // "" once it has gone to its place
	file *os.File
	hash hash.Hash
	size int64
}

func newStaged(target string, hashed bool) (*staged, error) {
	target, err := resolve(target)
	if err != nil {
		return nil, &Error{Failed, err}
	}
	f, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".recolva-*")
	if err != nil {
		return nil, &Error{Failed, err}
	}
	s := &staged{path: f.Name(), file: f}
	if hashed {
		s.hash = sha256.New()
	}
	return s, nil
}

// writer returns s, or a nil interface where there is no s.
func (s *staged) writer() io.Writer {
	if s == nil {
		return nil
	}
	return s
}

// Write appends p to the staged file.
func (s *staged) Write(p []byte) (int, error) {
	s.size += int64(len(p))
	if s.file == nil {
		return len(p), nil
	}
	if s.hash != nil {
		s.hash.Write(p)
	}
	n, err := s.file.Write(p)
	if err != nil {
		return n, &Error{Failed, err}
	}
	return n, nil
}

// digest returns what went to the file so far: nothing where it is dropped.
func (s *staged) digest() (d Digest) {
	d.SHA256 = sha256.Sum256(nil)
	if s == nil || s.file == nil {
		return d
	}
	if s.hash != nil {
		s.hash.Sum(d.SHA256[:0])
	}
	d.Bytes = s.size
	return d
}

// finish gives the file the mode and owner of like and makes it durable.
func (s *staged) finish(like os.FileInfo) error {
	if like != nil {
		if err := keepOwner(s.file, like); err != nil {
			return &Error{Failed, err}
		}
		if err := s.file.Chmod(like.Mode().Perm()); err != nil {
			return &Error{Failed, err}
		}
	}
	if err := errors.Join(s.file.Sync(), s.file.Close()); err != nil {
		return &Error{Failed, err}
	}
	return nil
}

// drop removes the file if it has not gone to its place.
func (s *staged) drop() error {
	if s == nil || s.path == "" {
		return nil
	}
	s.file.Close()
	path := s.path
	s.path = ""
	return os.Remove(path)
}

// addTo appends the staged bytes to the file at path, or puts them in its
// place, durably. A new file gets the mode and owner of like. The function
// returned takes the change back.
func (s *staged) addTo(path string, mode AppendMode, like os.FileInfo) (undo func() error, err error) {
	target, err := resolve(path)
	if err != nil {
		return nil, &Error{Failed, err}
	}
	old, err := os.Stat(target)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return s.replace(target, like)
	case err != nil:
		return nil, &Error{Failed, err}
	case mode == Replace:
		return s.replace(target, old)
	}
	undo = func() error { return os.Truncate(target, old.Size()) }
	if err := s.appendTo(target, old.Size()); err != nil {
		return nil, &Error{Failed, errors.Join(err, undo())}
	}
	return undo, nil
}

func (s *staged) appendTo(target string, size int64) error {
	f, err := os.OpenFile(target, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if joint, err := needsNewline(f, size); err != nil {
		return err
	} else if joint {
		if _, err := f.Write([]byte{'\n'}); err != nil {
			return err
		}
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.Copy(f, s.file); err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// replace renames the staged file to target, keeping what was there under the
// staged name until the transaction ends.
func (s *staged) replace(target string, like os.FileInfo) (undo func() error, err error) {
	if err := s.finish(like); err != nil {
		return nil, err
	}
	backup := s.path + "-old"
	err = os.Rename(target, backup)
	existed := err == nil
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, &Error{Failed, err}
	}
	undo = func() error {
		if existed {
			return os.Rename(backup, target)
		}
		return os.Remove(target)
	}
	if err := os.Rename(s.path, target); err != nil {
		return nil, &Error{Failed, errors.Join(err, undo())}
	}
	s.path = ""
	if existed {
		s.path = backup
	}
	if err := syncDir(filepath.Dir(target)); err != nil {
		s.path = ""
		return nil, &Error{Failed, errors.Join(err, undo())}
	}
	return func() error { s.path = ""; return undo() }, nil
}

// needsNewline reports whether the file's last line lacks its newline.
func needsNewline(f io.ReaderAt, size int64) (bool, error) {
	if size == 0 {
		return false, nil
	}
	var b [1]byte
	if _, err := f.ReadAt(b[:], size-1); err != nil {
		return false, err
	}
	return b[0] != '\n', nil
}
