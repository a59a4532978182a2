package transaction

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/iamfaham/recolva/internal/storefs"
)

// errUnconfirmed: the rename was done, but the disk did not confirm it.
var errUnconfirmed = errors.New("the directory could not be made durable")

// perform writes the journal and does what it says. From here on every error
// is settled the same way as a crash would be, by the journal.
func (t *Transaction) perform(ctx context.Context, j *journal) (moved int64, err error) {
	home := t.home()
	touched := map[role]bool{}
	err = t.record(j)
	if err == nil {
		err = t.mutate(j, touched)
	}
	if errors.Is(err, errUnconfirmed) {
		t.locks.remain()
		return 0, uncertainf("%s is swept, but %w", show(home.path), err)
	}
	if err != nil {
		return t.undo(ctx, j, touched, err)
	}
	if !j.Replace {
		return 0, t.finishAudit(home, j)
	}
	t.closeOwn()
	moved, err = t.finish(ctx, home, j)
	return moved, t.asUncertain(home, err)
}

// closeOwn closes what settling opens again: it would meet its own locks there,
// and count itself as a writer.
func (t *Transaction) closeOwn() {
	t.input.close()
	for _, s := range t.stage.all() {
		_ = s.close()
	}
}

func (t *Transaction) asUncertain(home place, err error) error {
	if err == nil {
		return nil
	}
	t.locks.remain()
	if c := ClassOf(err); c == Uncertain || c == NeedsPerson {
		return err
	}
	return uncertainf("%s is swept, but its old files remain until the next run: %w", show(home.path), err)
}

// undo settles a commit that met an error. The rename may have happened even
// though it reported one.
func (t *Transaction) undo(ctx context.Context, j *journal, touched map[role]bool, cause error) (moved int64, err error) {
	home := t.home()
	t.closeOwn()
	committed, err := t.isCommitted(home, j)
	if err == nil && committed {
		moved, err = t.finish(ctx, home, j)
		return moved, t.asUncertain(home, err)
	}
	if err == nil {
		targets := slices.DeleteFunc(slices.Clone(j.Targets), func(tg target) bool { return !touched[tg.Role] })
		moved, committed, err = t.settleOpen(ctx, home, j, targets)
		if committed {
			t.warn(fmt.Sprintf("%s is swept although a step failed, because that could not be undone beside another writer: %v", show(home.path), cause))
			return moved, t.asUncertain(home, err)
		}
	}
	if ClassOf(err) == NeedsPerson && err != nil {
		return 0, &Error{NeedsPerson, fmt.Errorf("%w (after: %w)", err, cause)}
	}
	if err != nil {
		t.locks.remain()
		return 0, fmt.Errorf("%w (nothing is lost; the next run or recover settles the rest: %w)", cause, err)
	}
	return 0, cause
}

// record writes the pointers beside archive and audit, then the journal. A
// pointer without a journal is harmless; a journal whose target does not point
// back would let another store's sweep append behind ours.
func (t *Transaction) record(j *journal) error {
	home := t.home()
	pointers := func() error {
		for _, tg := range j.Targets {
			p := tg.Path.place(home)
			if p.path == home.path || t.skips(writePointers) {
				continue
			}
			note := pointer{journalVersion, nameFrom(p, home)}
			err := t.writeNote(note, p.side(pendingTmpSuffix), p.side(pendingSuffix), syncPointer, syncDirPointer)
			if err != nil {
				return err
			}
		}
		return nil
	}
	journal := func() error { return t.writeJournal(home, j) }
	first, second := pointers, journal
	if t.skips(pointerFirst) {
		first, second = journal, pointers
	}
	if err := first(); err != nil {
		return err
	}
	return second()
}

