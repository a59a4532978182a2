package transaction

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

func (e *engine) recover(ctx context.Context, path string) (RecoverResult, error) {
	var result RecoverResult
	real, err := e.fs.RealPath(path)
	if err != nil {
		return result, fmt.Errorf("%s: %w", show(path), bare(err))
	}
	locks, err := e.settle(ctx, []place{placeAt(real)}, &result)
	if err != nil {
		locks.remain()
	}
	locks.release()
	return result, err
}

// settle locks the places, and every place that an interrupted run ties to
// them, then finishes or undoes that run and removes what it left. The caller
// releases the locks, after an error too.
func (e *engine) settle(ctx context.Context, places []place, result *RecoverResult) (*lockSet, error) {
	defer e.data.releaseAll()
	deadline := e.deadline()
	for {
		locks, err := e.lockAll(ctx, places, deadline)
		if err != nil || e.skips(settleFirst) {
			return locks, err
		}
		wider, err := e.tied(places, locks.ties)
		if err != nil {
			return locks, err
		}
		if len(wider) > len(places) {
			err = locks.extend(wider)
			places = wider
			if errors.As(err, new(errBusy)) {
				locks.release()
				continue // begin anew, with all of them
			}
			if err != nil {
				return locks, err
			}
			if wider, err = e.tied(places, locks.ties); err != nil {
				return locks, err
			}
			if len(wider) > len(places) {
				locks.release()
				places = wider
				continue
			}
		}
		return locks, e.settleLocked(ctx, places, result)
	}
}

// tied adds to places the homes that their pointers name, the targets of the
// journals at these places, and the hints beside which something is left.
func (e *engine) tied(places, hints []place) ([]place, error) {
	out := slices.Clone(places)
	add := func(p place) {
		if !slices.ContainsFunc(out, func(q place) bool { return e.samePlace(p, q) }) {
			out = append(out, p)
		}
	}
	for _, p := range hints {
		if e.leftBeside(p) {
			add(p)
		}
	}
	for _, p := range places {
		j, err := e.readJournal(p)
		if err != nil {
			return nil, err
		}
		if j != nil {
			for _, tg := range j.Targets {
				add(tg.Path.place(p))
			}
		}
		home, found, err := e.readPointer(p)
		if err != nil {
			return nil, err
		}
		if found && !e.skips(settlePointers) {
			if _, exists, err := e.lookup(home.dir); err != nil || !exists {
				return nil, needsPersonf("%s waits for the recovery of %s, whose directory is not there", show(p.path), show(home.path))
			}
			add(home)
		}
	}
	return out, nil
}

// leftBeside tells whether a killed run left something beside a place that its
// lock file only names, for it to be removed: not where it cannot be, as on a disk
// that is read-only by now.
func (e *engine) leftBeside(p place) bool {
	lock, err := e.fs.OpenFile(p.side(lockSuffix), os.O_RDWR|os.O_APPEND, 0)
	if err == nil {
		_ = lock.Close()
		return true
	}
	return errors.Is(err, fs.ErrNotExist) && slices.ContainsFunc(append([]string{journalSuffix}, allSides...), func(suffix string) bool {
		_, exists, err := e.lookup(p.side(suffix))
		return err == nil && exists
	})
}

// samePlace tells whether two paths are one place, be it by a directory that is
// mounted twice.
func (e *engine) samePlace(p, q place) bool {
	if p.path == q.path || p.base != q.base {
		return p.path == q.path
	}
	a, there, err := e.lookup(p.dir)
	b, alsoThere, errB := e.lookup(q.dir)
	return err == nil && errB == nil && there && alsoThere && a.SameFile(b)
}

func (e *engine) settleLocked(ctx context.Context, places []place, result *RecoverResult) error {
	for _, p := range places {
		j, err := e.readJournal(p)
		if err == nil && j != nil && j.Replace {
			if err = e.awaitRun(ctx, p); err == nil {
				j, err = e.readJournal(p)
			}
		}
		if err != nil {
			return err
		}
		if j == nil {
			continue
		}
		result.Found = true
		if err := e.settleJournal(ctx, p, j, result); err != nil {
			return err
		}
	}
	// Where no journal is seen, it may have been removed by a run that was
	// killed before this was durable: it must be gone for good before what it
	// names is removed, or its names are used again.
	var synced []string
	for _, p := range places {
		if slices.Contains(synced, p.dir) {
			continue
		}
		synced = append(synced, p.dir)
		if err := e.syncDir(p.dir, syncDirSettled); err != nil {
			return err
		}
	}
	for _, p := range places {
		removed, err := e.removeSides(p, allSides)
		if err != nil {
			return err
		}
		result.Found = result.Found || removed
	}
	return nil
}

