package transaction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iamfaham/recolva/internal/storefs"
)

const lockPoll = 10 * time.Millisecond

// lockSet holds the lock files of all places of a transaction.
type lockSet struct {
	engine *engine
	held   []heldLock
}

type heldLock struct {
	place
	file storefs.File
	info storefs.Info
}

// lockKey orders the lock files of all processes alike, whether the files
// themselves exist yet or not, so that two sweeps that want the same files in
// opposite roles cannot wait for each other.
type lockKey struct {
	dev, ino     uint64
	folded, base string
}

func (k lockKey) compare(l lockKey) int {
	return cmp.Or(cmp.Compare(k.dev, l.dev), cmp.Compare(k.ino, l.ino),
		strings.Compare(k.folded, l.folded), strings.Compare(k.base, l.base))
}

// lockAll takes the lock file of every place, in the common order.
func (e *engine) lockAll(ctx context.Context, places []place, deadline time.Duration) (*lockSet, error) {
	keys := map[string]lockKey{}
	for _, p := range places {
		dir, err := e.fs.Lstat(p.dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", show(p.path), bare(err))
		}
		keys[p.path] = lockKey{dir.Dev, dir.Ino, strings.ToLower(p.base), p.base}
	}
	sorted := slices.Clone(places)
	slices.SortFunc(sorted, func(a, b place) int { return keys[a.path].compare(keys[b.path]) })
	set := &lockSet{engine: e}
	for _, p := range sorted {
		if err := set.add(ctx, p, deadline); err != nil {
			set.release()
			return nil, err
		}
	}
	return set, nil
}

// add takes one lock file: open, lock, and look whether the name still leads
// to what was locked, because whoever releases a lock removes the name.
func (s *lockSet) add(ctx context.Context, p place, deadline time.Duration) error {
	e := s.engine
	if e.skips(lockStore) {
		return nil
	}
	for {
		f, err := e.fs.OpenFile(p.side(lockSuffix), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return fmt.Errorf("cannot lock %s: %w", show(p.path), err)
		}
		info, got, err := s.try(f, p)
		if err != nil || got {
			if err != nil {
				_ = f.Close()
				return err
			}
			e.signLock(f)
			if now, err := f.Stat(); err == nil {
				info = now
			}
			s.held = append(s.held, heldLock{p, f, info})
			return nil
		}
		holder := readHolder(f)
		_ = f.Close()
		if e.fs.Now() >= deadline {
			return refusedf("%s is busy: %s holds it (waited %s)", show(p.path), holder, e.opts.LockTimeout)
		}
		if err := e.fs.Sleep(ctx, lockPoll); err != nil {
			return err
		}
	}
}

func (s *lockSet) try(f storefs.File, p place) (info storefs.Info, got bool, err error) {
	if info, err = f.Stat(); err != nil {
		return info, false, err
	}
	if !info.Mode.IsRegular() {
		return info, false, refusedf("%s is %s, not a lock file", show(p.side(lockSuffix)), kindOf(info.Mode))
	}
	for _, h := range s.held {
		if h.info.SameFile(info) { // names that differ only in case, or by a bind mount
			return info, false, refusedf("%s and %s are the same file", show(h.path), show(p.path))
		}
	}
	if got, err = f.TryLock(); err != nil || !got {
		return info, false, err
	}
	current, exists, err := s.engine.lookup(p.side(lockSuffix))
	return info, exists && current.SameFile(info), err
}

// signLock writes the number of this process into the lock file, for the text
// that others print. A full disk must not stop a sweep that frees space, so
// errors do not count.
func (e *engine) signLock(f storefs.File) {
	if f.Truncate(0) == nil {
		_, _ = f.Write([]byte(strconv.Itoa(e.fs.Pid()) + "\n"))
	}
}

func readHolder(f storefs.File) string {
	var buf [20]byte
	n, _ := f.ReadAt(buf[:], 0)
	if pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n]))); err == nil && pid > 0 {
		return "process " + strconv.Itoa(pid)
	}
	return "another process"
}

// release removes the lock files, then gives the locks up.
func (s *lockSet) release() {
	if s == nil {
		return
	}
	for _, h := range slices.Backward(s.held) {
		_ = s.engine.remove(h.side(lockSuffix))
		_ = h.file.Close()
	}
	s.held = nil
}

func (s *lockSet) places() []place {
	var out []place
	for _, h := range s.held {
		out = append(out, h.place)
	}
	return out
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
