package sweep

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"time"

	"github.com/iamfaham/recolva/internal/canon"
	"github.com/iamfaham/recolva/internal/ledger"
	"github.com/iamfaham/recolva/internal/storefs"
	"github.com/iamfaham/recolva/internal/transaction"
	"github.com/iamfaham/recolva/internal/version"
)

const modeRestore = "restore"

// restoring is one attempt, its files locked.
type restoring struct {
	*restore
	tx     *transaction.Transaction
	placed string

	moved sumWriter // the records as they go to the store
	taken ledger.Taken
}

func (t *restoring) run(ctx context.Context) (*Restored, error) {
	t.out.RunID = t.runID()
	if err := t.stage(ctx); err != nil {
		return nil, err
	}
	if t.taken.Restored == 0 {
		t.out.RunID = ""
		return t.nothing()
	}
	if t.placed == ledger.Merged {
		if err := t.checkQuiet(); err != nil {
			return nil, err
		}
	} else if err := t.awaitLine(ctx); err != nil {
		return nil, err
	}
	_ = t.store.Close() // others are shut out of it where nobody has it open
	_, outcome, err := t.tx.Commit(ctx, nil, t.runLine)
	switch class := transaction.ClassOf(err); {
	case err == nil || class == transaction.Uncertain:
		t.out.count(t.taken)
		t.out.Placed, t.out.CarriedBytes = t.placed, outcome.CarriedBytes
		return &t.out, err
	case t.placed == ledger.Merged && class == transaction.Refused:
		return nil, errNotMerged // somebody is at the store: adding to it harms nobody
	}
	return nil, err
}

// checkQuiet keeps a restore from putting a new file in the place of a store
// that somebody has open for writing: its lines would have to be moved for as
// long as it writes. What is written from now on is moved by the transaction.
func (t *restoring) checkQuiet() error {
	writers, _, err := t.lookAtStore()
	if err == nil && writers {
		err = errNotMerged
	}
	return err
}

// awaitLine waits as long as for a lock until no program is in the middle of a
// line: what is added now would split it.
func (t *restoring) awaitLine(ctx context.Context) error {
	deadline := time.Now().Add(t.job.Options.LockTimeout)
	for {
		writers, open, err := t.lookAtStore()
		if err != nil || !writers || !open {
			return err
		}
		if time.Now().After(deadline) {
			return refused(fmt.Errorf("%s ends within a line, and a program has it open for writing: what is restored would split the line (waited %s)", t.job.Store, t.job.Options.LockTimeout))
		}
		if err := storefs.OS().Sleep(ctx, 10*time.Millisecond); err != nil {
			return failed(err)
		}
	}
}

// lookAtStore tells whether a program has the store open for writing, where the
// system can tell, and whether it ends without a newline.
func (t *restoring) lookAtStore() (writers, open bool, err error) {
	f, err := storefs.OS().OpenFile(t.job.Store, os.O_RDONLY, 0)
	if err != nil {
		return false, false, failed(err)
	}
	defer f.Close()
	writers, err = f.HasWriters()
	if err != nil && !errors.Is(err, storefs.ErrUnsupported) {
		return false, false, failed(err)
	}
	info, err := f.Stat()
	if err != nil {
		return false, false, failed(err)
	}
	last := []byte{'\n'}
	if _, err := f.ReadAt(last, info.Size-1); err != nil && info.Size > 0 {
		return false, false, failed(err)
	}
	return writers, last[0] != '\n', nil
}

// sumWriter is the digest of what is written to it.
type sumWriter struct {
	sum   hash.Hash
	bytes int64
}

func (s *sumWriter) Write(p []byte) (int, error) {
	s.bytes += int64(len(p))
	return s.sum.Write(p)
}

func (s *sumWriter) digest() (d transaction.Digest) {
	d.Bytes = s.bytes
	s.sum.Sum(d.SHA256[:0])
	return d
}

// stage writes the new archive, the records for the store, and the audit.
func (t *restoring) stage(ctx context.Context) (err error) {
	t.moved.sum = sha256.New()
	out := ledger.Outputs{Left: t.tx.Retained(), Moved: io.MultiWriter(t.tx.Pruned(), &t.moved)}
	if t.placed == ledger.Merged {
		out.Moved = &t.moved
		staged := bufio.NewWriterSize(t.tx.Pruned(), 64<<10)
		merged, err := t.selection.Merge(staged, t.audit, t.job.Run, t.store, t.archive)
		if err == nil {
			err = staged.Flush()
		}
		if err != nil {
			return failed(err)
		}
		if !merged {
			return errNotMerged
		}
	}
	if audit := t.tx.Audit(); audit != nil {
		var line []byte
		out.Told = func(id []byte, number int64) error {
			line = canon.AppendString(append(line[:0], `{"mode":"restore","id":`...), id)
			line = canon.AppendInt(append(line, `,"action":"restored","line":`...), number)
			line = canon.AppendString(append(line, `,"run_id":`...), t.out.RunID)
			_, err := audit.Write(append(line, "}\n"...))
			return err
		}
	}
	t.taken, err = t.selection.Take(stoppable{ctx, t.tx.Input()}, t.ids, out)
	return err
}

// stoppable ends a reader with its context.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s stoppable) Read(p []byte) (int, error) {
	if err := context.Cause(s.ctx); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

// runID names the restore by all that determines it.
func (t *restoring) runID() string {
	b := []byte{'{'}
	if t.job.Run == "" {
		b = append(b, `"ids":[`...)
		for i, id := range t.job.IDs {
			if i > 0 {
				b = append(b, ',')
			}
			b = canon.AppendString(b, id)
		}
		b = append(b, `],`...)
	}
	b = canon.AppendInt(append(b, `"input_bytes":`...), t.tx.InputSize())
	b = canon.AppendString(append(b, `,"mode":"restore","prev":`...), t.tx.Prev())
	if t.job.Run != "" {
		b = canon.AppendString(append(b, `,"run":`...), t.job.Run)
	}
	sum := sha256.Sum256(append(b, '}'))
	return hex.EncodeToString(sum[:8])
}

func (t *restoring) runLine(f transaction.Final) []byte {
	b := canon.AppendString([]byte(`{"event":"run","run_id":`), t.out.RunID)
	b = canon.AppendString(append(b, `,"mode":"restore","of":`...), t.job.Run)
	b = canon.AppendString(append(b, `,"placed":`...), t.placed)
	b = canon.AppendInt(append(b, `,"scanned":`...), t.taken.Restored+t.taken.Left)
	b = canon.AppendInt(append(b, `,"restored":`...), t.taken.Restored)
	b = appendDigest(append(b, `,"before":`...), f.Before)
	b = appendDigest(append(b, `,"after":`...), f.After)
	b = appendDigest(append(b, `,"archived":`...), t.moved.digest())
	b = appendDigest(append(b, `,"audited":`...), f.Audited)
	b = canon.AppendString(append(b, `,"version":`...), version.Number())
	b = canon.AppendString(append(b, `,"prev":`...), t.tx.Prev())
	return append(b, "}\n"...)
}
