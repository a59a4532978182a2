package transaction

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/iamfaham/recolva/internal/storefs"
)

const (
	pieceBytes = 1 << 20 // aimed length of a piece of whole lines
	// graceTime is how long the old input must not grow where the system
	// cannot tell whether it has a writer.
	graceTime = 200 * time.Millisecond
)

// drain moves to where they belong the lines that others write to a file that
// has lost its name, until nobody has it open for writing: first the old input,
// then the archive that was replaced.
func (e *engine) drain(ctx context.Context, home place, j *journal) (moved int64, err error) {
	if j.Drain == nil || j.Drain.Source == sourceOld {
		if moved, err = e.drainInput(ctx, home, j); err != nil {
			return moved, err
		}
	}
	for i := range j.Targets {
		if tg := &j.Targets[i]; tg.Role == roleArchive && tg.Mode == modeReplace && tg.Existed && !tg.unmarked {
			more, err := e.drainPrior(ctx, home, j, tg)
			return moved + more, err
		}
	}
	return moved, nil
}

// drainInput drains the old input into the store.
func (e *engine) drainInput(ctx context.Context, home place, j *journal) (int64, error) {
	f, err := e.openOld(home.side(oldSuffix), j.Old.Ino)
	if err != nil || f == nil {
		return 0, err
	}
	defer f.Close()
	if j.Drain == nil {
		j.Drain = &drain{Source: sourceOld, From: j.Old.Bytes}
	}
	m := &mover{engine: e, home: home, store: home, journal: j, source: f}
	if j.Old.Open {
		m.openAt = j.Old.Bytes
	}
	return m.drain(ctx)
}

// drainPrior drains the archive that was replaced into the one in its place,
// if anybody wrote to it. In a restore it is the store.
func (e *engine) drainPrior(ctx context.Context, home place, j *journal, tg *target) (int64, error) {
	p := tg.Path.place(home)
	e.data.release(p) // we would count as its writer
	f, err := e.openOld(p.side(priorSuffix), tg.Ino)
	if err != nil || f == nil {
		return 0, err
	}
	defer f.Close()
	open, err := endsOpen(f, tg.Size)
	if err != nil {
		return 0, err
	}
	if j.Drain == nil || j.Drain.Source != sourcePrior {
		j.Drain = &drain{Source: sourcePrior, From: tg.Size}
	}
	m := &mover{engine: e, home: home, store: p, journal: j, source: f}
	if open {
		m.openAt = tg.Size
	}
	return m.drain(ctx)
}

// openOld opens a file under its second name, which must be the inode of the
// journal; nil when a run was cut off after its last drain.
func (e *engine) openOld(path string, ino uint64) (storefs.File, error) {
	f, err := e.fs.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		if _, exists, _ := e.lookup(path); !exists {
			return nil, nil
		}
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.Ino != ino {
		_ = f.Close()
		return nil, errors.Join(err, needsPersonf("%s is not the file that the journal beside it names", show(path)))
	}
	return f, nil
}

// mover moves the lines of an old file to the store, piece by piece. Each
// piece stands in the journal before it is written, so that after a crash it
// can be told from one that was not.
type mover struct {
	*engine
	home    place // of the journal
	store   place // where the lines go
	journal *journal
	source  storefs.File
	openAt  int64 // where a line was settled that had no newline; 0 for none
	moved   int64
}

func (m *mover) drain(ctx context.Context) (int64, error) {
	err := m.resume(ctx)
	if err == nil {
		err = m.run(ctx)
	}
	return m.moved, err
}

