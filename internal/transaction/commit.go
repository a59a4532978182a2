package transaction

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"slices"

	"github.com/iamfaham/recolva/internal/storefs"
)

func (t *Transaction) commit(ctx context.Context, last *Last, runLine func(Final) []byte) (Final, Outcome, error) {
	if t.done {
		return Final{}, Outcome{}, errors.New("the transaction is over")
	}
	final, j, err := t.prepare(ctx, last, runLine)
	if err != nil || j == nil {
		return final, Outcome{}, alsoFailed(err, t.rollback())
	}
	t.done = true
	defer t.release()
	outcome := Outcome{Replaced: j.Replace}
	if j.Replace {
		outcome.CarriedBytes = t.stage.retained.size - final.After.Bytes
	}
	moved, err := t.perform(context.WithoutCancel(ctx), j)
	outcome.CarriedBytes += moved
	return final, outcome, err
}

// prepare takes the locks of the data files, checks that they are still what
// was swept, stages the rest and makes all of it durable. It returns the
// journal to write, nil when there is nothing to commit. It mutates nothing
// but the staged files.
func (t *Transaction) prepare(ctx context.Context, last *Last, runLine func(Final) []byte) (Final, *journal, error) {
	if err := t.lockFiles(ctx); err != nil {
		return Final{}, nil, err
	}
	size, err := t.checkInput(ctx)
	if err != nil {
		return Final{}, nil, err
	}
	final, err := t.decideLast(last, size > t.input.size)
	if err != nil {
		return final, nil, err
	}
	if t.stage.audit != nil && runLine != nil {
		if _, err := t.stage.audit.Write(runLine(final)); err != nil {
			return final, nil, err
		}
	}
	j, err := t.plan(final, size)
	if err == nil && j != nil {
		err = t.dropUnused(j)
	}
	if err != nil || j == nil {
		return final, nil, err
	}
	if err := t.syncStage(j); err != nil {
		return final, nil, err
	}
	return final, j, t.locks.checkHeld()
}

