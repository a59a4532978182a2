package transaction

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iamfaham/recolva/internal/storefs/simfs"
)

// scenarios are all kinds of sweeps, alone and in every company.
func scenarios() []scenario {
	var out []scenario
	for _, agent := range []string{"", "lock", "rewrite", "edit", "append", "slow", "held", "rival", "archiver", "keeper", "auditor"} {
		out = append(out,
			scenario{name: "archive", mode: "archive", audit: true, hadArchive: true, hadAudit: true, agent: agent},
			scenario{name: "archive to new files", mode: "archive", audit: true, agent: agent, open: true},
			scenario{name: "archive without audit", mode: "archive", hadArchive: true, agent: agent, open: true, weakLast: true},
			scenario{name: "delete", mode: "delete", audit: true, hadAudit: true, agent: agent},
		)
	}
	out = append(out,
		scenario{name: "delete without audit", mode: "delete"},
		scenario{name: "delete to a new audit", mode: "delete", audit: true},
		scenario{name: "dry-run with audit", mode: "dry-run", audit: true, hadAudit: true},
		scenario{name: "dry-run with new audit", mode: "dry-run", audit: true, open: true},
		scenario{name: "dry-run replacing the audit", mode: "dry-run", audit: true, hadAudit: true, auditMode: Replace},
		scenario{name: "nothing pruned", mode: "archive", audit: true, hadArchive: true, nothing: true},
		scenario{name: "replace both", mode: "archive", audit: true, hadArchive: true, hadAudit: true, archiveMode: Replace, auditMode: Replace},
		scenario{name: "replace both, held", mode: "archive", audit: true, hadArchive: true, hadAudit: true, archiveMode: Replace, auditMode: Replace, agent: "held"},
		scenario{name: "replace new files", mode: "archive", audit: true, archiveMode: Replace, auditMode: Replace, agent: "lock"},
		scenario{name: "replace the archive", mode: "archive", audit: true, hadArchive: true, archiveMode: Replace},
		scenario{name: "replace the archive", mode: "archive", hadArchive: true, archiveMode: Replace, agent: "late"},
		scenario{name: "replace the archive", mode: "archive", audit: true, hadAudit: true, hadArchive: true, archiveMode: Replace, agent: "late"},
		scenario{name: "replace the archive", mode: "archive", audit: true, hadAudit: true, hadArchive: true, archiveMode: Replace, agent: "archiver"},
		scenario{name: "replace the audit", mode: "delete", audit: true, hadAudit: true, auditMode: Replace},
		scenario{name: "two stores, one archive", mode: "archive", audit: true, hadArchive: true, hadAudit: true, second: true},
		scenario{name: "two stores, one new archive", mode: "archive", audit: true, second: true},
		scenario{name: "recovered from elsewhere", mode: "archive", audit: true, hadArchive: true, hadAudit: true, from: []string{archivePath, storePath, auditPath}},
		scenario{name: "recovered from elsewhere", mode: "archive", audit: true, hadArchive: true, from: []string{auditPath, archivePath, storePath}},
		scenario{name: "recovered from elsewhere", mode: "archive", audit: true, from: []string{storePath, archivePath, auditPath}, agent: "keeper"},
		scenario{name: "no leases", mode: "archive", audit: true, hadArchive: true, agent: "lock", noLeases: true},
	)
	return out
}

// explorer runs sweeps, stops them everywhere, and checks every state.
type explorer struct {
	hooks     hooks
	states    int
	limit     int
	errs      []string
	depth     int
	odds      int  // thins out the crashes within a recovery: one in so many is tried; 0: all
	killFirst bool // kills only, then at the deepest level lost changes only
	near      bool // only stop soon after the agent acted, and at the end
}

func (x *explorer) full() bool { return len(x.errs) > 0 || x.limit > 0 && x.states >= x.limit }

func (x *explorer) violation(w *world, trail string, err error) {
	x.errs = append(x.errs, fmt.Sprintf("%s, agent %q, %s: %v\n  store:\n%s\n  archive:\n%s\n  audit:\n%s\n  names: %v %v\n  journal: %s\n  log: %s",
		w.scenario.name, w.agent.kind, trail, err, textOf(w, storePath), textOf(w, archivePath), textOf(w, auditPath), w.disk.Names("/s"), w.disk.Names("/a"),
		textOf(w, "/s/.store.recolva-journal"), strings.Join(w.log, "\n    ")))
}

