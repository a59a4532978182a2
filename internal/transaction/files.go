package transaction

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/iamfaham/recolva/internal/storefs"
)

// The names beside a file NAME are .NAME.recolva-SUFFIX. They are fixed: the
// lock on the file makes sure that at most one set exists, so nothing random
// is ever left behind. doc.go says what each one holds.
const (
	lockSuffix       = "lock"
	newSuffix        = "new"
	addSuffix        = "add"
	audSuffix        = "aud"
	oldSuffix        = "old"
	journalSuffix    = "journal"
	journalTmpSuffix = "journal.tmp"
	pendingSuffix    = "pending"
	pendingTmpSuffix = "pending.tmp"
	nextSuffix       = "next"
	priorSuffix      = "prior"
)

const sideMark = ".recolva-"

// maxNameBytes is how long a name may be for the longest name beside it to fit
// into the 255 bytes that file systems give to one.
const maxNameBytes = 255 - len("."+sideMark+journalTmpSuffix)

// place is a file's real path, cut in two.
type place struct{ path, dir, base string }

func placeAt(path string) place {
	return place{path, filepath.Dir(path), filepath.Base(path)}
}

func (p place) side(suffix string) string {
	return filepath.Join(p.dir, "."+p.base+sideMark+suffix)
}

// role names a file's part in a transaction, in errors and in the journal.
type role string

const (
	roleInput   role = "input"
	roleArchive role = "archive"
	roleAudit   role = "audit"
)

// member is one file of a transaction.
type member struct {
	place
	role   role
	mode   AppendMode
	info   storefs.Info // as found under the lock
	exists bool
	sum    string // of a file to be replaced, if its times may hide a change
}

// fileSet holds the files of a transaction; nil for those it does not have.
type fileSet struct{ input, archive, audit *member }

func (s fileSet) all() []*member {
	var out []*member
	for _, m := range []*member{s.input, s.archive, s.audit} {
		if m != nil {
			out = append(out, m)
		}
	}
	return out
}

// resolve finds the real place of every file named. It reads directories only.
func (e *engine) resolve(f Files) (fileSet, error) {
	var set fileSet
	if e.opts.Mutate && (f.Input == "-" || f.Input == "") {
		return set, refusedf("standard input can only be read: name a file to change it")
	}
	add := func(m **member, r role, name string, mode AppendMode) error {
		if name == "" || r == roleInput && name == "-" {
			return nil
		}
		if os.IsPathSeparator(name[len(name)-1]) {
			return refusedf("%s %s names a directory, not a file", r, show(name))
		}
		real, err := e.fs.RealPath(name)
		if err != nil {
			return fmt.Errorf("%s %s: %w", r, show(name), bare(err))
		}
		*m = &member{place: placeAt(real), role: r, mode: mode}
		if strings.HasPrefix((*m).base, ".") && strings.Contains((*m).base, sideMark) {
			return refusedf("%s %s has a name that recolva keeps for itself", r, show(name))
		}
		if n := len((*m).base); n > maxNameBytes && e.changes(*m) {
			return refusedf("%s %s has a name of %d bytes, and the files beside it leave room for %d", r, show(name), n, maxNameBytes)
		}
		return nil
	}
	err := add(&set.input, roleInput, f.Input, Append)
	if err == nil {
		err = add(&set.archive, roleArchive, f.Archive, f.ArchiveMode)
	}
	if err == nil {
		err = add(&set.audit, roleAudit, f.Audit, f.AuditMode)
	}
	return set, err
}

// inspect looks at every file again, refuses wrong kinds, and refuses any two
// that are the same file.
func (e *engine) inspect(set fileSet) error {
	members := set.all()
	for _, m := range members {
		info, err := e.fs.Lstat(m.path)
		switch {
		case err == nil:
			m.info, m.exists = info, true
			if !info.Mode.IsRegular() {
				return refusedf("%s %s is %s, not a regular file", m.role, show(m.path), kindOf(info.Mode))
			}
		case errors.Is(err, fs.ErrNotExist) && m.role != roleInput:
			m.info, m.exists = storefs.Info{}, false
		default:
			return fmt.Errorf("%s %s: %w", m.role, show(m.path), bare(err))
		}
		if e.changes(m) {
			if err := e.checkNetwork(m); err != nil {
				return err
			}
		}
	}
	for i, a := range members {
		for _, b := range members[:i] {
			if a.path == b.path || a.exists && b.exists && a.info.SameFile(b.info) {
				return sameFile(b, a)
			}
		}
	}
	return nil
}

func sameFile(a, b *member) error {
	return refusedf("%s %s and %s %s are the same file", a.role, show(a.path), b.role, show(b.path))
}

// changes tells whether the transaction may change m.
func (e *engine) changes(m *member) bool { return e.opts.Mutate || m.role != roleInput }

func (e *engine) checkNetwork(m *member) error {
	if e.opts.AllowNetworkFS {
		return nil
	}
	kind, err := e.fs.Network(m.dir)
	if err != nil {
		return fmt.Errorf("%s %s: %w", m.role, show(m.path), bare(err))
	}
	if kind != "" {
		return refusedf("%s %s is on a network file system (%s), where locks may not hold", m.role, show(m.path), kind)
	}
	return nil
}

// checkNames refuses files with other hard links: replacing one name would
// leave the others with the old content.
func (e *engine) checkNames(set fileSet) error {
	for _, m := range set.all() {
		if m.exists && e.changes(m) && m.info.Nlink > 1 {
			return refusedLinks(m, m.info.Nlink)
		}
	}
	return nil
}

func refusedLinks(m *member, links uint64) error {
	return refusedf("%s %s has %d hard links: the other names would keep the old content", m.role, show(m.path), links)
}

// wouldRefuse lists the guards that a dry-run passes and a mutation would not.
func (e *engine) wouldRefuse(set fileSet) (texts []string) {
	for _, m := range set.all() {
		if e.changes(m) || !m.exists {
			continue
		}
		if m.info.Nlink > 1 {
			texts = append(texts, refusedLinks(m, m.info.Nlink).Error())
		}
		if err := e.checkNetwork(m); err != nil {
			texts = append(texts, err.Error())
		}
	}
	return texts
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

// show makes a path safe for a terminal, quoting it only when that is needed.
func show(path string) string {
	if quoted := strconv.QuoteToASCII(path); quoted != `"`+path+`"` {
		return quoted
	}
	return path
}

// bare drops the path that the os package puts into its errors, for texts that
// already name it.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return err
}
