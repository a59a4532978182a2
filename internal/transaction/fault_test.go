package transaction

import (
	"fmt"
	"testing"

	"github.com/iamfaham/recolva/internal/storefs/simfs"
)

var faultNames = map[simfs.Fault]string{simfs.Fail: "EIO", simfs.FailDone: "EIO though done", simfs.Full: "ENOSPC", simfs.ShortOnFull: "short write"}

// faultAt is a process whose n-th operation fails; fired tells whether it came
// to that.
func (w *world) faultAt(n int, f simfs.Fault) (p *simfs.Process, fired *bool) {
	count, hit := 0, false
	return w.process(func(bool) simfs.Fault {
		count++
		if count == n {
			hit = true
			return f
		}
		return simfs.NoFault
	}), &hit
}

// TestEveryFault: an operation that fails leaves everything as before, or says
// that it is not sure; and after a power cut or a kill recovery finds all or
// nothing.
func TestEveryFault(t *testing.T) {
	states := 0
	for _, s := range scenarios() {
		if s.agent != "" && s.agent != "append" && s.agent != "archiver" && s.agent != "keeper" {
			continue
		}
		for fault := range faultNames {
			for n := 1; ; n += 1 + len(s.agent)/3 {
				w := newWorld(s, uint64(n))
				p, fired := w.faultAt(n, fault)
				err := w.sweep(p, storePath, hooks{})
				w.torn = w.torn || fault == simfs.ShortOnFull && w.agent.careless() // the simulated disk reserves nothing
				trail := fmt.Sprintf("%s at operation %d: %v", faultNames[fault], n, err)
				if long || n%5 == 0 || !*fired || w.agent.kind == "" && n > 25 {
					states += checkFault(t, w, trail, err)
				}
				if t.Failed() {
					return
				}
				if !*fired {
					break
				}
			}
		}
	}
	t.Logf("%d states after faults", states)
}

func checkFault(t *testing.T, w *world, trail string, err error) int {
	fresh := newWorld(w.scenario, 0)
	w.powerless = true // an empty lock file may stay beside archive or audit, as after a power cut
	x := &explorer{}
	c := ClassOf(err)
	switch {
	case err != nil && c == NeedsPerson && !w.needsPerson():
		x.violation(w, trail, err)
	case err != nil && c != Uncertain && w.agent.kind == "" && textOf(w, storePath) != textOf(fresh, storePath):
		x.violation(w, trail, fmt.Errorf("the store was changed"))
	}
	x.crash(shot{w, trail}, 0)
	for _, e := range x.errs {
		t.Error(e)
	}
	return x.states
}

// TestEveryFaultInRecovery: a recovery whose operation fails can be repeated.
func TestEveryFaultInRecovery(t *testing.T) {
	states, stride := 0, 60
	if long {
		stride = 1
	}
	for _, s := range scenarios() {
		if s.agent != "" {
			continue
		}
		w := newWorld(s, 1)
		x := &explorer{}
		shots, _ := x.record(w, "sweep", func(p *simfs.Process) error { return w.sweep(p, storePath, hooks{}) })
		for i, shot := range shots {
			for fault := range faultNames {
				for n := 1 + i%stride; ; n += stride {
					w := shot.world.kill()
					p, fired := w.faultAt(n, fault)
					err := w.settle(p, hooks{})
					x.crash(shotAfter(w, fmt.Sprintf("%s, recovery with %s at operation %d: %v", shot.trail, faultNames[fault], n, err)), 0)
					if !*fired || x.full() {
						break
					}
				}
			}
		}
		states += x.states
		for _, e := range x.errs {
			t.Fatal(e)
		}
	}
	t.Logf("%d states after faults in recovery", states)
}

func shotAfter(w *world, trail string) shot {
	w.powerless = true
	return shot{w, trail}
}

// failedSync sweeps beside somebody who appends to the archive right after its
// fsync failed, so that the sweep has to be finished; then the power is cut.
func failedSync(t *testing.T, h hooks) error {
	w := newWorld(scenario{name: "archive", mode: "archive", audit: true, hadArchive: true, hadAudit: true, agent: "archiver"}, 1)
	w.agent.at, w.agent.turns = agentSpan, -agentSpan // acts only below
	p := w.process(nil)
	failed := false
	p.Before = func(name, path string, _ bool) simfs.Fault {
		switch {
		case failed && len(w.notes) == 0:
			w.agent.act(w)
		case !failed && name == "fsync" && path == archivePath:
			failed = true
			return simfs.Fail
		}
		return simfs.NoFault
	}
	if err := w.sweep(p, storePath, h); err != nil || len(w.notes) == 0 {
		t.Fatalf("the sweep was not finished: %v", err)
	}
	c := w.cut(simfs.None)
	if err := c.settle(c.process(nil), h); err != nil {
		return err
	}
	return c.checkSettled()
}

// TestWrittenAgain: what an archive holds of ours is written once more before a
// run is finished, because a failed fsync may have dropped it.
func TestWrittenAgain(t *testing.T) {
	if err := failedSync(t, hooks{}); err != nil {
		t.Error(err)
	}
	if err := failedSync(t, hooks{skip: writeHeld}); err == nil {
		t.Error("nothing is lost without it")
	}
}
