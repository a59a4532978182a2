package transaction

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iamfaham/recolva/internal/storefs/simfs"
)

// agent is another program that writes to the store. It acts between any two
// operations of the sweep.
type agent struct {
	kind   string
	budget int
	count  int
	file   *simfs.File
	at     int // acts at every turn from this one on; -1: at random
	turns  int
	acted  int // turn of the last act
}

func (a agent) on(d *simfs.Disk) agent {
	if a.file != nil {
		a.file = a.file.On(d.Process(agentPID))
	}
	return a
}

// careless agents append without the lock.
func (a agent) careless() bool {
	return a.kind == "append" || a.kind == "slow" || a.kind == "held" || a.kind == "late" || a.kind == "archiver" || a.kind == "keeper"
}

func (a *agent) line() string {
	a.count++
	return record(fmt.Sprintf("agent%d", a.count), a.count%2 == 0)
}

func (a *agent) act(w *world) {
	p := w.disk.Process(agentPID)
	switch a.kind {
	case "append":
		if a.budget > 0 && a.open(p) {
			a.write(w)
			a.close()
		}
	case "slow": // opens at one turn, writes at another
		if a.file == nil {
			if a.budget > 0 {
				a.open(p)
			}
			return
		}
		a.write(w)
		a.close()
	case "held": // keeps the file open for several lines
		if a.file == nil {
			if a.budget > 0 {
				a.open(p)
			}
			return
		}
		if a.budget > 0 {
			a.write(w)
			return
		}
		a.close()
	case "lock":
		a.lockAnd(w, p, a.write)
	case "rewrite":
		a.lockAnd(w, p, func(w *world) { a.rewrite(w, p) })
	case "edit": // changes a record in place, under the lock
		a.lockAnd(w, p, a.edit)
	case "archiver", "auditor": // appends to the archive or audit, without the lock
		a.note(w, p)
	case "keeper": // keeps the archive open, and appends to it without the lock
		a.keep(w, p)
	case "late": // has the archive open while it is replaced, and writes to the one that was
		a.noteLate(w, p)
	case "rival": // another sweep of the same store
		if a.budget > 0 {
			a.budget--
			rival := w.clone()
			rival.disk, rival.agent = w.disk, agent{}
			p := w.disk.Process(agentPID)
			err := rival.sweep(p, storePath, hooks{skip: w.agentSkip()})
			w.log = append(slices.Clip(w.log), fmt.Sprintf("rival: %v", err))
			w.disk.Kill(agentPID)
		}
	}
}

// edit gives a record another text of the same length.
func (a *agent) edit(w *world) {
	a.budget--
	data, _ := w.disk.Get(storePath)
	id := fmt.Sprintf("r%d", 2*a.budget)
	for i, line := range w.lines {
		at := bytes.Index(data, []byte(line))
		if recordID(line) != id || at < 0 {
			continue
		}
		f, err := w.disk.Process(agentPID).OpenFile(storePath, os.O_RDWR, 0)
		if err != nil {
			return
		}
		w.lines[i] = strings.Replace(line, "xxx", "yyy", 1)
		_, err = f.WriteAt([]byte(w.lines[i]), int64(at))
		_ = errors.Join(err, f.Sync(), f.Close())
	}
}

func (a *agent) note(w *world, p *simfs.Process) {
	if a.budget == 0 {
		return
	}
	path := archivePath
	if a.kind == "auditor" {
		path = auditPath
	}
	if w.archiveMode == Replace { // what it wrote before would be replaced
		prior, err := p.Lstat(placeAt(archivePath).side(priorSuffix))
		now, nowErr := p.Lstat(archivePath)
		if errors.Join(err, nowErr) != nil || prior.SameFile(now) {
			return
		}
	}
	f, err := p.OpenFile(path, appendFlags, 0)
	if err != nil {
		return
	}
	a.budget--
	line := fmt.Sprintf(`{"note":"%s %d"}`, a.kind, a.budget)
	_, err = f.Write([]byte("\n" + line + "\n"))
	if err = errors.Join(err, f.Sync(), f.Close(), p.SyncDir(filepath.Dir(path))); err == nil {
		w.notes = append(slices.Clip(w.notes), line)
	}
}

