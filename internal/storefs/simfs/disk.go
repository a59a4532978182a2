// Package simfs is a file system in memory for tests of crash safety. It
// remembers which writes and directory changes were made durable, can stop at
// any operation, and then gives the states that a killed process or a power
// cut may leave.
//
// The model of a power cut, weaker than any journalling file system:
//
//   - Of each file, any subset (or prefix, or none, or all) of the writes,
//     cuts and attribute changes since its last fsync survives. A write is torn
//     in units of 64 bytes, and what is missing before its end reads as zero.
//   - Of each directory, any subset (or prefix, none, all) of the changes since
//     its last fsync survives. A rename is one change.
//   - A failed fsync of a file drops what was not yet durable: it stays
//     readable, a later fsync succeeds, and a power cut loses it.
//   - A file without a surviving name is gone.
package simfs

import (
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
)

const tornUnit = 64

// Disk is a machine's disk with its cache, and its open files.
type Disk struct {
	inodes  map[uint64]*inode
	dirs    map[string]*directory
	handles map[int]*handle
	nextIno uint64
	nextFD  int
	clock   int64
}

type inode struct {
	number  uint64
	mode    fs.FileMode
	uid     uint32
	data    []byte // as read; never changed in place, so copies of a Disk share it
	stable  []byte // as it survives a power cut
	stableM fs.FileMode
	pending []change
	modTime int64
	chgTime int64
	locked  int // handle that holds the lock, 0 for none
	leased  int // handle that shuts others out
}

// change is a change of content since the last fsync.
type change struct {
	cut    bool
	attr   bool
	mode   fs.FileMode
	offset int64
	data   []byte
}

type directory struct {
	number  uint64
	names   map[string]uint64
	stable  map[string]uint64
	pending []entry
}

// entry is a change of a directory since its last fsync: name leads to ino
// (0: nowhere), and the name that was renamed leads nowhere.
type entry struct {
	name    string
	ino     uint64
	renamed string
}

type handle struct {
	pid      int
	ino      uint64
	write    bool
	appends  bool
	position int64
}

// New makes a disk with empty durable directories.
func New(dirs ...string) *Disk {
	d := &Disk{
		inodes: map[uint64]*inode{}, dirs: map[string]*directory{}, handles: map[int]*handle{},
		nextIno: 100, nextFD: 1, clock: 1_000_000,
	}
	for i, dir := range dirs {
		d.dirs[dir] = &directory{number: uint64(i + 2), names: map[string]uint64{}, stable: map[string]uint64{}}
	}
	return d
}

// Put makes a durable file.
func (d *Disk) Put(path string, data []byte, mode fs.FileMode) {
	d.nextIno++
	ino := &inode{
		number: d.nextIno, mode: mode, stableM: mode, data: slices.Clone(data), stable: slices.Clone(data),
		modTime: d.tick(), chgTime: d.clock,
	}
	d.inodes[ino.number] = ino
	dir := d.dirs[filepath.Dir(path)]
	dir.names[filepath.Base(path)] = ino.number
	dir.stable[filepath.Base(path)] = ino.number
}

// Get reads a file as a process would see it.
func (d *Disk) Get(path string) ([]byte, bool) {
	ino := d.at(path)
	if ino == nil {
		return nil, false
	}
	return ino.data, true
}

// Mode is the mode of a file, 0 when there is none.
func (d *Disk) Mode(path string) fs.FileMode {
	if ino := d.at(path); ino != nil {
		return ino.mode
	}
	return 0
}

// Names lists a directory.
func (d *Disk) Names(dir string) []string {
	return slices.Sorted(maps.Keys(d.dirs[dir].names))
}

func (d *Disk) at(path string) *inode {
	dir := d.dirs[filepath.Dir(path)]
	if dir == nil {
		return nil
	}
	return d.inodes[dir.names[filepath.Base(path)]]
}

func (d *Disk) tick() int64 {
	d.clock++
	return d.clock
}

