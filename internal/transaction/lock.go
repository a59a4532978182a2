package transaction

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/iamfaham/recolva/internal/storefs"
)

const lockPoll = 10 * time.Millisecond

// lockSet holds the lock files of all places of a transaction. The first is
// its home; its lock file names the others too, so that whoever finds it after
// a crash can clean up beside them.
type lockSet struct {
	engine *engine
	held   []heldLock
	ties   []place // named by a lock file that a killed process left
	leave  bool    // something remains to be cleaned up: the home's lock file stays, and tells where
}

type heldLock struct {
	place
	file storefs.File
	info storefs.Info
}

// errBusy carries who holds a lock that could not be had at once.
type errBusy struct {
	place  place
	holder string
}

func (b errBusy) Error() string { return show(b.place.path) + " is busy: " + b.holder + " holds it" }

// lockAll takes the lock files of all places. It never waits for one while it
// holds another: when one is busy it gives all back and begins again, so that
// sweeps that want the same files in opposite roles cannot wait for each
// other.
func (e *engine) lockAll(ctx context.Context, places []place, deadline time.Duration) (*lockSet, error) {
	for {
		set := &lockSet{engine: e}
		err := set.extend(places)
		if err == nil {
			return set, nil
		}
		set.release()
		var busy errBusy
		if !errors.As(err, &busy) {
			return nil, err
		}
		if e.fs.Now() >= deadline {
			return nil, refusedf("%w (waited %s)", busy, e.opts.LockTimeout)
		}
		// Two processes that got in each other's way part by their numbers.
		if err := e.fs.Sleep(ctx, lockPoll+time.Duration(e.fs.Pid()%8)*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// extend takes the locks of the places that the set does not hold yet.
func (s *lockSet) extend(places []place) error {
	if s.engine.skips(lockStore) {
		return nil
	}
	if len(s.held) == 0 {
		if err := s.add(places[0]); err != nil {
			return err
		}
	}
	s.sign(0, places)
	for _, p := range places[1:] {
		if slices.ContainsFunc(s.held, func(h heldLock) bool { return h.path == p.path }) {
			continue
		}
		if err := s.add(p); err != nil {
			return err
		}
		s.sign(len(s.held)-1, places)
	}
	return nil
}

// add takes one lock file: open, lock, and look whether the name still leads
// to what was locked, because whoever releases a lock removes the name.
func (s *lockSet) add(p place) error {
	e, path := s.engine, p.side(lockSuffix)
	f, err := e.fs.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("cannot lock %s: %w", show(p.path), err)
	}
	info, err := s.try(f, p)
	if err != nil {
		_ = f.Close()
		s.leave = s.leave || ClassOf(err) == Failed && !errors.As(err, new(errBusy))
		return err
	}
	s.ties = append(s.ties, e.readTies(f, info, p)...)
	s.held = append(s.held, heldLock{p, f, info})
	return nil
}

func (s *lockSet) try(f storefs.File, p place) (info storefs.Info, err error) {
	if info, err = f.Stat(); err != nil {
		return info, err
	}
	if !info.Mode.IsRegular() {
		return info, refusedf("%s is %s, not a lock file", show(p.side(lockSuffix)), kindOf(info.Mode))
	}
	if info.Nlink > 1 { // somebody gave another file this name, and we would write into it
		return info, refusedf("%s has %d names (hard links), so it is not a lock file", show(p.side(lockSuffix)), info.Nlink)
	}
	for _, h := range s.held {
		if h.info.SameFile(info) { // names that differ only in case, or by a bind mount
			return info, refusedf("%s and %s are the same file", show(h.path), show(p.path))
		}
	}
	got, err := f.TryLock()
	if err != nil {
		return info, err
	}
	if !got {
		return info, errBusy{p, readHolder(f, info.Size)}
	}
	current, exists, err := s.engine.lookup(p.side(lockSuffix))
	if err == nil && (!exists || !current.SameFile(info)) {
		err = errBusy{p, "another process"}
	}
	return info, err
}

// signature is one line of a home's lock file: who holds it, and the places
// that belong to it.
type signature struct {
	Pid  int        `json:"pid"`
	With []byteName `json:"with"`
}

// sign appends a line to a lock file. What killed processes wrote there stays,
// so that no hint is lost before its place is clean. A full disk must not stop
// a sweep that frees space, so errors do not count.
func (s *lockSet) sign(i int, places []place) {
	h := &s.held[i]
	note := signature{s.engine.fs.Pid(), []byteName{}}
	for _, p := range places {
		if p.path != h.path {
			note.With = append(note.With, nameFrom(h.place, p))
		}
	}
	if line, err := json.Marshal(note); err == nil {
		_, _ = h.file.Write(append(line, '\n'))
	}
	if info, err := h.file.Stat(); err == nil {
		h.info = info
	}
}

func readSignatures(f storefs.File, size int64) (out []signature) {
	buf := make([]byte, min(size, maxNoteBytes))
	n, _ := f.ReadAt(buf, 0)
	for line := range bytes.Lines(buf[:n]) {
		var s signature
		if json.Unmarshal(line, &s) == nil {
			out = append(out, s)
		}
	}
	return out
}

const maxTies = 64

// readTies reads the places that killed processes of this user named in a lock
// file. They are hints: beside them only what lies about unused is removed.
func (e *engine) readTies(f storefs.File, info storefs.Info, home place) (ties []place) {
	if info.UID != e.fs.UID() {
		return nil
	}
	for _, s := range readSignatures(f, info.Size) {
		for _, name := range s.With {
			if len(ties) < maxTies {
				ties = append(ties, name.place(home))
			}
		}
	}
	return ties
}

func readHolder(f storefs.File, size int64) string {
	if all := readSignatures(f, size); len(all) > 0 {
		return "process " + strconv.Itoa(all[len(all)-1].Pid)
	}
	return "another process"
}

// remain notes that companions are left beside the places of the set.
func (s *lockSet) remain() {
	if s != nil {
		s.leave = true
	}
}

// checkHeld refuses to go on when somebody has taken a lock file away: another
// run may have begun.
func (s *lockSet) checkHeld() error {
	if s == nil {
		return nil
	}
	for _, h := range s.held {
		if held, err := s.holds(h); err != nil {
			return err
		} else if !held {
			return refusedf("lock file %s was removed by another program while it was held; nothing was changed", show(h.side(lockSuffix)))
		}
	}
	return nil
}

// mayHideChange tells whether a change from now on could leave the time of change
// of a file as it was: file systems stamp in ticks, and the file was last changed
// in or after the tick in which its lock file was signed.
func (s *lockSet) mayHideChange(path string, info storefs.Info) bool {
	if s == nil {
		return false
	}
	for _, h := range s.held {
		if h.path == path {
			return max(info.ModNanos, info.ChangeNano) >= h.info.ModNanos
		}
	}
	return true
}

// holds tells whether a lock file still has its name.
func (s *lockSet) holds(h heldLock) (bool, error) {
	current, exists, err := s.engine.lookup(h.side(lockSuffix))
	return exists && current.SameFile(h.info), err
}

// release removes the lock files, then gives the locks up.
func (s *lockSet) release() {
	if s == nil {
		return
	}
	for i, h := range slices.Backward(s.held) {
		if i > 0 || !s.leave {
			held, err := s.holds(h)
			if err == nil && held {
				err = s.engine.remove(h.side(lockSuffix))
			}
			if err != nil {
				s.leave = true
			}
		}
		_ = h.file.Close()
	}
	s.held = nil
}

// dataLocks holds the locks on the data files themselves, which cooperating
// writers take too: only for the short time of a commit or a recovery.
type dataLocks struct {
	engine *engine
	open   map[string]storefs.File
}

// get opens the file at p for reading and appending, and locks it; a file
// that it already holds is given again. It fails with fs.ErrNotExist when
// there is none.
func (d *dataLocks) get(ctx context.Context, p place, deadline time.Duration) (storefs.File, error) {
	if f := d.open[p.path]; f != nil {
		current, exists, err := d.engine.lookup(p.path)
		info, statErr := f.Stat()
		if err = errors.Join(err, statErr); err != nil {
			return nil, err
		}
		if exists && current.SameFile(info) {
			return f, nil
		}
		d.release(p)
	}
	for {
		f, err := d.engine.fs.OpenFile(p.path, os.O_RDWR|os.O_APPEND, 0)
		if err != nil {
			return nil, err
		}
		got, err := d.engine.lockCurrent(f, p)
		if err == nil && got {
			d.keep(p, f)
			return f, nil
		}
		_ = f.Close()
		if err != nil {
			return nil, err
		}
		if err := d.engine.waitLocked(ctx, p, deadline); err != nil {
			return nil, err
		}
	}
}

func (d *dataLocks) keep(p place, f storefs.File) {
	if d.open == nil {
		d.open = map[string]storefs.File{}
	}
	d.open[p.path] = f
}

// lockCurrent tries the lock and checks that the name still leads to f.
func (e *engine) lockCurrent(f storefs.File, p place) (bool, error) {
	if e.skips(lockData) {
		return true, nil
	}
	got, err := f.TryLock()
	if err != nil || !got {
		return false, err
	}
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if !info.Mode.IsRegular() {
		return false, refusedf("%s is %s, not a regular file", show(p.path), kindOf(info.Mode))
	}
	current, exists, err := e.lookup(p.path)
	return exists && current.SameFile(info), err
}

// lockOpen takes the data lock by an open file, waiting as long as for any lock.
func (e *engine) lockOpen(ctx context.Context, f storefs.File, p place) error {
	for deadline := e.deadline(); !e.skips(lockData); {
		got, err := f.TryLock()
		if err != nil {
			return fmt.Errorf("cannot lock %s: %w", show(p.path), bare(err))
		}
		if got {
			break
		}
		if err := e.waitLocked(ctx, p, deadline); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) waitLocked(ctx context.Context, p place, deadline time.Duration) error {
	if e.fs.Now() >= deadline {
		return refusedf("%s is busy: another process keeps it locked (waited %s)", show(p.path), e.opts.LockTimeout)
	}
	return e.fs.Sleep(ctx, lockPoll)
}

func (d *dataLocks) release(p place) {
	if f := d.open[p.path]; f != nil {
		_ = f.Close()
		delete(d.open, p.path)
	}
}

func (d *dataLocks) releaseAll() {
	for path, f := range d.open {
		_ = f.Close()
		delete(d.open, path)
	}
}