// run goes on until the source has no writer and nothing is left in it.
func (m *mover) run(ctx context.Context) error {
	deadline, calm := m.drainDeadline(), m.fs.Now()
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		writers, err := m.source.HasWriters()
		blind := errors.Is(err, storefs.ErrUnsupported)
		if err != nil && !blind {
			return err
		}
		if blind {
			// Windows lets nobody keep a file open that is renamed over.
			writers = m.fs.RenamesOpenFiles() && m.fs.Now() < calm+graceTime
		}
		more, err := m.move(ctx, !writers)
		midLine := errors.Is(err, errMidLine)
		switch {
		case midLine && m.fs.Now() >= deadline:
			return uncertainf("%s is swept, but a writer has begun a line in it and not ended it; what was written to the old file is moved by the next run", show(m.store.path))
		case midLine:
		case err != nil:
			return err
		case more:
			calm, wait = m.fs.Now(), time.Millisecond
		case !writers:
			return nil
		case !blind && m.fs.Now() >= deadline:
			return uncertainf("%s is swept, but a writer still holds its old file open; what it writes is moved by the next run", show(m.store.path))
		}
		if !more {
			if err := m.fs.Sleep(ctx, wait); err != nil {
				return err
			}
		}
	}
}

// errMidLine means that somebody may be in the middle of a line of the store:
// what is appended now would split it.
var errMidLine = errors.New("a program is writing a line")

// move moves the next piece; whole tells that the source's last line is as
// whole as it will ever be. more is false when there was nothing to move. With
// errMidLine nothing was moved yet.
func (m *mover) move(ctx context.Context, whole bool) (more bool, err error) {
	d := m.journal.Drain
	data, err := m.nextPiece(whole)
	if err != nil || len(data) == 0 {
		return false, err
	}
	if m.completesLast(data) {
		d.From++
		return true, nil
	}
	store, err := m.data.get(ctx, m.store, m.deadline())
	if err != nil {
		return false, err
	}
	defer m.data.release(m.store)
	if err := m.append(store, data); err != nil {
		return false, err
	}
	d.From, d.Piece = d.From+int64(len(data)), nil
	m.moved += int64(len(data))
	return true, nil
}

// completesLast tells whether data begins with the newline of the last line
// that was swept without one. That line is settled already, and whatever is
// appended behind it gets a newline first.
func (m *mover) completesLast(data []byte) bool {
	return m.openAt > 0 && m.journal.Drain.From == m.openAt && data[0] == '\n'
}

func (m *mover) append(store storefs.File, data []byte) error {
	size, joint, err := m.lineEnd(store)
	if err != nil {
		return err
	}
	info, err := store.Stat()
	if err != nil {
		return err
	}
	info.Size = size
	d := m.journal.Drain
	sum := sha256.Sum256(data)
	d.Piece = &piece{
		To: d.From + int64(len(data)), Ino: info.Ino, Base: info.Size,
		Joint: joint, SHA256: hex.EncodeToString(sum[:]),
	}
	if err := store.Reserve(info.Size, int64(len(data))+1); err != nil {
		return err
	}
	if !m.skips(journalPiece) {
		if err := m.writeJournal(m.home, m.journal); err != nil {
			return err
		}
	}
	if err := m.writeAtLineEnd(store, data, joint); err != nil {
		return err
	}
	return m.syncFile(store, syncPiece)
}

// writeAtLineEnd writes the piece while nobody else has the store open, if such
// a moment comes. The journal took its time: where the store ends differently
// now, it must be written again.
func (m *mover) writeAtLineEnd(store storefs.File, data []byte, joint bool) error {
	release, _, open, err := m.holdEnd(store, shutOutTime)
	defer release()
	if err != nil || open != joint {
		return cmp.Or(err, errMidLine)
	}
	if joint {
		data = append([]byte{'\n'}, data...)
	}
	_, err = store.Write(data)
	return err
}

// nextPiece reads whole lines of about pieceBytes from the source, or one
// line that is longer. A last line without newline counts only when whole.
func (m *mover) nextPiece(whole bool) ([]byte, error) {
	info, err := m.source.Stat()
	if err != nil {
		return nil, err
	}
	data, err := m.nextLines(m.source, m.journal.Drain.From, info.Size)
	if n := len(data); n > 0 && data[n-1] != '\n' && !whole {
		return nil, err
	}
	return data, err
}

