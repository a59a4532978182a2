package transaction

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
)

func (e *engine) begin(ctx context.Context, f Files) (*Transaction, error) {
	t := &Transaction{engine: e, prev: noPrev, input: &inputReader{}}
	if err := t.start(ctx, f); err != nil {
		return nil, failed(alsoFailed(err, t.rollback()))
	}
	return t, nil
}

func (t *Transaction) start(ctx context.Context, f Files) (err error) {
	if t.files, err = t.resolve(f); err != nil {
		return err
	}
	if err := t.inspect(t.files); err != nil {
		return err
	}
	if t.opts.Mutate || t.files.audit != nil {
		if err := t.takeOver(ctx); err != nil {
			return err
		}
	}
	if err := t.openInput(f); err != nil {
		return err
	}
	if err := t.openAudit(); err != nil {
		return err
	}
	return t.openStage()
}

// home is the place beside which journal and staged files stand: the input,
// or the audit where the input is only read.
func (t *Transaction) home() place {
	if t.opts.Mutate {
		return t.files.input.place
	}
	return t.files.audit.place
}

// takeOver locks what the transaction may change, settles what an interrupted
// run left there, and looks at the files once more: recovery may have changed
// them, and so may others before the lock.
func (t *Transaction) takeOver(ctx context.Context) (err error) {
	var places []place
	for _, m := range t.files.all() {
		if t.changes(m) {
			places = append(places, m.place)
		}
	}
	var found RecoverResult
	t.locks, err = t.settle(ctx, places, &found)
	if err != nil {
		t.locks.remain()
	}
	if ClassOf(err) == Uncertain {
		return refusedf("an earlier sweep is not finished: %w", err)
	}
	if err != nil {
		return err
	}
	if err := t.inspect(t.files); err != nil {
		return err
	}
	if err := t.checkNames(t.files); err != nil {
		return err
	}
	return t.sumReplaced()
}

func (t *Transaction) openInput(f Files) error {
	r := t.input
	if t.opts.Mutate || t.files.audit != nil {
		r.sum = sha256.New()
	}
	m := t.files.input
	if m == nil {
		if f.Input == "-" {
			r.pipe = os.Stdin
		} else {
			r.pipe = eofReader{}
		}
		return nil
	}
	file, err := t.fs.OpenFile(m.path, os.O_RDONLY, 0)
	if err != nil {
		return fmt.Errorf("%s %s: %w", m.role, show(m.path), bare(err))
	}
	r.file = file
	if r.info, err = file.Stat(); err != nil {
		return err
	}
	if !r.info.Mode.IsRegular() {
		return refusedf("%s %s is %s, not a regular file", m.role, show(m.path), kindOf(r.info.Mode))
	}
	if !r.info.SameFile(m.info) && t.opts.Mutate {
		return refusedf("%s %s was replaced meanwhile", m.role, show(m.path))
	}
	r.size = r.info.Size
	t.racy = t.locks.mayHideChange(m.path, r.info)
	return nil
}

func (t *Transaction) openAudit() error {
	m := t.files.audit
	if m == nil || !m.exists || m.mode == Replace {
		return nil
	}
	f, err := t.fs.OpenFile(m.path, os.O_RDONLY, 0)
	if err != nil {
		return fmt.Errorf("%s %s: %w", m.role, show(m.path), bare(err))
	}
	defer f.Close()
	if t.auditAt, err = f.Stat(); err != nil {
		return err
	}
	t.prev, err = t.chainLink(f, t.auditAt.Size)
	return err
}

func (t *Transaction) openStage() (err error) {
	if t.opts.Mutate {
		if t.stage.retained, err = t.stageAt(t.home().side(newSuffix)); err != nil {
			return err
		}
		path := ""
		if t.files.archive != nil {
			path = t.stagedPath(t.files.archive)
		}
		if t.stage.pruned, err = t.stageAt(path); err != nil {
			return err
		}
	}
	if t.files.audit == nil {
		return nil
	}
	if !t.opts.Mutate && !t.files.audit.exists {
		if err := t.stageNewAudit(); err != nil || t.stage.audit != nil {
			return err
		}
	}
	t.stage.audit, err = t.stageAt(t.stagedPath(t.files.audit))
	return err
}

// stageNewAudit stages the new audit of a dry-run where it only needs its name
// to be in place, as in replace mode: nothing is copied then. It stages nothing
// where the file system has no hard links, which give this name.
func (t *Transaction) stageNewAudit() error {
	m := t.files.audit
	s, err := t.stageAt(m.side(nextSuffix))
	if err != nil {
		return err
	}
	t.stage.audit = s
	probe := m.side(priorSuffix)
	if t.fs.Link(s.path, probe) == nil {
		m.mode = Replace
		if err = t.remove(probe); err != nil {
			t.locks.remain()
		}
		return err
	}
	t.stage.audit = nil
	return t.drop(s)
}

// stagedPath says where the bytes for an archive or audit wait: beside the
// home to be appended, or beside the file whose place they take.
func (t *Transaction) stagedPath(m *member) string {
	if m.mode == Replace {
		return m.side(nextSuffix)
	}
	return t.home().side(appendSuffix(m.role))
}

func appendSuffix(r role) string {
	if r == roleArchive {
		return addSuffix
	}
	return audSuffix
}

func (t *Transaction) rollback() error {
	if t.done {
		return nil
	}
	t.done = true
	t.input.close()
	var errs []error
	for _, s := range t.stage.all() {
		if s.file != nil {
			errs = append(errs, t.drop(s))
		}
	}
	err := errors.Join(errs...)
	if err != nil {
		t.locks.remain()
	}
	t.release()
	if err != nil {
		return fmt.Errorf("temporary files remain until the next run: %w", err)
	}
	return nil
}

// release gives every lock and open file up.
func (t *Transaction) release() {
	t.input.close()
	for _, s := range t.stage.all() {
		_ = s.close()
	}
	t.data.releaseAll()
	t.locks.release()
}

type eofReader struct{}

func (eofReader) Read([]byte) (int, error) { return 0, io.EOF }
