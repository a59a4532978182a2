package simfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/iamfaham/recolva/internal/storefs"
)

// ErrDead is what every call of a stopped process returns.
var ErrDead = errors.New("the process is dead")

// Fault is what happens to one operation.
type Fault uint8

const (
	NoFault     Fault = iota
	Crash             // the process ends before the operation
	Fail              // EIO, nothing done (a failed fsync drops what it should have kept)
	FailDone          // EIO, although it was done
	Full              // ENOSPC, nothing done
	ShortOnFull       // ENOSPC after half of a write
)

// Process is a process on a Disk; it implements storefs.FS.
type Process struct {
	Disk   *Disk
	Number int
	// Before is called before each operation; changing tells one that changes
	// something or could be lost. It may return a fault.
	Before func(name, path string, changing bool) Fault
	// NoLeases makes the probes answer ErrUnsupported, as on macOS.
	NoLeases bool
	dead     bool
	now      time.Duration
}

// Process starts a process.
func (d *Disk) Process(pid int) *Process { return &Process{Disk: d, Number: pid} }

// Dead tells whether the process was stopped.
func (p *Process) Dead() bool { return p.dead }

// step runs one operation with its fault.
func (p *Process) step(name, path string, changing bool, do func() error) error {
	return p.run(name, path, changing, do, func() error { return nil })
}

// stepShort is step for a write, which a full disk may cut short.
func (p *Process) stepShort(name, path string, do, half func() error) error {
	return p.run(name, path, true, do, half)
}

func (p *Process) run(name, path string, changing bool, do, half func() error) error {
	if p.dead {
		return ErrDead
	}
	fault := NoFault
	if p.Before != nil {
		fault = p.Before(name, path, changing)
	}
	var err error
	switch fault {
	case Crash:
		p.dead = true
		return ErrDead
	case NoFault:
		err = do()
	case Fail:
		err = syscall.EIO
	case FailDone:
		_ = do()
		err = syscall.EIO
	case Full:
		err = syscall.ENOSPC
	case ShortOnFull:
		_ = half()
		err = syscall.ENOSPC
	}
	if err != nil {
		return &fs.PathError{Op: name, Path: path, Err: err}
	}
	return nil
}

func (p *Process) dir(path string) (*directory, string, error) {
	dir := p.Disk.dirs[filepath.Dir(path)]
	if dir == nil {
		return nil, "", syscall.ENOENT
	}
	return dir, filepath.Base(path), nil
}

// OpenFile implements storefs.FS.
func (p *Process) OpenFile(path string, flag int, perm fs.FileMode) (storefs.File, error) {
	var file *File
	err := p.step("open", path, flag&os.O_CREATE != 0, func() error {
		dir, base, err := p.dir(path)
		if err != nil {
			return err
		}
		d := p.Disk
		ino := d.inodes[dir.names[base]]
		switch {
		case ino == nil && flag&os.O_CREATE == 0:
			return syscall.ENOENT
		case ino != nil && flag&os.O_EXCL != 0:
			return syscall.EEXIST
		case ino != nil && ino.leased != 0:
			return syscall.EWOULDBLOCK
		case ino == nil:
			d.nextIno++
			ino = &inode{number: d.nextIno, mode: perm, stableM: perm, modTime: d.tick(), chgTime: d.clock}
			d.inodes[ino.number] = ino
			dir.change(entry{name: base, ino: ino.number})
		}
		file = &File{p, path, d.nextFD}
		d.handles[d.nextFD] = &handle{
			pid: p.Number, ino: ino.number, write: flag&(os.O_WRONLY|os.O_RDWR) != 0, appends: flag&os.O_APPEND != 0,
		}
		d.nextFD++
		return nil
	})
	if err != nil {
		if file != nil {
			p.Disk.closeHandle(file.fd)
		}
		return nil, err
	}
	return file, nil
}

func (dir *directory) change(e entry) {
	dir.pending = append(dir.pending, e)
	e.apply(dir.names)
}

