package transaction

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Class says what an error means for the caller; its value is the exit status
// of the programs that report it.
type Class int

// The classes. Failed, Refused and NeedsPerson promise that nothing changed.
const (
	Failed      Class = 1 // an input or output error
	Refused     Class = 3 // a guard fired, or the input changed meanwhile
	NeedsPerson Class = 4 // leftovers that only a person can judge
	Uncertain   Class = 5 // committed, but something is left for the next run
)

// Error is an error with its class.
type Error struct {
	Class Class
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error within.
func (e *Error) Unwrap() error { return e.Err }

func refusef(format string, args ...any) error {
	return &Error{Refused, fmt.Errorf(format, args...)}
}

// AppendMode says what becomes of the earlier content of an archive or audit.
type AppendMode uint8

// The modes: keep earlier content and add to it, or put the new in its place.
const (
	Append AppendMode = iota
	Replace
)

// Files names the files of a transaction. Archive and Audit may be empty.
// Input may be empty in a dry-run that reads its records from elsewhere.
type Files struct {
	Input, Archive, Audit  string
	ArchiveMode, AuditMode AppendMode
}

// Options are the circumstances of a transaction. Without Mutate the input is
// only read, and the audit is the only file that may change.
type Options struct {
	LockTimeout    time.Duration
	AllowNetworkFS bool
	Mutate         bool
	Warn           func(text string)
}

// Digest is the SHA-256 and the length of some bytes.
type Digest struct {
	SHA256 [sha256.Size]byte
	Bytes  int64
}

// Last holds a last line without line end, and what it would add to each
// output. It is decided only if the input has not grown by the time of Commit.
type Last struct{ Line, Retained, Pruned, Audit []byte }

// Final is what a transaction came to. The digests are of the swept bytes, of
// the retained bytes, of the bytes added to the archive, and of the audit
// lines; they are computed only where an audit is written.
type Final struct {
	Grew                             bool // the last line was left undecided
	Before, After, Archived, Audited Digest
}

// Outcome is what a commit did beside its contract.
type Outcome struct {
	CarriedBytes int64 // bytes appended by others meanwhile and carried over
}

// Transaction is one change in progress. It is not safe for concurrent use.
type Transaction struct {
	files   Files
	options Options
	prev    string

	input   *os.File // nil without Files.Input
	opened  os.FileInfo
	target  string // the input's path with symbolic links resolved
	before  hash.Hash
	read    int64
	hashing bool

	retained, pruned, audit *staged // nil where not wanted
	done                    bool
}

// Begin opens the files and refuses what must not be swept. Nothing has been
// opened for writing when it refuses.
func Begin(ctx context.Context, f Files, o Options) (*Transaction, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := &Transaction{files: f, options: o, prev: strings.Repeat("0", 2*sha256.Size), hashing: f.Audit != ""}
	if err := t.begin(); err != nil {
		t.Rollback()
		return nil, err
	}
	return t, nil
}

func (t *Transaction) begin() error {
	f := t.files
	if err := checkKinds(f); err != nil {
		return err
	}
	if err := checkAliases(f); err != nil {
		return err
	}
	if f.Input != "" {
		if err := t.openInput(); err != nil {
			return err
		}
	}
	if f.Audit != "" {
		if f.AuditMode == Append {
			prev, err := chainDigest(f.Audit)
			if err != nil {
				return err
			}
			t.prev = prev
		}
	}
	return t.stage()
}

func (t *Transaction) openInput() (err error) {
	if t.target, err = filepath.EvalSymlinks(t.files.Input); err != nil {
		return &Error{Failed, err}
	}
	if t.input, err = os.Open(t.target); err != nil {
		return &Error{Failed, err}
	}
	if t.opened, err = t.input.Stat(); err != nil {
		return &Error{Failed, err}
	}
	if n := linkCount(t.opened); t.options.Mutate && n > 1 {
		return refusef("%s", linkText(t.files.Input, n))
	}
	t.before = sha256.New()
	return nil
}

func linkText(path string, n uint64) string {
	return fmt.Sprintf("%s has %d hard links: the other names would keep the old content", path, n)
}

func (t *Transaction) stage() (err error) {
	if t.files.Audit != "" {
		if t.audit, err = newStaged(t.files.Audit, true); err != nil {
			return err
		}
	}
	if !t.options.Mutate {
		return nil
	}
	if t.retained, err = newStaged(t.target, t.hashing); err != nil {
		return err
	}
	if t.files.Archive == "" {
		t.pruned = &staged{} // delete: counted and dropped
		return nil
	}
	t.pruned, err = newStaged(t.files.Archive, t.hashing)
	return err
}

// Input reads the bytes [0, InputSize) as they were at Begin.
func (t *Transaction) Input() io.Reader { return (*inputReader)(t) }

// InputSize returns the length of the input at Begin, in bytes.
func (t *Transaction) InputSize() int64 {
	if t.opened == nil {
		return 0
	}
	return t.opened.Size()
}

// Prev returns the SHA-256 in hex of the audit from its last run line to its
// end, or 64 zeros where there is no such line to continue from.
func (t *Transaction) Prev() string { return t.prev }

// WouldRefuse lists the guards that a dry-run passes and a mutation would not.
func (t *Transaction) WouldRefuse() []string {
	if t.opened == nil || t.options.Mutate {
		return nil
	}
	if n := linkCount(t.opened); n > 1 {
		return []string{linkText(t.files.Input, n)}
	}
	return nil
}

// Retained takes the bytes that stay in the input; nil in a dry-run.
func (t *Transaction) Retained() io.Writer { return t.retained.writer() }

// Pruned takes the bytes that leave the input; nil in a dry-run. Without an
// archive they are counted and dropped.
func (t *Transaction) Pruned() io.Writer { return t.pruned.writer() }

// Audit takes audit lines; nil where no audit was asked for.
func (t *Transaction) Audit() io.Writer { return t.audit.writer() }

// Rollback drops what was staged. It may be called at any time, and does
// nothing after Commit.
func (t *Transaction) Rollback() error {
	if t.done {
		return nil
	}
	t.done = true
	return t.close()
}

func (t *Transaction) close() error {
	errs := []error{t.retained.drop(), t.pruned.drop(), t.audit.drop()}
	if t.input != nil {
		errs = append(errs, t.input.Close())
	}
	return errors.Join(errs...)
}

// inputReader reads the input up to its size at Begin and hashes on the way.
type inputReader Transaction

func (r *inputReader) Read(p []byte) (int, error) {
	left := r.opened.Size() - r.read
	if left <= 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > left {
		p = p[:left]
	}
	n, err := r.input.Read(p)
	if n > 0 && r.hashing {
		r.before.Write(p[:n])
	}
	r.read += int64(n)
	if err == io.EOF {
		return n, refusef("%s became shorter while it was read", r.files.Input)
	}
	if err != nil {
		return n, &Error{Failed, err}
	}
	return n, nil
}
