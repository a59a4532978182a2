// Package storefs is the narrow door through which a sweep touches files.
//
// The crash-safe transaction uses nothing but the FS and File interfaces, so
// that a simulated disk (package simfs) can stand in for the real one, stop it
// at any operation and show every state a power cut may leave. The interface
// holds only what the protocol needs: no directory listing, no recursive
// removal, no path walking.
//
// What each platform can promise:
//
//	            flock     lease probe   directory fsync   rename over an open file
//	Linux       yes       yes           yes               yes
//	macOS       yes       no            yes               yes
//	Windows     LockFileEx no           no                no (the sweep rolls back)
package storefs

import (
	"context"
	"errors"
	"io/fs"
	"time"
)

// ErrUnsupported is returned by a probe that this platform or file system
// cannot answer.
var ErrUnsupported = errors.New("not supported here")

// Info is what the protocol asks about a file: identity, kind, owner, length
// and times.
type Info struct {
	Dev, Ino   uint64 // Ino 0: the platform has no inode numbers
	Mode       fs.FileMode
	Nlink      uint64
	UID, GID   uint32
	Size       int64
	ModNanos   int64 // time of the last change of content
	ChangeNano int64 // time of the last change of content or attributes; 0 when unknown
}

// SameFile reports whether two Infos describe one file, however it was named.
func (i Info) SameFile(j Info) bool { return i.Dev == j.Dev && i.Ino == j.Ino }

// Attributes says which attributes File.CopyAttributes carries over.
type Attributes uint8

const (
	// AllAttributes are mode, owner, group and every extended attribute
	// (POSIX ACLs are extended attributes on Linux). It fails when one of
	// them cannot be kept.
	AllAttributes Attributes = iota
	// AccessOnly are mode, owner, group and the access ACL, for a file that
	// is new beside its model. Where the owner cannot be given, the file
	// stays private to its creator (0600), never wider than the model.
	AccessOnly
)

// FS is a file system as the protocol sees it.
type FS interface {
	// OpenFile opens a file, never through a symbolic link in the last
	// element and never waiting for the other end of a FIFO. flag is a set of
	// os.O_* flags.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// Lstat describes the name itself, not what a symbolic link points to.
	Lstat(name string) (Info, error)
	// Link gives a file a second name; it fails if newName exists.
	Link(oldName, newName string) error
	// Rename moves oldName over newName in one step.
	Rename(oldName, newName string) error
	// Remove removes the name of a file, never a directory.
	Remove(name string) error
	// SyncDir makes the entries of a directory durable.
	SyncDir(dir string) error
	// RealPath makes a path absolute and free of symbolic links. The last
	// element may be missing, unless it is a dangling symbolic link.
	RealPath(name string) (string, error)
	// Network names the kind of file system when dir is on one whose locks
	// or appends other machines may not honour, else it returns "".
	Network(dir string) (string, error)
	// RenamesOpenFiles tells whether Rename works while either file is open.
	RenamesOpenFiles() bool
	// Pid is the number of this process and UID its effective user (0 where
	// users have no numbers).
	Pid() int
	UID() uint32
	// Now is a monotonic reading for deadlines, and Sleep waits.
	Now() time.Duration
	Sleep(ctx context.Context, d time.Duration) error
}

// File is an open file. Locks and leases end with the process.
type File interface {
	ReadAt(p []byte, off int64) (int, error)
	// Write appends when the file was opened with os.O_APPEND, else it goes
	// on where the last Write ended. One call is one system call as long as
	// the system takes it whole.
	Write(p []byte) (int, error)
	// WriteAt writes at an offset, into a file that was not opened with os.O_APPEND.
	WriteAt(p []byte, off int64) (int, error)
	Stat() (Info, error)
	Truncate(size int64) error
	// Sync makes content and attributes durable. After an error nothing may
	// be assumed about what was written since the last success; calling it
	// again proves nothing.
	Sync() error
	// Reserve sets space aside without changing the length, so that a Write
	// of length bytes at offset cannot be cut short by a full disk. It does
	// nothing where the file system cannot.
	Reserve(offset, length int64) error
	// TryLock takes the exclusive advisory lock (flock) without waiting.
	TryLock() (bool, error)
	Unlock() error
	// HasWriters reports whether any process has the file open for writing.
	// The file itself must be open for reading only.
	HasWriters() (bool, error)
	// TryExclusive shuts everybody else out while the returned function has
	// not been called: ok is false when another process has the file open.
	// The file itself must be open for reading and writing.
	TryExclusive() (release func(), ok bool, err error)
	CopyAttributes(from File, what Attributes) error
	Close() error
}