// shot is the world just before an operation.
type shot struct {
	world *world
	trail string
}

// record runs fn on w and keeps a shot before every changing operation and one
// of the end.
func (x *explorer) record(w *world, trail string, fn func(p *simfs.Process) error) ([]shot, error) {
	var shots []shot
	n := 0
	p := w.process(func(changing bool) simfs.Fault {
		if changing && (!x.near || w.agent.acted > 0 && w.agent.turns-w.agent.acted < 4) {
			shots = append(shots, shot{w.clone(), fmt.Sprintf("%s op %d", trail, n)})
			n++
		}
		return simfs.NoFault
	})
	err := fn(p)
	return append(shots, shot{w.clone(), trail + " end"}), err
}

// sweepEverywhere stops a sweep before each of its operations, kills it or
// cuts the power, recovers, and looks.
func (x *explorer) sweepEverywhere(s scenario, seed uint64) {
	x.sweepFrom(newWorld(s, seed), s, seed)
}

func (x *explorer) sweepFrom(w *world, s scenario, seed uint64) {
	shots, err := x.record(w, fmt.Sprintf("seed %d sweep", seed), func(p *simfs.Process) error {
		return w.sweep(p, storePath, x.hooks)
	})
	if err != nil && s.agent == "" {
		x.violation(w, "sweep", err)
	}
	for _, shot := range shots {
		x.crash(shot, 0)
	}
}

// crash tries every end of one instant.
func (x *explorer) crash(s shot, depth int) {
	ends := []func() *world{
		s.world.kill,
		func() *world { return s.world.cut(simfs.None) },
		func() *world { return s.world.cut(simfs.All) },
		func() *world { return s.world.cut(simfs.Prefix) },
		func() *world { return s.world.cut(simfs.Subset) },
		func() *world { return s.world.cut(simfs.Subset) },
	}
	names := []string{"kill", "none", "all", "prefix", "subset", "subset2"}
	for i, end := range ends {
		if x.full() {
			return
		}
		// Deeper down, one random end of some instants stands for all.
		if depth > 0 && x.odds > 0 && s.world.rand.IntN(x.odds*len(ends)) != 0 {
			continue
		}
		if x.killFirst && (depth < x.depth && i > 0 || depth == x.depth && i < 4) {
			continue
		}
		w := end()
		x.settle(w, s.trail+" "+names[i], depth)
	}
}

// settle recovers from one state, with crashes in it, and checks the end.
func (x *explorer) settle(w *world, trail string, depth int) {
	x.states++
	if err := w.checkCrash(); err != nil {
		x.violation(w, trail, err)
		return
	}
	before := w.clone()
	var shots []shot
	var err error
	if depth < x.depth {
		shots, err = x.record(w, trail+", recover", func(p *simfs.Process) error { return w.settle(p, x.hooks) })
	} else {
		err = w.settle(w.process(nil), x.hooks)
	}
	err = x.patience(w, err)
	if ClassOf(err) == NeedsPerson && w.needsPerson() {
		x.checkUntouched(before, w, trail)
		return
	}
	if err != nil {
		x.violation(before, trail, fmt.Errorf("recovery: %w", err))
		return
	}
	err = w.checkSettled()
	if err == nil {
		err = w.checkLeft(!w.powerless)
	}
	if err != nil {
		x.violation(w, trail, err)
		return
	}
	for _, s := range shots {
		x.crash(s, depth+1)
	}
	x.again(w, trail)
}

// needsPerson: only where somebody wrote into an audit without the lock, or
// changed the store in place before a power cut undid the commit, or wrote to
// a new archive before a power cut undid that.
func (w *world) needsPerson() bool {
	switch w.agent.kind {
	case "auditor":
		return len(w.notes) > 0
	case "edit":
		return w.killed && w.powerless
	case "archiver":
		return w.archiveMode == Replace && w.powerless && len(w.notes) > 0
	}
	return false
}