// Clone copies the disk, its cache and its open files.
func (d *Disk) Clone() *Disk {
	c := *d
	c.inodes = make(map[uint64]*inode, len(d.inodes))
	for n, ino := range d.inodes {
		copied := *ino
		copied.pending = slices.Clip(ino.pending)
		c.inodes[n] = &copied
	}
	c.dirs = make(map[string]*directory, len(d.dirs))
	for n, dir := range d.dirs {
		c.dirs[n] = &directory{dir.number, maps.Clone(dir.names), maps.Clone(dir.stable), slices.Clip(dir.pending)}
	}
	c.handles = make(map[int]*handle, len(d.handles))
	for n, h := range d.handles {
		copied := *h
		c.handles[n] = &copied
	}
	return &c
}

// Kill ends a process: its files are closed, its locks and leases free. What
// it wrote is in the cache and nothing is lost.
func (d *Disk) Kill(pid int) {
	for fd, h := range d.handles {
		if h.pid == pid {
			d.closeHandle(fd)
		}
	}
}

func (d *Disk) closeHandle(fd int) {
	h := d.handles[fd]
	if h == nil {
		return
	}
	delete(d.handles, fd)
	if ino := d.inodes[h.ino]; ino != nil {
		if ino.locked == fd {
			ino.locked = 0
		}
		if ino.leased == fd {
			ino.leased = 0
		}
	}
}

// Persistence says what survives of what was not made durable.
type Persistence uint8

const (
	// None keeps only what was made durable.
	None Persistence = iota
	// All keeps everything.
	All
	// Prefix keeps, of each file and each directory, a random first part.
	Prefix
	// Subset keeps a random part of each, in torn pieces.
	Subset
)

// PowerCut ends all processes and gives the disk as it is found afterwards.
func (d *Disk) PowerCut(p Persistence, r *rand.Rand) *Disk {
	c := d.Clone()
	c.handles = map[int]*handle{}
	for _, name := range slices.Sorted(maps.Keys(c.dirs)) {
		dir := c.dirs[name]
		for _, e := range survivors(dir.pending, p, r) {
			e.apply(dir.stable)
		}
		dir.pending, dir.names = nil, maps.Clone(dir.stable)
	}
	for _, n := range slices.Sorted(maps.Keys(c.inodes)) {
		ino := c.inodes[n]
		for _, change := range survivors(ino.pending, p, r) {
			ino.applyStable(change, p == Subset, r)
		}
		ino.pending, ino.data, ino.mode = nil, ino.stable, ino.stableM
		ino.locked, ino.leased = 0, 0
		if c.links(n) == 0 {
			delete(c.inodes, n)
		}
	}
	return c
}

func survivors[T any](pending []T, p Persistence, r *rand.Rand) []T {
	switch {
	case p == None || len(pending) == 0:
		return nil
	case p == All:
		return pending
	case p == Prefix:
		return pending[:r.IntN(len(pending)+1)]
	}
	var out []T
	for _, x := range pending {
		if r.IntN(2) == 0 {
			out = append(out, x)
		}
	}
	return out
}

func (e entry) apply(names map[string]uint64) {
	if e.renamed != "" {
		delete(names, e.renamed)
	}
	if e.ino == 0 {
		delete(names, e.name)
	} else {
		names[e.name] = e.ino
	}
}

func (i *inode) applyStable(c change, torn bool, r *rand.Rand) {
	switch {
	case c.attr:
		i.stableM = c.mode
	case c.cut:
		i.stable = resized(i.stable, c.offset)
	case !torn || r.IntN(3) == 0:
		i.stable = written(i.stable, c.offset, c.data)
	default:
		i.stable = resized(i.stable, max(int64(len(i.stable)), c.offset+int64(len(c.data))))
		for at := 0; at < len(c.data); {
			// Units are aligned to the file, as pages are.
			end := min(len(c.data), at+tornUnit-int((c.offset+int64(at))%tornUnit))
			if r.IntN(2) == 0 {
				i.stable = written(i.stable, c.offset+int64(at), c.data[at:end])
			}
			at = end
		}
	}
}

func resized(data []byte, size int64) []byte {
	if size <= int64(len(data)) {
		return data[:size:size]
	}
	out := make([]byte, size)
	copy(out, data)
	return out
}

func written(data []byte, offset int64, p []byte) []byte {
	out := make([]byte, max(int64(len(data)), offset+int64(len(p))))
	copy(out, data)
	copy(out[offset:], p)
	return out
}

func (d *Disk) links(n uint64) (count uint64) {
	for _, dir := range d.dirs {
		for _, ino := range dir.names {
			if ino == n {
				count++
			}
		}
	}
	return count
}