// Lstat implements storefs.FS.
func (p *Process) Lstat(path string) (info storefs.Info, err error) {
	err = p.step("lstat", path, false, func() error {
		if dir := p.Disk.dirs[path]; dir != nil {
			info = storefs.Info{Dev: 1, Ino: dir.number, Mode: fs.ModeDir | 0o755, Nlink: 1}
			return nil
		}
		ino := p.Disk.at(path)
		if ino == nil {
			return syscall.ENOENT
		}
		info = p.Disk.info(ino)
		return nil
	})
	return info, err
}

func (d *Disk) info(ino *inode) storefs.Info {
	return storefs.Info{
		Dev: 1, Ino: ino.number, Mode: ino.mode, Nlink: d.links(ino.number), UID: ino.uid,
		Size: int64(len(ino.data)), ModNanos: ino.modTime, ChangeNano: ino.chgTime,
	}
}

// Link implements storefs.FS.
func (p *Process) Link(oldPath, newPath string) error {
	return p.step("link", newPath, true, func() error {
		dir, base, err := p.dir(newPath)
		if err != nil {
			return err
		}
		ino := p.Disk.at(oldPath)
		if ino == nil {
			return syscall.ENOENT
		}
		if dir.names[base] != 0 {
			return syscall.EEXIST
		}
		dir.change(entry{name: base, ino: ino.number})
		ino.chgTime = p.Disk.tick()
		return nil
	})
}

// Rename implements storefs.FS; both names must be in one directory.
func (p *Process) Rename(oldPath, newPath string) error {
	return p.step("rename", newPath, true, func() error {
		dir, base, err := p.dir(newPath)
		if err != nil {
			return err
		}
		ino := p.Disk.at(oldPath)
		switch {
		case ino == nil:
			return syscall.ENOENT
		case filepath.Dir(oldPath) != filepath.Dir(newPath):
			return syscall.EXDEV
		case dir.names[base] == ino.number: // two names of one file: POSIX says nothing happens
			return nil
		}
		dir.change(entry{name: base, ino: ino.number, renamed: filepath.Base(oldPath)})
		return nil
	})
}

// Remove implements storefs.FS.
func (p *Process) Remove(path string) error {
	dir, base, err := p.dir(path)
	if err != nil || dir.names[base] == 0 && !p.dead { // changes nothing: no place to crash
		return &fs.PathError{Op: "remove", Path: path, Err: syscall.ENOENT}
	}
	return p.step("remove", path, true, func() error {
		dir.change(entry{name: base})
		return nil
	})
}

// SyncDir implements storefs.FS. When it fails the changes stay pending.
func (p *Process) SyncDir(path string) error {
	return p.step("syncdir", path, true, func() error {
		dir := p.Disk.dirs[path]
		if dir == nil {
			return syscall.ENOENT
		}
		for _, e := range dir.pending {
			e.apply(dir.stable)
		}
		dir.pending = nil
		return nil
	})
}

// RealPath implements storefs.FS; the simulated disk has no links.
func (p *Process) RealPath(path string) (string, error) { return filepath.Clean(path), nil }

// Network implements storefs.FS.
func (p *Process) Network(dir string) (string, error) {
	if strings.HasPrefix(dir, "/net") {
		return "NFS", nil
	}
	return "", nil
}

// RenamesOpenFiles implements storefs.FS.
func (p *Process) RenamesOpenFiles() bool { return true }

// Pid implements storefs.FS.
func (p *Process) Pid() int { return p.Number }

// UID implements storefs.FS.
func (p *Process) UID() uint32 { return 0 }

// Now implements storefs.FS: time passes only in Sleep.
func (p *Process) Now() time.Duration { return p.now }

// Sleep implements storefs.FS.
func (p *Process) Sleep(_ context.Context, d time.Duration) error {
	return p.step("sleep", "", false, func() error {
		p.now += d
		return nil
	})
}
