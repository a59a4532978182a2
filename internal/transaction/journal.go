package transaction

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/iamfaham/recolva/internal/storefs"
)

// The journal and the pending pointer have one form: a line of JSON, and a
// line with the SHA-256 of the first line, its newline included, in lower-case
// hexadecimal. doc.go describes the members.

const journalVersion = 1

// maxNoteBytes bounds what is read back: a note that is longer is not ours.
const maxNoteBytes = 1 << 20

type journal struct {
	Version int       `json:"recolva"`
	Home    byteName  `json:"home"`
	Replace bool      `json:"replace_input"`
	Old     *oldInput `json:"old"`
	New     *newInput `json:"new"`
	Targets []target  `json:"targets"`
	Drain   *drain    `json:"drain"`
}

// oldInput is the input as it was: how much of it the new one holds.
type oldInput struct {
	Ino    uint64 `json:"ino"`
	Bytes  int64  `json:"bytes"`
	Open   bool   `json:"open"`   // these bytes end without a newline
	SHA256 string `json:"sha256"` // of these bytes
}

// newInput is the staged file that replaces it.
type newInput struct {
	Ino    uint64 `json:"ino"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// target is an archive or audit that the commit changes.
type target struct {
	Role    role     `json:"role"`
	Path    byteName `json:"path"` // a name beside the home, or an absolute path
	Mode    string   `json:"mode"` // "append" or "replace"
	Existed bool     `json:"existed"`
	Ino     uint64   `json:"ino"`      // of the file before; 0 if it did not exist
	Size    int64    `json:"size"`     // of the file before
	Joint   bool     `json:"joint"`    // a newline goes before the added bytes
	Bytes   int64    `json:"bytes"`    // how many bytes are added, the joint not counted
	SHA256  string   `json:"sha256"`   // of these
	NextIno uint64   `json:"next_ino"` // replace: of the file that takes the place

	unmarked bool // no pointer beside it leads to this journal: nothing may be taken from it
}

const (
	modeAppend  = "append"
	modeReplace = "replace"
)

// added is how much longer the commit makes an appended target.
func (t target) added() int64 {
	if t.Joint {
		return t.Bytes + 1
	}
	return t.Bytes
}

// drain says how far lines have been moved to the store from the old input
// (after the commit) or from a new input whose commit a power cut undid; or to
// the archive from the one that it replaced.
type drain struct {
	Source string `json:"source"` // "old", "new" or "prior"
	From   int64  `json:"from"`   // bytes before this offset of the source are done
	Piece  *piece `json:"piece"`  // the piece that is being moved now
}

type piece struct {
	To     int64  `json:"to"` // the piece is [From, To) of the source
	Ino    uint64 `json:"ino"`
	Base   int64  `json:"base"` // length of the store, whose inode is Ino, before
	Joint  bool   `json:"joint"`
	SHA256 string `json:"sha256"`
}

const (
	sourceOld   = "old"
	sourceNew   = "new"
	sourcePrior = "prior"
)

// byteName is a file name in JSON: each byte stands as the character of the
// same number, U+0000 to U+00FF, so that names that are not UTF-8 survive.
type byteName string

func (n byteName) MarshalJSON() ([]byte, error) {
	runes := make([]rune, 0, len(n))
	for i := range len(n) {
		runes = append(runes, rune(n[i]))
	}
	return json.Marshal(string(runes))
}

func (n *byteName) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	out := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xFF {
			return fmt.Errorf("%q is not a name", text)
		}
		out = append(out, byte(r))
	}
	*n = byteName(out)
	return nil
}

// place finds where a path of the journal at home leads.
func (n byteName) place(home place) place {
	if path := string(n); filepath.IsAbs(path) {
		return placeAt(path)
	}
	return placeAt(filepath.Join(home.dir, string(n)))
}

// nameFrom is the path of p as the journal at home writes it: short when they
// share a directory, so that the directory may be moved as a whole.
func nameFrom(home, p place) byteName {
	if p.dir == home.dir {
		return byteName(p.base)
	}
	return byteName(p.path)
}

func encodeNote(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b) // ends the line
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b.Bytes())
	return append(hex.AppendEncode(b.Bytes(), sum[:]), '\n'), nil
}

func decodeNote(data []byte, v any) error {
	end := bytes.IndexByte(data, '\n') + 1
	sum := sha256.Sum256(data[:end])
	want := append(hex.AppendEncode(nil, sum[:]), '\n')
	if end == 0 || !bytes.Equal(data[end:], want) {
		return errors.New("its checksum does not match")
	}
	dec := json.NewDecoder(bytes.NewReader(data[:end]))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// writeNote puts a note in its place in one durable step.
func (e *engine) writeNote(v any, tmp, path string, sync, syncDir step) error {
	data, err := encodeNote(v)
	if err != nil {
		return err
	}
	if err := e.remove(tmp); err != nil {
		return err
	}
	f, err := e.create(tmp)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = e.syncFile(f, sync)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := e.fs.Rename(tmp, path); err != nil {
		return err
	}
	return e.syncDir(filepath.Dir(path), syncDir)
}

// readNote reads a note that must be our own: a note planted by somebody else
// must not make us cut or move a file. found is false when there is none.
func (e *engine) readNote(path string, v any) (found bool, err error) {
	f, err := e.fs.OpenFile(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		info, statErr := e.fs.Lstat(path)
		if errors.Is(err, fs.ErrPermission) || statErr == nil && !info.Mode.IsRegular() {
			err = needsPersonf("%s cannot be read: %w", show(path), bare(err))
		}
		return true, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return true, err
	}
	if reason := e.distrust(info); reason != "" {
		return true, needsPersonf("%s %s, so it is not followed", show(path), reason)
	}
	data := make([]byte, info.Size)
	if _, err := readFull(f, data, 0); err != nil {
		return true, err
	}
	if err := decodeNote(data, v); err != nil {
		return true, needsPersonf("%s is damaged: %w", show(path), err)
	}
	return true, nil
}

// distrust says why a note cannot be this user's own work.
func (e *engine) distrust(info storefs.Info) string {
	switch {
	case !info.Mode.IsRegular():
		return "is " + kindOf(info.Mode)
	case info.UID != e.fs.UID():
		return fmt.Sprintf("belongs to user %d, not to the user of this process", info.UID)
	case info.Mode&0o022 != 0:
		return "can be written by others"
	case info.Nlink > 1:
		return "has other names (hard links)"
	case info.Size > maxNoteBytes:
		return fmt.Sprintf("is longer than %d bytes", maxNoteBytes)
	}
	return ""
}

func (e *engine) writeJournal(home place, j *journal) error {
	return e.writeNote(j, home.side(journalTmpSuffix), home.side(journalSuffix), syncJournal, syncDirJournal)
}

// readJournal reads and checks the journal at home; nil when there is none.
func (e *engine) readJournal(home place) (*journal, error) {
	j := &journal{}
	path := home.side(journalSuffix)
	found, err := e.readNote(path, j)
	if err != nil || !found {
		return nil, err
	}
	if err := j.check(home); err != nil {
		return nil, needsPersonf("%s is not usable: %w", show(path), err)
	}
	return j, nil
}

func (j *journal) check(home place) error {
	switch {
	case j.Version != journalVersion:
		return fmt.Errorf("its version is %d, this program knows %d", j.Version, journalVersion)
	case string(j.Home) != home.base:
		return fmt.Errorf("it belongs to %s", show(string(j.Home)))
	case j.Replace && (j.Old == nil || j.New == nil):
		return errors.New("it does not describe the input")
	}
	for _, t := range j.Targets {
		p := t.Path.place(home)
		switch {
		case t.Role != roleArchive && t.Role != roleAudit || t.Mode != modeAppend && t.Mode != modeReplace:
			return fmt.Errorf("its target %s has an unknown role or mode", show(p.path))
		case filepath.Clean(p.path) != p.path || t.Size < 0 || t.Bytes < 0:
			return fmt.Errorf("its target %s is out of range", show(p.path))
		case j.Replace && p.path == home.path:
			return errors.New("its target is its input")
		}
	}
	return nil
}

// pointer stands beside an archive or audit and names the home of the journal
// that may have to cut it back.
type pointer struct {
	Version int      `json:"recolva"`
	Home    byteName `json:"home"` // as target.Path, seen from the file
}

func (e *engine) readPointer(p place) (home place, found bool, err error) {
	var note pointer
	path := p.side(pendingSuffix)
	found, err = e.readNote(path, &note)
	if err != nil || !found {
		return place{}, found, err
	}
	if note.Version != journalVersion {
		return place{}, true, needsPersonf("%s has version %d, this program knows %d", show(path), note.Version, journalVersion)
	}
	return note.Home.place(p), true, nil
}