// mutate appends to archive and audit, then replaces the input.
func (t *Transaction) mutate(j *journal, touched map[role]bool) error {
	late := func(tg *target) bool {
		return tg.Role == roleAudit && t.skips(auditBeforeInput) || tg.Role == roleArchive && t.skips(archiveBeforeInput)
	}
	apply := func(lateOnes bool) error {
		for i := range j.Targets {
			tg := &j.Targets[i]
			if late(tg) != lateOnes {
				continue
			}
			m, s := t.targetFiles(tg)
			var err error
			if tg.Mode == modeReplace {
				touched[tg.Role] = true
				err = t.replaceTarget(tg, m)
			} else {
				err = t.appendTarget(tg, m, s, touched)
			}
			if err != nil {
				return fmt.Errorf("%s %s: %w", tg.Role, show(m.path), err)
			}
		}
		return nil
	}
	if err := apply(false); err != nil {
		return err
	}
	if j.Replace {
		if err := t.replaceInput(t.home(), t.input.info, t.stage.retained.file, t.input.close); err != nil {
			return err
		}
	}
	return apply(true)
}

// appendTarget appends the staged bytes to an archive or audit, durably.
func (t *Transaction) appendTarget(tg *target, m *member, s *staged, touched map[role]bool) error {
	f := t.data.open[m.path]
	if f == nil {
		touched[tg.Role] = true
		var err error
		if f, err = t.createBeside(m.place, t.input.file); err != nil {
			return err
		}
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size != tg.Size && !t.skips(checkForeign) {
		return refusedf("it was changed meanwhile by a writer without the lock")
	}
	touched[tg.Role] = true
	if err := t.appendLines(f, s.file, span{0, tg.Bytes}); err != nil {
		return bare(err)
	}
	if err := t.syncFile(f, targetSync(tg.Role)); err != nil {
		return bare(err)
	}
	if info, err = f.Stat(); err != nil {
		return err
	}
	if info.Size != tg.Size+tg.added() {
		if err := t.checkAdded(f, tg, s.file, info.Size); err != nil {
			return err
		}
	}
	if !tg.Existed {
		return t.syncDir(m.dir, syncDirCreated)
	}
	return nil
}

func targetSync(r role) step {
	if r == roleArchive {
		return syncArchive
	}
	return syncAudit
}

// replaceTarget puts the staged file in the place of an archive or audit, and
// keeps the one before under a second name until the commit.
func (t *Transaction) replaceTarget(tg *target, m *member) error {
	current, exists, err := t.lookup(m.path)
	if err != nil {
		return bare(err)
	}
	if exists != tg.Existed || exists && current.Ino != tg.Ino {
		return refusedf("it was replaced meanwhile")
	}
	if exists {
		if err := t.linkPrior(m.place); err != nil {
			return err
		}
	}
	_, s := t.targetFiles(tg)
	if !t.skips(lockNew) {
		// Cooperating writers that find the new file wait for the commit.
		if err := lockStaged(s.file, s.path); err != nil {
			return err
		}
	}
	if !t.fs.RenamesOpenFiles() {
		t.data.release(m.place)
		_ = s.close()
	}
	return t.placeNext(m.place, tg)
}

// finishAudit commits a transaction that only writes an audit: its commit
// point is the end of its journal.
func (t *Transaction) finishAudit(home place, j *journal) error {
	if err := t.remove(home.side(journalSuffix)); err != nil {
		_, err = t.undo(context.Background(), j, map[role]bool{roleAudit: true}, err)
		return err
	}
	if err := t.syncDir(home.dir, syncDirJournalGone); err != nil {
		t.locks.remain()
		return uncertainf("the audit is written, but %w: %w", errUnconfirmed, err)
	}
	for _, s := range t.stage.all() {
		_ = s.close()
	}
	return t.asUncertain(home, t.cleanUp(home, j))
}

// checkAdded makes sure that all that we appended is there. Another writer may
// have come between our writes to an archive, but not to an audit, whose block
// must be in one piece.
func (e *engine) checkAdded(f storefs.File, tg *target, staged storefs.File, size int64) error {
	ok, err := e.addedIntact(f, tg)
	if err == nil && !ok && tg.Role == roleArchive {
		var missing []span
		_, missing, err = e.compareLines(f, tg, staged, size)
		ok = len(missing) == 0
	}
	if err == nil && !ok {
		err = refusedf("another writer without the lock wrote into it at the same time")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = refusedf("it was cut while it was written")
	}
	return err
}
