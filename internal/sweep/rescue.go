package sweep

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"time"

	"github.com/iamfaham/recolva/internal/storefs"
	"github.com/iamfaham/recolva/internal/transaction"
)

// A restore that merges puts a new file in the store's place. A writer that
// has the old one open would write to a file without a name. So a store that
// anybody has open for writing is not merged into but appended to; and because
// one may open it just before it is replaced, the old file stays open here
// until nobody writes to it, and what came to it is moved on.

// onlyReader opens the store to watch it, unless it is being written to.
func (t *restoring) onlyReader() (storefs.File, error) {
	path, err := storefs.OS().RealPath(t.job.Store)
	if err != nil {
		return nil, failed(err)
	}
	f, err := storefs.OS().OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, failed(err)
	}
	writers, err := f.HasWriters()
	if err != nil && !errors.Is(err, storefs.ErrUnsupported) {
		f.Close()
		return nil, failed(err)
	}
	if writers {
		f.Close()
		return nil, errNotMerged
	}
	return f, nil
}

const (
	rescuePatience = 2 * time.Second
	rescuePause    = 10 * time.Millisecond
)

// rescue moves what others wrote to the old store to the new one.
func (t *restoring) rescue(ctx context.Context, old storefs.File) error {
	for from, end := t.store.Bytes, time.Now().Add(rescuePatience); ; {
		writers, err := old.HasWriters()
		if errors.Is(err, storefs.ErrUnsupported) {
			writers, err = false, nil
		}
		if err != nil {
			return t.uncertain(err)
		}
		info, err := old.Stat()
		if err != nil {
			return t.uncertain(err)
		}
		late := time.Now().After(end)
		if info.Size > from && (!writers || late) {
			if err := t.appendTail(ctx, old, from, info.Size); err != nil {
				return t.uncertain(err)
			}
			from = info.Size
			continue // more may have come
		}
		if !writers {
			return nil
		}
		if late {
			return t.uncertain(errors.New("another process still has the old file open: what it writes there is lost"))
		}
		time.Sleep(rescuePause)
	}
}

func (t *restoring) uncertain(err error) error {
	return &transaction.Error{Class: transaction.Uncertain, Err: fmt.Errorf("%s is restored, but what was appended to it meanwhile may not be in it: %w", t.job.Store, err)}
}

// appendTail appends the bytes [from, to) of the old store to the new one, as
// a cooperating writer does: locked, after a newline, in one write.
func (t *restoring) appendTail(ctx context.Context, old storefs.File, from, to int64) error {
	path, err := storefs.OS().RealPath(t.job.Store)
	if err != nil {
		return err
	}
	f, err := storefs.OS().OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		if got, err := f.TryLock(); err != nil {
			return err
		} else if got {
			break
		}
		if err := storefs.OS().Sleep(ctx, rescuePause); err != nil {
			return err
		}
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	tail := make([]byte, 1+to-from)
	tail[0] = '\n'
	if _, err := old.ReadAt(tail[1:], from); err != nil && err != io.EOF {
		return err
	}
	if last := make([]byte, 1); info.Size == 0 {
		tail = tail[1:]
	} else if _, err := f.ReadAt(last, info.Size-1); err != nil && err != io.EOF {
		return err
	} else if last[0] == '\n' {
		tail = tail[1:]
	}
	if _, err := f.Write(tail); err != nil {
		return err
	}
	return f.Sync()
}

// sumWriter is the digest of what is written to it.
type sumWriter struct {
	sum   hash.Hash
	bytes int64
}

func (s *sumWriter) Write(p []byte) (int, error) {
	s.bytes += int64(len(p))
	return s.sum.Write(p)
}

func (s *sumWriter) digest() (d transaction.Digest) {
	d.Bytes = s.bytes
	s.sum.Sum(d.SHA256[:0])
	return d
}