// dropUnused removes what was staged for a file that stays as it is.
func (t *Transaction) dropUnused(j *journal) error {
	used := map[*staged]bool{t.stage.retained: j.Replace}
	for i := range j.Targets {
		_, s := t.targetFiles(&j.Targets[i])
		used[s] = true
	}
	for _, s := range t.stage.all() {
		if s.file != nil && !used[s] {
			if err := t.drop(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// lockFiles locks the data files in the order of their inodes.
func (t *Transaction) lockFiles(ctx context.Context) error {
	if t.locks == nil {
		return nil
	}
	members := slices.DeleteFunc(t.files.all(), func(m *member) bool { return !t.changes(m) })
	slices.SortFunc(members, func(a, b *member) int {
		return cmp.Or(cmp.Compare(a.info.Dev, b.info.Dev), cmp.Compare(a.info.Ino, b.info.Ino))
	})
	deadline := t.deadline()
	for _, m := range members {
		if m.role == roleInput {
			if err := t.lockOpen(ctx, t.input.file, t.home()); err != nil {
				return err
			}
			continue
		}
		_, err := t.data.get(ctx, m.place, deadline)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s %s: %w", m.role, show(m.path), bare(err))
		}
	}
	return nil
}

// checkInput refuses an input that is not the one that was swept, and returns
// its length now.
func (t *Transaction) checkInput(ctx context.Context) (int64, error) {
	r := t.input
	if r.pipe != nil {
		return 0, nil
	}
	if r.read != r.size {
		return 0, fmt.Errorf("only %d of %d bytes of the input were read", r.read, r.size)
	}
	now, err := r.file.Stat()
	if err != nil || !t.opts.Mutate {
		return now.Size, err
	}
	path := show(t.home().path)
	if !t.skips(checkInodeFirst) {
		if err := t.checkStillThere(t.home(), r.info); err != nil {
			return 0, err
		}
	}
	if now.Nlink > 1 {
		return 0, refusedLinks(t.files.input, now.Nlink)
	}
	if now.Size < r.size {
		return 0, refusedf("input %s was cut meanwhile, from %d to %d bytes", path, r.size, now.Size)
	}
	changed := now.ModNanos != r.info.ModNanos || now.ChangeNano != r.info.ChangeNano
	if (changed || t.racy) && !t.skips(checkRewrite) {
		return now.Size, t.checkContent(ctx)
	}
	return now.Size, nil
}

// checkContent reads the swept bytes again.
func (t *Transaction) checkContent(ctx context.Context) error {
	sum := sha256.New()
	const stride = 64 << 20 // bytes between two looks at ctx
	for from := int64(0); from < t.input.size; from += stride {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.copyRange(sum, t.input.file, from, min(from+stride, t.input.size)); err != nil {
			return err
		}
	}
	if !bytes.Equal(sum.Sum(nil), t.input.sum.Sum(nil)) {
		return refusedf("input %s was rewritten meanwhile", show(t.home().path))
	}
	return nil
}

// decideLast writes the effects of a last line without newline, unless the
// file has grown: then the line may only now be complete.
func (t *Transaction) decideLast(last *Last, grew bool) (final Final, err error) {
	if last == nil {
		last = &Last{}
	}
	undecided := int64(0)
	if grew && len(last.Line) > 0 {
		final.Grew, undecided = true, int64(len(last.Line))
	} else if last.Fault != nil { // it had grown, and shrank again
		return final, last.Fault
	} else {
		for _, w := range []struct {
			to   *staged
			what []byte
		}{{t.stage.retained, last.Retained}, {t.stage.pruned, last.Pruned}, {t.stage.audit, last.Audit}} {
			if w.to != nil && err == nil {
				_, err = w.to.Write(w.what)
			}
		}
	}
	final.Before = t.input.digest(undecided)
	final.After = final.Before
	if t.opts.Mutate {
		final.After = t.stage.retained.digest()
	}
	final.Archived, final.Audited = (*staged)(nil).digest(), t.stage.audit.digest()
	if t.files.archive != nil {
		final.Archived = t.stage.pruned.digest()
	}
	return final, err
}

// plan carries the appended tail over and describes the commit; nil when
// nothing is to be changed.
func (t *Transaction) plan(final Final, size int64) (*journal, error) {
	j := &journal{Version: journalVersion}
	if t.opts.Mutate && t.stage.pruned.size > 0 {
		if err := t.planInput(j, final.Before.Bytes, size); err != nil {
			return nil, err
		}
		if t.files.archive != nil {
			if err := t.planTarget(j, t.files.archive, t.stage.pruned); err != nil {
				return nil, err
			}
		}
	}
	if t.stage.audit != nil && t.stage.audit.size > 0 {
		if err := t.planTarget(j, t.files.audit, t.stage.audit); err != nil {
			return nil, err
		}
	}
	if !j.Replace && len(j.Targets) == 0 {
		return nil, nil
	}
	j.Home = byteName(t.home().base)
	return j, nil
}

// planInput copies what was appended since, [from, to), behind the retained
// lines. While somebody is writing, a last line that is not whole stays for
// the drain: its rest may still come.
func (t *Transaction) planInput(j *journal, from, to int64) error {
	r := t.input
	writers, err := r.file.HasWriters()
	if err != nil && !errors.Is(err, storefs.ErrUnsupported) {
		return err
	}
	now, statErr := r.file.Stat() // what has grown since was perhaps measured within a line
	if statErr != nil {
		return statErr
	}
	if from < to && (writers || err != nil || now.Size != to) {
		if to, err = t.lastNewline(r.file, from, to); err != nil {
			return err
		}
	}
	sum := r.sumAt(from)
	if !t.skips(carryTail) {
		if err := t.copyRange(io.MultiWriter(t.stage.retained, sum), r.file, from, to); err != nil {
			return err
		}
	}
	open, err := endsOpen(r.file, to)
	if err != nil {
		return err
	}
	j.Replace = true
	j.Old = &oldInput{Ino: r.info.Ino, Bytes: to, Open: open, SHA256: hex.EncodeToString(sum.Sum(nil))}
	return nil
}

// sumAt is the hash of the first bytes of the input, all of them or all but a
// last line that was not decided.
func (r *inputReader) sumAt(offset int64) hash.Hash {
	switch {
	case offset == r.read:
		return clone(r.sum)
	case r.line == nil:
		return sha256.New()
	}
	return clone(r.line)
}

func (t *Transaction) planTarget(j *journal, m *member, s *staged) error {
	digest := s.digest()
	tg := target{
		Role: m.role, Path: nameFrom(t.home(), m.place), Mode: modeAppend,
		Bytes: digest.Bytes, SHA256: hex.EncodeToString(digest.SHA256[:]),
	}
	if m.mode == Replace {
		tg.Mode = modeReplace
	}
	if f := t.data.open[m.path]; f != nil {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if info.Nlink > 1 {
			return refusedLinks(m, info.Nlink)
		}
		tg.Existed, tg.Ino, tg.Size = true, info.Ino, info.Size
		if tg.Mode == modeReplace {
			if err := t.checkUnchanged(m, f, info); err != nil {
				return err
			}
		}
		if tg.Mode == modeAppend {
			if tg.Joint, err = endsOpen(f, info.Size); err != nil {
				return err
			}
		}
	}
	unchanged := tg.Ino == t.auditAt.Ino && tg.Size == t.auditAt.Size
	if m.role == roleAudit && tg.Mode == modeAppend && !unchanged && !t.skips(checkAuditUnchanged) {
		return refusedf("%s %s was changed meanwhile", m.role, show(m.path))
	}
	j.Targets = append(j.Targets, tg)
	return nil
}

// syncStage gives the staged files their attributes and makes them durable
// under their names.
func (t *Transaction) syncStage(j *journal) error {
	syncs := map[*staged]step{t.stage.retained: syncNew, t.stage.pruned: syncAdd, t.stage.audit: syncAud}
	for _, s := range t.stage.all() {
		if s.file == nil {
			continue
		}
		if err := s.flush(); err != nil {
			return err
		}
	}
	if j.Replace {
		w := t.stage.retained
		if err := w.file.CopyAttributes(t.input.file, storefs.AllAttributes); err != nil {
			return fmt.Errorf("cannot keep mode, owner and attributes of %s: %w", show(t.home().path), err)
		}
		info, err := w.file.Stat()
		if err != nil {
			return err
		}
		digest := w.digest()
		j.New = &newInput{Ino: info.Ino, Bytes: digest.Bytes, SHA256: hex.EncodeToString(digest.SHA256[:])}
	}
	for i := range j.Targets {
		tg := &j.Targets[i]
		if tg.Mode == modeReplace {
			m, s := t.targetFiles(tg)
			syncs[s] = syncNext
			if err := t.dressNext(tg, m, s); err != nil {
				return err
			}
		}
	}
	for _, s := range t.stage.all() {
		if s.file == nil {
			continue
		}
		if err := t.syncFile(s.file, syncs[s]); err != nil {
			return fmt.Errorf("cannot write %s: %w", show(s.path), bare(err))
		}
	}
	if err := t.syncDir(t.home().dir, syncDirStaged); err != nil {
		return err
	}
	for i := range j.Targets {
		if m, _ := t.targetFiles(&j.Targets[i]); j.Targets[i].Mode == modeReplace {
			if err := t.syncDir(m.dir, syncDirNext); err != nil {
				return err
			}
		}
	}
	return nil
}

// dressNext gives a file that takes another's place its attributes.
func (t *Transaction) dressNext(tg *target, m *member, s *staged) error {
	var err error
	if old := t.data.open[m.path]; old != nil {
		err = s.file.CopyAttributes(old, storefs.AllAttributes)
	} else if t.input.file != nil {
		err = s.file.CopyAttributes(t.input.file, storefs.AccessOnly)
	}
	if err != nil {
		return fmt.Errorf("cannot keep mode, owner and attributes of %s: %w", show(m.path), err)
	}
	info, err := s.file.Stat()
	tg.NextIno = info.Ino
	return err
}

// targetFiles finds the member and the staged bytes of a target.
func (t *Transaction) targetFiles(tg *target) (*member, *staged) {
	if tg.Role == roleArchive {
		return t.files.archive, t.stage.pruned
	}
	return t.files.audit, t.stage.audit
}
