package transaction

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// role is a file of the transaction by its part in it.
type role struct{ name, path string }

func roles(f Files) []role {
	var list []role
	for _, r := range []role{{"input", f.Input}, {"archive", f.Archive}, {"audit", f.Audit}} {
		if r.path != "" {
			list = append(list, r)
		}
	}
	return list
}

// checkKinds refuses everything but plain files. An archive or audit need not
// exist yet.
func checkKinds(f Files) error {
	for _, r := range roles(f) {
		info, err := os.Stat(r.path)
		if errors.Is(err, fs.ErrNotExist) && r.name != "input" {
			continue
		}
		if err != nil {
			return &Error{Failed, err}
		}
		if !info.Mode().IsRegular() {
			return refusef("%s %s is %s, not a regular file", r.name, r.path, kindName(info.Mode()))
		}
	}
	return nil
}

func kindName(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

// checkAliases refuses two roles for one file, whatever the spelling of its
// name. Files that do not exist yet are compared by where they would arise.
func checkAliases(f Files) error {
	list := roles(f)
	for i, a := range list {
		for _, b := range list[i+1:] {
			same, err := sameFile(a.path, b.path)
			if err != nil {
				return &Error{Failed, err}
			}
			if same {
				return refusef("%s %s and %s %s are the same file", a.name, a.path, b.name, b.path)
			}
		}
	}
	return nil
}

func sameFile(a, b string) (bool, error) {
	aInfo, aErr := os.Stat(a)
	bInfo, bErr := os.Stat(b)
	if aErr == nil && bErr == nil {
		return os.SameFile(aInfo, bInfo), nil
	}
	aPath, err := resolve(a)
	if err != nil {
		return false, err
	}
	bPath, err := resolve(b)
	if err != nil {
		return false, err
	}
	return aPath == bPath, nil
}

// maxLinks bounds a chain of dangling symbolic links, as kernels do.
const maxLinks = 40

// resolve returns the absolute path behind all symbolic links. The last
// element need not exist; its directory must.
func resolve(path string) (string, error) {
	for range maxLinks {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Abs(real)
		}
		link, err := os.Readlink(path)
		if err != nil {
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", err
			}
			return filepath.Abs(filepath.Join(dir, filepath.Base(path)))
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(path), link)
		}
		path = link
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}