// keep appends whole lines to the archive, always by the same descriptor; it
// starts a new line where the last one has no end.
func (a *agent) keep(w *world, p *simfs.Process) {
	if a.file == nil {
		if f, err := p.OpenFile(archivePath, appendFlags, 0); err == nil && a.budget > 0 {
			a.file = f.(*simfs.File)
		}
		return
	}
	if a.budget == 0 {
		a.close()
		return
	}
	a.budget--
	line := fmt.Sprintf(`{"note":"keeper %d"}`, a.budget)
	text := line + "\n"
	info, _ := a.file.Stat()
	if open, _ := endsOpen(a.file, info.Size); open {
		text = "\n" + text
	}
	_, err := a.file.Write([]byte(text))
	if err = errors.Join(err, a.file.Sync(), p.SyncDir(filepath.Dir(archivePath))); err == nil {
		w.notes = append(slices.Clip(w.notes), line)
	}
}

// rivalSkip is what a rival sweep leaves out too, under a mutant.
var rivalSkip step

func (w *world) agentSkip() step { return rivalSkip }

// noteLate opens the archive that is about to be replaced, and appends to that
// file, whatever its name is by then.
func (a *agent) noteLate(w *world, p *simfs.Process) {
	if a.file == nil {
		prior, err := p.Lstat(placeAt(archivePath).side(priorSuffix))
		now, nowErr := p.Lstat(archivePath)
		if a.budget == 0 || errors.Join(err, nowErr) != nil || !prior.SameFile(now) {
			return
		}
		if f, err := p.OpenFile(archivePath, appendFlags, 0); err == nil {
			a.file = f.(*simfs.File)
		}
		return
	}
	defer a.close()
	if a.budget == 0 {
		return
	}
	a.budget--
	line := fmt.Sprintf(`{"note":"late %d"}`, a.budget)
	_, err := a.file.Write([]byte("\n" + line + "\n"))
	if err = errors.Join(err, a.file.Sync()); err == nil {
		w.notes = append(slices.Clip(w.notes), line)
	}
}

func (a *agent) open(p *simfs.Process) bool {
	f, err := p.OpenFile(storePath, appendFlags, 0)
	if err != nil {
		return false
	}
	a.file = f.(*simfs.File)
	return true
}

func (a *agent) close() {
	_ = a.file.Close()
	a.file = nil
}

// lockAnd is the documented rule for cooperating writers.
func (a *agent) lockAnd(w *world, p *simfs.Process, write func(*world)) {
	if a.file == nil && (a.budget == 0 || !a.open(p)) {
		return
	}
	got, _ := a.file.TryLock()
	if !got {
		return // goes on waiting, with the file open
	}
	mine, _ := a.file.Stat()
	if now, err := p.Lstat(storePath); err == nil && now.SameFile(mine) {
		write(w)
	}
	a.close()
}

// write appends one line, durably, and then counts on it.
func (a *agent) write(w *world) {
	line := a.line()
	text := line + "\n"
	info, _ := a.file.Stat()
	var lastByte [1]byte
	if _, _ = a.file.ReadAt(lastByte[:], info.Size-1); info.Size > 0 && lastByte[0] != '\n' {
		text = "\n" + text
	}
	_, err := a.file.Write([]byte(text))
	if err == nil {
		err = a.file.Sync()
	}
	if err == nil {
		w.lines = append(w.lines, line)
	}
	a.budget--
}

func (a *agent) rewrite(w *world, p *simfs.Process) {
	a.budget--
	data, _ := w.disk.Get(storePath)
	line := a.line()
	if len(data) > 0 && data[len(data)-1] != '\n' {
		data = append(slices.Clip(data), '\n')
	}
	f, err := p.OpenFile("/s/tmp", createFlags, 0o640)
	if err != nil {
		return
	}
	_, err = f.Write(append(slices.Clip(data), line+"\n"...))
	err = errors.Join(err, f.Sync(), f.Close(), p.Rename("/s/tmp", storePath), p.SyncDir("/s"))
	if err == nil {
		w.lines = append(w.lines, line)
	}
}
