package transaction

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/iamfaham/recolva/internal/storefs/simfs"
)

const (
	storePath   = "/s/store"
	otherPath   = "/o/other"
	archivePath = "/a/archive"
	auditPath   = "/s/audit"
	sweeperPID  = 1
	agentPID    = 7
)

// scenario is one kind of sweep and of company that it has.
type scenario struct {
	name        string
	mode        string // archive, delete, dry-run
	audit       bool
	hadArchive  bool
	hadAudit    bool
	archiveMode AppendMode
	auditMode   AppendMode
	open        bool // the store's last line has no newline
	weakLast    bool // and it is pruned
	nothing     bool // no record is pruned
	agent       string
	second      bool // another store shares archive and audit, and is swept first after a crash
	noLeases    bool
}

func (s scenario) files(input string) Files {
	f := Files{Input: input, ArchiveMode: s.archiveMode, AuditMode: s.auditMode}
	if s.mode == "archive" {
		f.Archive = archivePath
	}
	if s.audit {
		f.Audit = auditPath
	}
	return f
}

// A record's line is longer than a torn unit, so that it can be cut within.
func record(id string, strong bool) string {
	return fmt.Sprintf(`{"id":"%s","strong":%t,"text":"%s"}`, id, strong, strings.Repeat("x", 20+len(id)*7%31))
}

