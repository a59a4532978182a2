package transaction

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/iamfaham/recolva/internal/storefs"
)

// staysError says why a run cannot be undone: what it added to a target must
// not be taken away any more.
type staysError struct {
	text  string
	inUse bool // only because somebody has the target open
}

func (s *staysError) Error() string { return s.text }

// settleOpen settles a run that did not reach its commit point. It undoes what
// the run did to the touched targets; where others wrote behind that, it
// finishes the run.
func (e *engine) settleOpen(ctx context.Context, home place, j *journal, touched []target) (moved int64, finished bool, err error) {
	moved, err = e.rollBack(ctx, home, j, touched, false)
	var stays *staysError
	if !errors.As(err, &stays) {
		return moved, false, err
	}
	err = e.rollForward(ctx, home, j)
	e.data.release(home) // a lock of ours would be in the way of the drain
	if err != nil {
		return e.notForward(ctx, home, j, touched, stays, err)
	}
	if !j.Replace {
		return 0, true, e.close(home, j)
	}
	moved, err = e.finish(ctx, home, j)
	return moved, true, err
}

// notForward says what becomes of a run that could not be finished either.
func (e *engine) notForward(ctx context.Context, home place, j *journal, touched []target, stays *staysError, cause error) (int64, bool, error) {
	if errors.Is(cause, errUnconfirmed) {
		return 0, true, uncertainf("%s is swept, but %w", show(home.path), cause)
	}
	if committed, err := e.isCommitted(home, j); err != nil || committed {
		return 0, false, errors.Join(cause, err) // the next run finishes it
	}
	if stays.inUse {
		moved, err := e.rollBack(ctx, home, j, touched, true)
		if errors.As(err, &stays) { // now somebody has written behind it
			err = needsPersonf("%w, and the sweep cannot be finished: %w", err, cause)
		}
		return moved, false, err
	}
	if ClassOf(cause) == NeedsPerson {
		cause = needsPersonf("%w, and the sweep cannot be finished: %w", stays, cause)
	}
	return 0, false, cause
}

// rollForward does what is left of steps 6 and 7. It looks at everything
// before it touches anything.
func (e *engine) rollForward(ctx context.Context, home place, j *journal) error {
	if !j.Replace { // a dry-run's commit is the end of its journal
		return e.forwardTargets(ctx, home, j, nil)
	}
	if j.Drain != nil {
		return needsPersonf("lines were already moved back from %s", show(home.side(newSuffix)))
	}
	input, err := e.data.get(ctx, home, e.deadline())
	if err != nil {
		return err
	}
	if err := e.checkOld(home, j, input); err != nil {
		return err
	}
	next, err := e.fs.OpenFile(home.side(newSuffix), os.O_RDWR|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return needsPersonf("%s is gone", show(home.side(newSuffix)))
	}
	if err != nil {
		return err
	}
	defer func() { _ = next.Close() }()
	if err := e.checkIntact(next, home, j); err != nil {
		return err
	}
	if err := e.forwardTargets(ctx, home, j, input); err != nil {
		return err
	}
	mine, err := input.Stat()
	if err != nil {
		return err
	}
	return e.replaceInput(home, mine, next, func() { e.data.release(home) })
}