// resume settles the piece that a crash interrupted: it is in the store, or a
// part of it is, or nothing.
func (m *mover) resume(ctx context.Context) error {
	d := m.journal.Drain
	if d.Piece == nil {
		return nil
	}
	data := make([]byte, d.Piece.To-d.From)
	if _, err := readFull(m.source, data, d.From); err != nil {
		return err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != d.Piece.SHA256 {
		return needsPersonf("the old file of %s was changed while it was moved", show(m.store.path))
	}
	store, err := m.data.get(ctx, m.store, m.deadline())
	if err != nil {
		return err
	}
	defer m.data.release(m.store)
	done, err := m.settlePiece(store, data)
	if err != nil {
		return err
	}
	if err := m.syncFile(store, syncPiece); err != nil {
		return err
	}
	d.From, d.Piece = d.From+done, nil
	return nil
}

// settlePiece returns how many bytes of the piece the store holds for good.
func (m *mover) settlePiece(store storefs.File, data []byte) (int64, error) {
	p := m.journal.Drain.Piece
	info, err := store.Stat()
	if err != nil {
		return 0, err
	}
	base := p.Base
	if info.Ino != p.Ino || info.Size < base {
		base = 0 // somebody rewrote the store: look everywhere
	}
	match, err := m.findPiece(store, data, base, info.Size)
	if err != nil || match == len(data) {
		return int64(match), err
	}
	if base == p.Base {
		if cut, err := m.cutTorn(store, data, info.Size); err != nil || cut {
			return 0, err
		}
	}
	lines := bytes.LastIndexByte(data[:match], '\n') + 1
	if match > lines {
		m.warn(fmt.Sprintf("%s: a line that was moved to its end is torn there, and follows once more whole", show(m.store.path)))
	}
	return int64(lines), nil
}

// cutTorn cuts a torn piece off the end of the store, but only while nobody
// else has the store open.
func (m *mover) cutTorn(store storefs.File, data []byte, size int64) (bool, error) {
	p := m.journal.Drain.Piece
	if p.Joint {
		data = append([]byte{'\n'}, data...)
	}
	if size == p.Base || size > p.Base+int64(len(data)) {
		return size == p.Base, nil
	}
	torn := make([]byte, size-p.Base)
	if _, err := readFull(store, torn, p.Base); err != nil || !prefixOrZero(torn, data) {
		return false, err
	}
	release, ok, err := store.TryExclusive()
	if errors.Is(err, storefs.ErrUnsupported) || err == nil && !ok {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer release()
	if now, err := store.Stat(); err != nil || now.Size != size {
		return false, err
	}
	return true, store.Truncate(p.Base)
}

// findPiece looks in store[base:size] for the line start from which the most
// bytes equal data, and returns their number. A part of data counts only when
// it holds a whole line or stands at its exact place.
func (m *mover) findPiece(store storefs.File, data []byte, base, size int64) (match int, err error) {
	exact := base
	if m.journal.Drain.Piece.Joint {
		exact++
	}
	window := make([]byte, len(data)+m.chunk())
	for from := base; from < size; {
		n, err := store.ReadAt(window[:min(int64(len(window)), size-from)], from)
		if err != nil && !errors.Is(err, io.EOF) || n == 0 {
			return match, err
		}
		last := from+int64(n) >= size
		// No later start can match better where no more bytes are left; blank lines
		// by the million do match.
		for i := 0; match < len(data) && n-i > match && (last || n-i >= len(data)); i++ {
			if i > 0 && window[i-1] != '\n' || i == 0 && from > base {
				continue // not the start of a line, or seen in the window before
			}
			if window[i+match] != data[match] {
				continue
			}
			k := common(window[i:n], data)
			if k > match && (bytes.IndexByte(data[:k], '\n') >= 0 || from+int64(i) == exact) {
				match = k
			}
		}
		if match == len(data) || last {
			return match, nil
		}
		from += int64(n - len(data)) // what may begin a match stays in the window
	}
	return match, nil
}

// common counts how many bytes a and b begin with alike.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