func recordID(line string) string {
	_, rest, _ := strings.Cut(line, `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

func isStrong(line []byte) bool { return !bytes.Contains(line, []byte(`"strong":false`)) }

// world is a disk, the scenario that plays on it, and what must not be lost.
type world struct {
	scenario
	disk      *simfs.Disk
	rand      *rand.Rand
	agent     agent
	lines     []string // every line acknowledged so far
	other     []string // lines of the other store
	notes     []string // lines that the agent appended to archive or audit
	log       []string
	swept     int      // sweeps that reported success
	dropped   []string // lines of an archive that may be replaced by the next
	killed    bool     // the sweep or recovery was killed
	powerless bool     // the power was cut
	torn      bool     // a power cut may have torn what an agent without the lock wrote
}

func newWorld(s scenario, seed uint64) *world {
	w := &world{scenario: s, disk: simfs.New("/s", "/a", "/o"), rand: rand.New(rand.NewPCG(seed, 1))}
	var store strings.Builder
	for i := range 6 {
		strong := i%2 == 0 || s.nothing
		if s.open && i == 5 {
			strong = !s.weakLast
		}
		line := record(fmt.Sprintf("r%d", i), strong)
		w.lines = append(w.lines, line)
		store.WriteString(line)
		if !s.open || i < 5 {
			store.WriteByte('\n')
		}
	}
	w.disk.Put(storePath, []byte(store.String()), 0o640)
	if s.hadArchive {
		w.disk.Put(archivePath, []byte(oldArchive), 0o604)
	}
	if s.hadAudit {
		w.disk.Put(auditPath, []byte(oldAudit), 0o604)
	}
	if s.second {
		w.other = []string{record("o0", true), record("o1", false)}
		w.disk.Put(otherPath, []byte(strings.Join(w.other, "\n")+"\n"), 0o640)
	}
	w.agent = agent{kind: s.agent, budget: 3, at: -1}
	if w.rand.IntN(2) == 0 {
		w.agent.at = w.rand.IntN(agentSpan)
	}
	return w
}

var (
	oldArchive = record("old", false) // without a final newline: a joint is needed
	oldAudit   = `{"event":"run","run_id":"before"}` + "\n"
)

func (w *world) clone() *world {
	c := *w
	c.disk = w.disk.Clone()
	c.lines = slices.Clone(w.lines)
	c.rand = rand.New(rand.NewPCG(w.rand.Uint64(), 2))
	c.agent = w.agent.on(c.disk)
	return &c
}

func (w *world) options() Options {
	return Options{Mutate: w.mode != "dry-run", LockTimeout: 0, Warn: func(string) {}}
}

// process starts a sweeper whose every operation gives the agent a chance.
func (w *world) process(before func(changing bool) simfs.Fault) *simfs.Process {
	p := w.disk.Process(sweeperPID)
	p.NoLeases = w.noLeases
	p.Before = func(name, path string, changing bool) simfs.Fault {
		w.agentTurn(name == "sleep")
		if traceOps {
			w.log = append(slices.Clip(w.log), name+" "+path)
		}
		if before == nil {
			return simfs.NoFault
		}
		return before(changing)
	}
	return p
}

// agentSpan is about how many operations a sweep has.
const agentSpan = 110

// agentTurn lets the agent act: at random, or in a row from one operation on.
func (w *world) agentTurn(waiting bool) {
	a := &w.agent
	if a.kind == "" {
		return
	}
	a.turns++
	switch {
	case waiting, a.at < 0 && w.rand.IntN(6) == 0, a.at >= 0 && a.turns >= a.at:
		a.act(w)
		a.acted = a.turns
	}
}

// sweep runs one sweep as the engine above this package would.
func (w *world) sweep(p *simfs.Process, input string, h hooks) error {
	ctx := context.Background()
	h.chunk = 96
	t, err := newEngine(p, w.options(), h).begin(ctx, w.files(input))
	if err != nil {
		return err
	}
	last, pruned, err := w.decide(t)
	if err != nil {
		return errors.Join(err, t.rollback())
	}
	_, _, err = t.Commit(ctx, last, func(f Final) []byte {
		return fmt.Appendf(nil, `{"event":"run","input":"%s","mode":"%s","pruned":%d,"before":"%s","audited":"%s","prev":"%s"}`+"\n",
			input, w.mode, pruned, hex.EncodeToString(f.Before.SHA256[:8]), hex.EncodeToString(f.Audited.SHA256[:]), t.Prev())
	})
	if err == nil && input == storePath {
		w.swept++
	}
	return err
}

func (w *world) decide(t *Transaction) (last *Last, pruned int, err error) {
	data, err := io.ReadAll(t.Input())
	if err != nil {
		return nil, 0, err
	}
	put := func(to io.Writer, what string) {
		if to != nil && err == nil {
			_, err = io.WriteString(to, what)
		}
	}
	for n := 1; len(data) > 0; n++ {
		line, rest, whole := bytes.Cut(data, []byte{'\n'})
		text, audit := string(line), ""
		if len(line) > 0 {
			audit = fmt.Sprintf(`{"id":"%s","pruned":%t}`+"\n", recordID(text), !isStrong(line))
		}
		if !whole {
			last = &Last{Line: line, Audit: []byte(audit), Retained: line}
			if !isStrong(line) {
				last.Retained, last.Pruned = nil, line
			}
			break
		}
		if isStrong(line) {
			put(t.Retained(), text+"\n")
		} else {
			put(t.Pruned(), text+"\n")
			pruned++
		}
		put(t.Audit(), audit)
		data = rest
	}
	return last, pruned, err
}

// settle runs recovery as `recover` does, or for a second store as its sweep
// does, which must find the interrupted run through the shared files.
func (w *world) settle(p *simfs.Process, h hooks) error {
	h.chunk = 96
	ctx := context.Background()
	if w.second {
		if err := w.sweep(p, otherPath, h); err != nil {
			return err
		}
	}
	path := storePath
	if w.mode == "dry-run" {
		path = auditPath
	}
	_, err := newEngine(p, w.options(), h).recover(ctx, path)
	return err
}

func (w *world) cut(p simfs.Persistence) *world {
	c := w.clone()
	c.disk = c.disk.PowerCut(p, c.rand)
	c.powerless = true
	c.torn = c.torn || c.agent.careless()
	c.agent = agent{kind: w.agent.kind, budget: c.agent.budget, count: c.agent.count, at: c.rand.IntN(3) - 1}
	return c
}

func (w *world) kill() *world {
	c := w.clone()
	c.disk.Kill(sweeperPID)
	c.killed = true
	return c
}

// traceOps keeps every operation of the sweeper for the report of a violation.
var traceOps = os.Getenv("RECOLVA_TRACE") != ""
<<<<<<< HEAD
=======

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
	return a.kind == "append" || a.kind == "slow" || a.kind == "held" || a.kind == "late"
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
		_ = errors.Join(f.(*simfs.File).WriteAt([]byte(w.lines[i]), int64(at)), f.Sync(), f.Close())
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
>>>>>>> break2
