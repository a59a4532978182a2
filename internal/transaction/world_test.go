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
	from        []string // where recoveries begin, in turn; at the home if empty
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
	settled   int      // recoveries so far
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
const agentSpan = 125

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
	w.settled++
	for i := range w.from {
		if _, err := newEngine(p, w.options(), h).recover(ctx, w.from[(w.settled+i)%len(w.from)]); err != nil {
			return err
		}
		if err := w.checkNoPointer(); i > 0 && err != nil {
			return err
		}
	}
	_, err := newEngine(p, w.options(), h).recover(ctx, path)
	return err
}

// checkNoPointer: after kills alone, two recoveries, begun in different places,
// leave no pointer.
func (w *world) checkNoPointer() error {
	for _, path := range []string{archivePath, auditPath} {
		if name := placeAt(path).side(pendingSuffix); !w.powerless && textOf(w, name) != "" {
			return fmt.Errorf("%s is left by a recovery", name)
		}
	}
	return nil
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