// awaitRun waits until nobody holds the data lock of a home. A run that is
// still at work, because somebody took its lock file away, holds it from before
// its journal to behind its commit.
func (e *engine) awaitRun(ctx context.Context, home place) error {
	f, err := e.fs.OpenFile(home.path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return e.lockOpen(ctx, f, home)
}

var (
	// homeSides stand beside the home of a journal, targetSides beside the
	// files that it changes too.
	homeSides   = []string{journalTmpSuffix, newSuffix, addSuffix, audSuffix, oldSuffix}
	targetSides = []string{pendingTmpSuffix, pendingSuffix, nextSuffix, priorSuffix}
	allSides    = append(slices.Clone(targetSides), homeSides...)
)

// removeSides removes files that mean nothing without a journal.
func (e *engine) removeSides(p place, suffixes []string) (removed bool, err error) {
	for _, suffix := range suffixes {
		err := e.fs.Remove(p.side(suffix))
		if err == nil {
			removed = true
			continue
		}
		info, exists, lookErr := e.lookup(p.side(suffix))
		if lookErr == nil && exists && info.Mode.IsDir() {
			return removed, refusedf("%s is a directory, and would have the name of a temporary file", show(p.side(suffix)))
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return removed, err
		}
	}
	return removed, nil
}

// settleJournal finishes or undoes the run that left the journal.
func (e *engine) settleJournal(ctx context.Context, home place, j *journal, result *RecoverResult) error {
	if err := e.markTargets(home, j); err != nil {
		return err
	}
	committed, err := e.isCommitted(home, j)
	if err != nil {
		return err
	}
	var moved int64
	if committed {
		if err := e.verifyTargets(home, j); err != nil {
			return err
		}
		// The rename may be visible without being durable.
		if err := e.syncDir(home.dir, syncDirRecovered); err != nil {
			return err
		}
		moved, err = e.finish(ctx, home, j)
		result.Committed++
	} else {
		moved, committed, err = e.settleOpen(ctx, home, j, j.Targets)
		if committed {
			result.Committed++
		} else {
			result.RolledBack++
		}
	}
	result.MovedBytes += moved
	return err
}

// finish completes a committed run: it moves what others wrote to the old
// input, then cleans up.
func (e *engine) finish(ctx context.Context, home place, j *journal) (moved int64, err error) {
	if !e.skips(drainOld) {
		if moved, err = e.drain(ctx, home, j); err != nil {
			return moved, err
		}
	}
	return moved, e.close(home, j)
}

// close ends a transaction: first the journal, durably, then what it names.
func (e *engine) close(home place, j *journal) error {
	if e.skips(journalGoneFirst) {
		if err := e.cleanUp(home, j); err != nil {
			return err
		}
	}
	if err := e.remove(home.side(journalSuffix)); err != nil {
		return err
	}
	if err := e.syncDir(home.dir, syncDirJournalGone); err != nil {
		return err
	}
	return e.cleanUp(home, j)
}

func (e *engine) cleanUp(home place, j *journal) error {
	if _, err := e.removeSides(home, homeSides); err != nil {
		return err
	}
	for _, tg := range j.Targets {
		if tg.unmarked {
			continue
		}
		if _, err := e.removeSides(tg.Path.place(home), targetSides); err != nil {
			return err
		}
	}
	return nil
}

// drainTimeout bounds the wait for a writer that holds the old input open.
const drainTimeout = 2 * time.Second

func (e *engine) drainDeadline() time.Duration {
	return e.fs.Now() + min(e.opts.LockTimeout, drainTimeout)
}

// rollBack undoes a run that did not reach its commit point: what it did to
// the touched targets. It looks at everything before it touches anything. A
// target that others have open is cut only evenInUse; what must not be taken
// away is a staysError.
func (e *engine) rollBack(ctx context.Context, home place, j *journal, touched []target, evenInUse bool) (moved int64, err error) {
	var undos []func() error
	for i := range touched {
		undo, err := e.planUndo(ctx, home, &touched[i], evenInUse)
		if err != nil {
			return 0, err
		}
		undos = append(undos, undo)
	}
	if j.Replace && !e.skips(moveExtras) {
		if moved, err = e.moveExtra(ctx, home, j); err != nil {
			return moved, err
		}
	}
	for _, undo := range undos {
		if err := undo(); err != nil {
			return moved, err
		}
	}
	return moved, e.close(home, j)
}

// moveExtra saves lines that a writer appended to the new input after a rename
// that a power cut undid.
func (e *engine) moveExtra(ctx context.Context, home place, j *journal) (int64, error) {
	path := home.side(newSuffix)
	info, exists, err := e.lookup(path)
	if err != nil || !exists {
		return 0, err
	}
	f, err := e.fs.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if err := e.checkIntact(f, home, j); err != nil {
		return 0, err
	}
	if info.Size == j.New.Bytes && j.Drain == nil {
		return 0, nil
	}
	if j.Drain == nil {
		j.Drain = &drain{Source: sourceNew, From: j.New.Bytes}
	}
	m := &mover{engine: e, home: home, store: home, journal: j, source: f}
	if err := m.resume(ctx); err != nil {
		return m.moved, err
	}
	for {
		more, err := m.move(ctx, true)
		if errors.Is(err, errMidLine) {
			err = refusedf("%s ends within a line that a program is writing", show(home.path))
		}
		if err != nil || !more {
			return m.moved, err
		}
	}
}
