package transaction

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Commit makes the change. last is a last line without line end, or nil;
// runLine returns the line that closes the audit, and is called only where an
// audit is written. On an error nothing has changed, unless its class is
// Uncertain. ctx is heeded until the commit point.
func (t *Transaction) Commit(ctx context.Context, last *Last, runLine func(Final) []byte) (Final, Outcome, error) {
	final, err := t.commit(ctx, last, runLine)
	closeErr := t.Rollback()
	if err == nil && closeErr != nil {
		err = &Error{Failed, closeErr}
	}
	return final, Outcome{}, err
}

func (t *Transaction) commit(ctx context.Context, last *Last, runLine func(Final) []byte) (final Final, err error) {
	if err := ctx.Err(); err != nil {
		return final, err
	}
	if final.Grew, err = t.grew(); err != nil {
		return final, err
	}
	if last != nil && !final.Grew {
		if err := t.addLast(last); err != nil {
			return final, err
		}
	}
	if final, err = t.digests(final, last); err != nil {
		return final, err
	}
	if t.audit != nil {
		if _, err := t.audit.Write(runLine(final)); err != nil {
			return final, err
		}
	}
	return final, t.apply(ctx)
}

// grew reports whether the input is longer than at Begin. A mutation refuses
// an input that is in any way not the one that was read.
func (t *Transaction) grew() (bool, error) {
	if t.input == nil {
		return false, nil
	}
	now, err := os.Stat(t.target)
	if err != nil {
		return false, &Error{Refused, err}
	}
	same := os.SameFile(now, t.opened) && now.Size() == t.opened.Size() && now.ModTime().Equal(t.opened.ModTime())
	if t.options.Mutate && !same {
		return false, refusef("%s was changed by another process while it was swept", t.files.Input)
	}
	return now.Size() > t.opened.Size(), nil
}

func (t *Transaction) addLast(last *Last) error {
	for _, part := range []struct {
		to   *staged
		data []byte
	}{{t.retained, last.Retained}, {t.pruned, last.Pruned}, {t.audit, last.Audit}} {
		if part.to == nil || len(part.data) == 0 {
			continue
		}
		if _, err := part.to.Write(part.data); err != nil {
			return err
		}
	}
	return nil
}

func (t *Transaction) digests(final Final, last *Last) (Final, error) {
	if !t.hashing {
		final.Archived = t.pruned.digest()
		return final, nil
	}
	if t.input != nil {
		t.before.Sum(final.Before.SHA256[:0])
		final.Before.Bytes = t.read
	}
	if last != nil && final.Grew {
		h := t.before
		h.Reset()
		n, err := io.Copy(h, io.NewSectionReader(t.input, 0, t.read-int64(len(last.Line))))
		if err != nil {
			return final, &Error{Failed, err}
		}
		h.Sum(final.Before.SHA256[:0])
		final.Before.Bytes = n
	}
	final.After = final.Before
	if t.options.Mutate {
		final.After = t.retained.digest()
	}
	final.Archived = t.pruned.digest()
	final.Audited = t.audit.digest()
	return final, nil
}

// apply moves what was staged to its places; see the order in doc.go.
func (t *Transaction) apply(ctx context.Context) (err error) {
	var undo []func() error
	defer func() {
		if err == nil {
			return
		}
		for i := len(undo) - 1; i >= 0; i-- {
			err = errors.Join(err, undo[i]())
		}
	}()
	shrinks := t.options.Mutate && t.pruned.size > 0
	if shrinks && t.files.Archive != "" {
		u, err := t.pruned.addTo(t.files.Archive, t.files.ArchiveMode, t.opened)
		if err != nil {
			return err
		}
		undo = append(undo, u)
	}
	if t.audit != nil {
		u, err := t.audit.addTo(t.files.Audit, t.files.AuditMode, t.opened)
		if err != nil {
			return err
		}
		undo = append(undo, u)
	}
	if !shrinks {
		return nil
	}
	if err := t.retained.finish(t.opened); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := t.grew(); err != nil {
		return err
	}
	if err := os.Rename(t.retained.path, t.target); err != nil {
		return &Error{Failed, err}
	}
	t.retained.path = ""
	undo = nil
	if err := syncDir(filepath.Dir(t.target)); err != nil {
		return &Error{Uncertain, err}
	}
	return nil
}
