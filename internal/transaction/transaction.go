package transaction

import (
	"context"
	"io"
	"time"

	"github.com/iamfaham/recolva/internal/storefs"
)

// AppendMode says what becomes of the earlier content of an archive or audit.
type AppendMode uint8

const (
	// Append adds to the file.
	Append AppendMode = iota
	// Replace puts a new file in its place, in one step with the rest.
	Replace
)

// Files names the files of a transaction. Archive and Audit may be empty.
// Input may be "-" (standard input) when nothing is mutated.
type Files struct {
	Input, Archive, Audit  string
	ArchiveMode, AuditMode AppendMode
}

// Options of Begin and Recover.
type Options struct {
	LockTimeout    time.Duration // how long to wait for another sweep; 0 does not wait
	AllowNetworkFS bool          // mutate even where locks may not reach other machines
	Mutate         bool          // false: the input is only read (dry-run)
	Warn           func(text string)
}

// Digest is the SHA-256 and the length of a run of bytes.
type Digest struct {
	SHA256 [32]byte
	Bytes  int64
}

// Last holds the effects of a last line that has no newline. Whether it is
// decided turns out only at the commit: if the file has grown, the line
// belongs to the tail that is carried over.
type Last struct {
	Line, Retained, Pruned, Audit []byte
	Fault                         error // what is wrong with a line that only growth can complete
}

// Final is what the run line of the audit says about the files.
type Final struct {
	Grew     bool   // the last line was not decided but carried over
	Before   Digest // the swept bytes
	After    Digest // the retained bytes, without a carried tail
	Archived Digest // the pruned bytes, in archive mode
	Audited  Digest // the decision lines of this run
}

// Outcome says what a commit did beyond what the caller wrote.
type Outcome struct {
	Replaced     bool  // the input was replaced; false when nothing was pruned
	CarriedBytes int64 // bytes that others appended meanwhile and that were carried over
}

// Transaction is one sweep of one store: everything that it writes is staged
// until Commit, and Commit does all of it or nothing.
type Transaction struct {
	*engine
	files   fileSet
	locks   *lockSet
	input   *inputReader
	prev    string
	stage   stage
	auditAt storefs.Info // the audit as prev was computed; zero when there was none
	racy    bool         // the input's time of change may hide a later change
	done    bool
}

// Begin locks the files, settles whatever an interrupted run left, checks
// that the files are distinct and of the right kind, and opens the input.
// Nothing is mutated before these checks.
func Begin(ctx context.Context, fsys storefs.FS, f Files, o Options) (*Transaction, error) {
	return newEngine(fsys, o, hooks{}).begin(ctx, f)
}

// Input reads the bytes [0, InputSize()) of the input as it was opened.
func (t *Transaction) Input() io.Reader { return t.input }

// InputSize is the length of the input at open, 0 for standard input.
func (t *Transaction) InputSize() int64 { return t.input.size }

// Prev is the link of the audit's chain of run lines: 64 hexadecimal digits.
func (t *Transaction) Prev() string { return t.prev }

// WouldRefuse lists the guards that this dry-run passes and a mutation of the
// same files would not.
func (t *Transaction) WouldRefuse() []string { return t.wouldRefuse(t.files) }

// Retained takes the lines that stay in the store; nil in dry-run.
func (t *Transaction) Retained() io.Writer { return t.stage.retained.writer() }

// Pruned takes the lines that leave the store: for the archive if there is
// one, else they are only counted; nil in dry-run.
func (t *Transaction) Pruned() io.Writer { return t.stage.pruned.writer() }

// Audit takes this run's decision lines; nil without an audit.
func (t *Transaction) Audit() io.Writer { return t.stage.audit.writer() }

// Commit makes everything staged happen, or nothing. runLine is called once,
// when the digests are known, and returns the line that ends the audit's
// block; it may be nil. After an error of class Uncertain the transaction is
// committed; after any other error nothing has changed.
func (t *Transaction) Commit(ctx context.Context, last *Last, runLine func(Final) []byte) (Final, Outcome, error) {
	final, outcome, err := t.commit(ctx, last, runLine)
	return final, outcome, failed(err)
}

// Rollback drops everything staged and releases the locks. It does nothing
// after Commit or a first Rollback.
func (t *Transaction) Rollback() error { return failed(t.rollback()) }

// RecoverResult says what Recover found and did.
type RecoverResult struct {
	Found      bool  // an interrupted run had left something
	Committed  int   // runs whose commit was completed
	RolledBack int   // runs that were undone
	MovedBytes int64 // bytes that were moved from an old file to the store
}

// Recover settles what an interrupted run left at the input, archive or audit
// of that name, as Begin does.
func Recover(ctx context.Context, fsys storefs.FS, inputPath string, o Options) (RecoverResult, error) {
	result, err := newEngine(fsys, o, hooks{}).recover(ctx, inputPath)
	return result, failed(err)
}
