package simfs

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"syscall"

	"github.com/iamfaham/recolva/internal/storefs"
)

// File is an open file of a Process.
type File struct {
	process *Process
	path    string
	fd      int
}

// On gives the same open file of a process on a copy of the disk.
func (f *File) On(p *Process) *File { return &File{p, f.path, f.fd} }

func (f *File) inode() *inode {
	h := f.process.Disk.handles[f.fd]
	if h == nil {
		return nil
	}
	return f.process.Disk.inodes[h.ino]
}

func (f *File) do(name string, changing bool, fn func(h *handle, ino *inode) error) error {
	return f.process.step(name, f.path, changing, func() error {
		ino := f.inode()
		if ino == nil {
			return fs.ErrClosed
		}
		return fn(f.process.Disk.handles[f.fd], ino)
	})
}

// ReadAt implements storefs.File.
func (f *File) ReadAt(b []byte, off int64) (n int, err error) {
	if f.process.dead {
		return 0, ErrDead
	}
	ino := f.inode()
	if ino == nil {
		return 0, fs.ErrClosed
	}
	if off < int64(len(ino.data)) {
		n = copy(b, ino.data[off:])
	}
	if n < len(b) {
		err = io.EOF
	}
	return n, err
}

// Write implements storefs.File.
func (f *File) Write(b []byte) (int, error) {
	short := false
	err := f.process.stepShort("write", f.path, func() error {
		return f.put(b)
	}, func() error {
		short = true
		return f.put(b[:len(b)/2])
	})
	switch {
	case err == nil:
		return len(b), nil
	case short:
		return len(b) / 2, err
	}
	return 0, err
}

// WriteAt implements storefs.File.
func (f *File) WriteAt(b []byte, off int64) (int, error) {
	err := f.do("write", true, func(h *handle, ino *inode) error {
		h.position = off
		return f.process.Disk.write(h, ino, b)
	})
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

func (f *File) put(b []byte) error {
	ino := f.inode()
	if ino == nil {
		return fs.ErrClosed
	}
	return f.process.Disk.write(f.process.Disk.handles[f.fd], ino, b)
}

func (d *Disk) write(h *handle, ino *inode, b []byte) error {
	if !h.write {
		return syscall.EBADF
	}
	if h.appends {
		h.position = int64(len(ino.data))
	}
	data := slices.Clone(b)
	ino.data = written(ino.data, h.position, data)
	ino.pending = append(ino.pending, change{offset: h.position, data: data})
	ino.modTime, ino.chgTime = d.tick(), d.clock
	h.position += int64(len(b))
	return nil
}

// Stat implements storefs.File.
func (f *File) Stat() (info storefs.Info, err error) {
	if f.process.dead {
		return info, ErrDead
	}
	ino := f.inode()
	if ino == nil {
		return info, fs.ErrClosed
	}
	return f.process.Disk.info(ino), nil
}

// Truncate implements storefs.File.
func (f *File) Truncate(size int64) error {
	return f.do("truncate", true, func(h *handle, ino *inode) error {
		if !h.write {
			return syscall.EINVAL
		}
		if size == int64(len(ino.data)) {
			return nil
		}
		ino.data = resized(ino.data, size)
		ino.pending = append(ino.pending, change{cut: true, offset: size})
		ino.modTime, ino.chgTime = f.process.Disk.tick(), f.process.Disk.clock
		return nil
	})
}

// Sync implements storefs.File.
func (f *File) Sync() error {
	err := f.do("fsync", true, func(_ *handle, ino *inode) error {
		for _, c := range ino.pending {
			ino.applyStable(c, false, nil)
		}
		ino.pending = nil
		return nil
	})
	if errors.Is(err, syscall.EIO) {
		if ino := f.inode(); ino != nil {
			ino.pending = nil // dropped, unless the fault came after
		}
	}
	return err
}

// Reserve implements storefs.File.
func (f *File) Reserve(int64, int64) error {
	return f.do("reserve", true, func(*handle, *inode) error { return nil })
}

// TryLock implements storefs.File.
func (f *File) TryLock() (got bool, err error) {
	err = f.do("lock", false, func(_ *handle, ino *inode) error {
		if got = ino.locked == 0 || ino.locked == f.fd; got {
			ino.locked = f.fd
		}
		return nil
	})
	return got, err
}

// Unlock implements storefs.File.
func (f *File) Unlock() error {
	return f.do("unlock", false, func(_ *handle, ino *inode) error {
		if ino.locked == f.fd {
			ino.locked = 0
		}
		return nil
	})
}

// HasWriters implements storefs.File.
func (f *File) HasWriters() (writers bool, err error) {
	if f.process.NoLeases {
		return false, storefs.ErrUnsupported
	}
	err = f.do("lease", false, func(_ *handle, ino *inode) error {
		for _, h := range f.process.Disk.handles {
			writers = writers || h.ino == ino.number && h.write
		}
		return nil
	})
	return writers, err
}

// TryExclusive implements storefs.File.
func (f *File) TryExclusive() (release func(), ok bool, err error) {
	if f.process.NoLeases {
		return nil, false, storefs.ErrUnsupported
	}
	err = f.do("lease", false, func(_ *handle, ino *inode) error {
		for fd, h := range f.process.Disk.handles {
			if h.ino == ino.number && fd != f.fd {
				return nil
			}
		}
		ino.leased, ok = f.fd, true
		return nil
	})
	return func() {
		if ino := f.inode(); ino != nil {
			ino.leased = 0
		}
	}, ok, err
}

// CopyAttributes implements storefs.File.
func (f *File) CopyAttributes(from storefs.File, _ storefs.Attributes) error {
	model, err := from.Stat()
	if err != nil {
		return err
	}
	return f.do("chmod", true, func(_ *handle, ino *inode) error {
		ino.mode, ino.chgTime = model.Mode, f.process.Disk.tick()
		ino.pending = append(ino.pending, change{attr: true, mode: model.Mode})
		return nil
	})
}

// Close implements storefs.File.
func (f *File) Close() error {
	if f.process.dead {
		return ErrDead
	}
	f.process.Disk.closeHandle(f.fd)
	return nil
}
