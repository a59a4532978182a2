package storefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// RealPath goes the way that the kernel goes. What stands before a ".." may be
// a symbolic link, so the path must not be shortened as text before.
func (osFS) RealPath(name string) (string, error) {
	abs, err := absolute(name)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err == nil {
		return real, checkSame(name, abs, real)
	}
	dir, base := filepath.Split(abs)
	if !errors.Is(err, fs.ErrNotExist) || base == "." || base == ".." {
		return "", err
	}
	if info, statErr := os.Lstat(abs); statErr == nil && info.Mode()&fs.ModeSymlink != 0 {
		if _, statErr = os.Stat(abs); statErr == nil { // as /dev/stdin, and /proc/self/fd/N
			return "", fmt.Errorf("%q leads to an open file or pipe that has no name", name)
		}
		return "", fmt.Errorf("%q is a symbolic link to a missing file", name)
	}
	realDir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	return filepath.Join(realDir, base), checkSame(name, dir, realDir)
}

// checkSame refuses a path that the kernel follows elsewhere than its links
// say, as it does below /proc/PID/root.
func checkSame(name, path, real string) error {
	a, err := os.Stat(path)
	if err != nil {
		return err
	}
	b, err := os.Lstat(real)
	if err == nil && os.SameFile(a, b) {
		return nil
	}
	return fmt.Errorf("%q is not where its links lead, %q: name the file itself", name, real)
}