// checkUntouched: foreign bytes behind ours in archive or audit need a person,
// and recovery leaves everything as it is.
func (x *explorer) checkUntouched(before, after *world, trail string) {
	for _, path := range []string{storePath, archivePath, auditPath} {
		if path == storePath && after.agent.kind == "edit" {
			continue // the agent goes on editing
		}
		if !strings.HasPrefix(textOf(after, path), textOf(before, path)) {
			x.violation(before, trail, fmt.Errorf("%s was touched although a person is needed", path))
		}
	}
}

// patience lets a company that was only in the way finish, and tries again.
func (x *explorer) patience(w *world, err error) error {
	for range 20 {
		c := ClassOf(err)
		if err == nil || c != Refused && c != Uncertain || w.agent.kind == "" {
			return err
		}
		for range 5 {
			w.agent.act(w)
		}
		err = w.settle(w.process(nil), x.hooks)
	}
	return err
}

// again sweeps once more after recovery, and looks again.
func (x *explorer) again(w *world, trail string) {
	w.agent.budget = 0
	w.agentTurn(true)
	w.agentTurn(true)
	if w.archiveMode == Replace { // which may now drop what the archive holds
		archive := textOf(w, archivePath)
		w.dropped = linesOf(archive)
		w.lines = slices.DeleteFunc(w.lines, func(line string) bool { return strings.Contains(archive, line) })
	}
	err := w.sweep(w.disk.Process(sweeperPID), storePath, x.hooks)
	if w.archiveMode == Replace { // what stood there before this sweep may go
		w.notes = slices.DeleteFunc(slices.Clone(w.notes), func(note string) bool {
			return !strings.Contains(textOf(w, archivePath), note)
		})
	}
	if err == nil {
		err = w.checkSettled()
	}
	if err == nil {
		err = w.checkLeft(true)
	}
	if err == nil && w.mode != "dry-run" && strings.Contains(textOf(w, storePath), `"strong":false`) && !w.open {
		err = fmt.Errorf("weak records are left in the store")
	}
	if err != nil {
		x.violation(w, trail+", swept again", err)
	}
}

// TestEveryCrashState: whatever stops a sweep or its recovery, afterwards every
// record is in exactly one place and the audit says what happened.
func TestEveryCrashState(t *testing.T) {
	want := 60_000
	if text := os.Getenv("RECOLVA_CRASH_STATES"); text != "" {
		want, _ = strconv.Atoi(text)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	start := time.Now()
	total := 0
	for seed := uint64(1); total < want && !t.Failed(); seed++ {
		total += exploreAll(t, seed)
	}
	if !t.Failed() {
		t.Logf("%d crash states, 0 violations, %.0f s", total, time.Since(start).Seconds())
	}
}

// nestedOdds is 24 in the test command, so that every scenario gets its share of
// the time; RECOLVA_NESTED_ODDS=1 tries a crash at every instant of recovery.
func nestedOdds() int {
	if n, err := strconv.Atoi(os.Getenv("RECOLVA_NESTED_ODDS")); err == nil {
		return n
	}
	return 24
}

// long makes the tests here try everything; it takes minutes.
var long = os.Getenv("RECOLVA_LONG") != ""

// exploreAll explores every scenario with one seed, on all cores.
func exploreAll(t *testing.T, seed uint64) (total int) {
	all := scenarios()
	found := make([]*explorer, len(all))
	var group sync.WaitGroup
	cores := make(chan bool, runtime.GOMAXPROCS(0))
	for i, s := range all {
		if only := os.Getenv("RECOLVA_CRASH_ONLY"); only != "" && only != s.name+" "+s.agent {
			continue
		}
		group.Go(func() {
			cores <- true
			found[i] = &explorer{depth: 2, odds: nestedOdds()}
			if s.second { // its recovery is a whole sweep
				found[i].depth = 1
			}
			found[i].sweepEverywhere(s, seed)
			<-cores
		})
	}
	group.Wait()
	for i, x := range found {
		if x == nil {
			continue
		}
		total += x.states
		if testing.Verbose() && seed == 1 {
			t.Logf("%s %q: %d states", all[i].name, all[i].agent, x.states)
		}
		for _, e := range x.errs {
			t.Error(e)
		}
	}
	return total
}