func (e *engine) forwardTargets(ctx context.Context, home place, j *journal, input storefs.File) error {
	var steps []func() error
	for i := range j.Targets {
		step, err := e.planForward(ctx, home, &j.Targets[i], input)
		if err != nil {
			return err
		}
		steps = append(steps, step)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// checkOld makes sure that the input is still what was swept and carried over.
func (e *engine) checkOld(home place, j *journal, f storefs.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Ino != j.Old.Ino {
		return needsPersonf("%s was replaced since", show(home.path))
	}
	if old, exists, err := e.lookup(home.side(oldSuffix)); err != nil || exists && old.Ino != j.Old.Ino {
		return errors.Join(err, needsPersonf("%s is another file", show(home.side(oldSuffix))))
	}
	if same, err := e.startsWith(f, j.Old.Bytes, j.Old.SHA256); err != nil || same {
		return err
	}
	return needsPersonf("%s was rewritten since", show(home.path))
}

// checkBlock makes sure that an audit has what was added in one piece.
func (e *engine) checkBlock(f storefs.File, p place, tg *target) error {
	ok, err := e.addedIntact(f, tg)
	if err == nil && !ok || errors.Is(err, io.ErrUnexpectedEOF) {
		err = needsPersonf("%s %s does not have its lines in one piece", tg.Role, show(p.path))
	}
	return err
}

// planForward finds out how to complete a target.
func (e *engine) planForward(ctx context.Context, home place, tg *target, input storefs.File) (func() error, error) {
	p := tg.Path.place(home)
	f, err := e.data.get(ctx, p, e.deadline())
	if errors.Is(err, fs.ErrNotExist) && !tg.Existed && tg.Mode == modeAppend {
		return func() error { return e.addAgain(home, p, tg, nil, input) }, nil
	}
	if errors.Is(err, fs.ErrNotExist) && !tg.Existed {
		return e.planReplace(p, tg)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, needsPersonf("%s %s is missing", tg.Role, show(p.path))
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if tg.Mode == modeReplace {
		if info.Ino != tg.NextIno && tg.Existed && info.Ino == tg.Ino {
			return e.planReplace(p, tg)
		}
		if info.Ino != tg.NextIno {
			return nil, needsPersonf("%s %s is neither the file before nor the one after an unfinished sweep", tg.Role, show(p.path))
		}
		return func() error { return e.syncDir(p.dir, syncDirReplaced) }, nil
	}
	if tg.Existed && info.Ino != tg.Ino {
		return nil, needsPersonf("%s %s was replaced", tg.Role, show(p.path))
	}
	stand, err := e.standing(home, p, tg, f, info.Size)
	if err == nil && stand != atEnd && tg.Role == roleAudit {
		err = e.checkBlock(f, p, tg)
	}
	return func() error { return e.addAgain(home, p, tg, f, input) }, err
}

// planReplace puts a staged file in a target's place that it has not taken yet.
func (e *engine) planReplace(p place, tg *target) (func() error, error) {
	next, err := e.fs.OpenFile(p.side(nextSuffix), os.O_RDONLY, 0)
	if err != nil {
		return nil, needsPersonf("%s cannot take the place of %s: %w", show(p.side(nextSuffix)), show(p.path), bare(err))
	}
	defer next.Close()
	info, err := next.Stat()
	if err != nil {
		return nil, err
	}
	ok := info.Ino == tg.NextIno && info.Size == tg.Bytes
	if ok {
		if ok, err = e.addedIntact(next, tg); err != nil {
			return nil, err
		}
	}
	if !ok {
		return nil, needsPersonf("%s is not what an unfinished sweep staged", show(p.side(nextSuffix)))
	}
	return func() error {
		if tg.Existed {
			prior, exists, err := e.lookup(p.side(priorSuffix))
			switch {
			case err != nil:
				return err
			case exists && prior.Ino != tg.Ino:
				return needsPersonf("%s is another file", show(p.side(priorSuffix)))
			case !exists:
				if err := e.linkPrior(p); err != nil {
					return err
				}
			}
		}
		e.data.release(p)
		return e.placeNext(p, tg)
	}, nil
}

// addAgain appends to a target what it does not hold yet of what was staged.
// What it holds is written again in its place: that an earlier fsync of it
// succeeded is not known, and calling fsync again proves nothing.
func (e *engine) addAgain(home, p place, tg *target, f storefs.File, input storefs.File) (err error) {
	if f == nil {
		if f, err = e.createBeside(p, input); err != nil {
			return err
		}
	}
	staged, err := e.openStaged(home, tg)
	if err != nil {
		return err
	}
	defer staged.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if stand, err := e.standing(home, p, tg, f, info.Size); err == nil && stand == atEnd && !tg.unmarked {
		// Best is to begin anew. An audit has one block of ours, so there a last look must do.
		err := e.cutBack(f, p, info.Size, tg.Size, tg.Role == roleAudit)
		if err != nil && !errors.As(err, new(*staysError)) {
			return err
		}
	}
	if info, err = f.Stat(); err != nil {
		return err
	}
	held, missing, err := e.compareLines(f, tg, staged, info.Size)
	if err != nil {
		return err
	}
	if len(held) > 0 && len(missing) > 0 {
		e.warn(fmt.Sprintf("%s: others wrote between lines of an interrupted run; those that were missing follow at its end, and a torn one may be left", show(p.path)))
	}
	if err := e.writeAgain(p, f, held); err != nil {
		return err
	}
	for _, s := range missing {
		e.awaitLineEnd(f)
		if err := e.appendLines(f, staged, s); err != nil {
			return err
		}
	}
	if err := e.syncFile(f, targetSync(tg.Role)); err != nil {
		return err
	}
	return e.syncDir(p.dir, syncDirCreated)
}

// createBeside makes a new archive or audit, locked, with the access rights of
// the input.
func (e *engine) createBeside(p place, input storefs.File) (storefs.File, error) {
	f, err := e.fs.OpenFile(p.path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, bare(err)
	}
	e.data.keep(p, f)
	got, err := f.TryLock()
	if err == nil && !got {
		err = refusedf("it was locked by another process as soon as it was made")
	}
	if err == nil && input != nil {
		err = f.CopyAttributes(input, storefs.AccessOnly)
	}
	return f, err
}

// writeAgain writes ranges of lines over themselves, each with the newline
// before it.
func (e *engine) writeAgain(p place, f storefs.File, held []span) error {
	if len(held) == 0 || e.skips(writeHeld) {
		return nil
	}
	w, err := e.fs.OpenFile(p.path, os.O_RDWR, 0) // f only appends
	if err != nil {
		return err
	}
	defer w.Close()
	a, err := f.Stat()
	b, errB := w.Stat()
	if err = errors.Join(err, errB); err == nil && !a.SameFile(b) {
		err = refusedf("%s was replaced meanwhile", show(p.path))
	}
	for _, s := range held {
		if err == nil {
			from := max(0, s.from-1)
			err = e.copyRange(&writerAt{w, from}, f, from, s.to)
		}
	}
	return err
}

type writerAt struct {
	file storefs.File
	at   int64
}

func (w *writerAt) Write(p []byte) (int, error) {
	n, err := w.file.WriteAt(p, w.at)
	w.at += int64(n)
	return n, err
}
