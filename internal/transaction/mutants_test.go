package transaction

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// equivalent mutants, and why no crash can show them.
var equivalent = map[step]string{
	checkInodeFirst: "the last check, just before the rename, sees whatever the first one saw; the first only saves work",
	checkInodeLast:  "a writer with the lock cannot replace the input after the first check; without the lock, the check makes the window of loss smaller, but does not close it",
	writeHeld:       "it is for an fsync that failed before, and the hunt has no such faults: TestWrittenAgain shows that it is needed",
	syncDirNext:     "the archive's and audit's directory is fsynced again for the pointer, before the journal that names the staged file",
}

// mutant names every step for the test's output.
var mutantNames = map[step]string{
	lockStore: "lockStore", lockData: "lockData", lockNew: "lockNew", checkInodeFirst: "checkInodeFirst",
	checkInodeLast: "checkInodeLast", checkRewrite: "checkRewrite", checkForeign: "checkForeign",
	checkAuditUnchanged: "checkAuditUnchanged", checkNewIntact: "checkNewIntact", cutAlone: "cutAlone", writeHeld: "writeHeld", syncNew: "syncNew", syncAdd: "syncAdd", syncAud: "syncAud",
	syncNext: "syncNext", syncPointer: "syncPointer", syncJournal: "syncJournal", syncArchive: "syncArchive",
	syncAudit: "syncAudit", syncUndo: "syncUndo", syncPiece: "syncPiece", syncDirSettled: "syncDirSettled",
	syncDirStaged: "syncDirStaged", syncDirNext: "syncDirNext", syncDirPointer: "syncDirPointer",
	syncDirJournal: "syncDirJournal", syncDirCreated: "syncDirCreated", syncDirPrior: "syncDirPrior",
	syncDirReplaced: "syncDirReplaced", syncDirOld: "syncDirOld", syncDirCommit: "syncDirCommit",
	syncDirUndo: "syncDirUndo", syncDirRecovered: "syncDirRecovered", syncDirJournalGone: "syncDirJournalGone",
	carryTail: "carryTail", writePointers: "writePointers", linkOld: "linkOld", drainOld: "drainOld",
	journalPiece: "journalPiece", moveExtras: "moveExtras", settleFirst: "settleFirst", settlePointers: "settlePointers",
	pointerFirst: "pointerFirst", auditBeforeInput: "auditBeforeInput", archiveBeforeInput: "archiveBeforeInput",
	journalGoneFirst: "journalGoneFirst",
}

// TestEveryStepIsNeeded: with any one step of the protocol left out, the
// simulator finds a crash that breaks the promise.
func TestEveryStepIsNeeded(t *testing.T) {
	names := make([]string, stepCount)
	caught := make([]string, stepCount)
	var group sync.WaitGroup
	cores := make(chan bool, 2)
	only := os.Getenv("RECOLVA_MUTANT")
	for m := noStep + 1; m < stepCount; m++ {
		names[m] = mutantNames[m]
		if only != "" && !strings.Contains(" "+only+" ", " "+names[m]+" ") {
			caught[m] = "not tried"
			continue
		}
		group.Go(func() {
			cores <- true
			began := time.Now()
			caught[m] = hunt(m)
			first, _, _ := strings.Cut(caught[m], "\n")
			t.Logf("%-20s %.1f s: %.150s", names[m], time.Since(began).Seconds(), first)
			<-cores
		})
	}
	group.Wait()
	killed := 0
	for m := noStep + 1; m < stepCount; m++ {
		reason, excused := equivalent[m]
		switch {
		case names[m] == "":
			t.Errorf("step %d has no name", m)
		case caught[m] != "":
			killed++
		case excused:
			t.Logf("%-20s equivalent: %s", names[m], reason)
		default:
			t.Errorf("%-20s survives: the step is useless, or no test proves it", names[m])
		}
	}
	t.Logf("%d of %d mutants caught, %d argued equivalent", killed, stepCount-1, len(equivalent))
}

// hint says where a step is missed, so that the hunt need not look everywhere.
type hint struct {
	name  string // of the scenario; all with such an agent if empty
	agent string
	seed  uint64 // where it shows first, to save time
	near  bool   // with the agent acting at every operation in turn
	depth int    // crashes within the recovery
	kill  bool   // kills first, then lost changes
}

// hints are for the steps whose lack shows in few places. For the others, the
// plain sweeps show it.
var hints = map[step]hint{
	lockData:            {agent: "edit", seed: 68, near: true},
	lockNew:             {agent: "edit", seed: 118, near: true},
	checkRewrite:        {agent: "edit", seed: 59, near: true},
	checkForeign:        {agent: "archiver", seed: 75, near: true},
	checkAuditUnchanged: {agent: "auditor", seed: 56, near: true},
	checkNewIntact:      {name: "archive", agent: "edit", seed: 3, depth: 1, kill: true},
	cutAlone:            {name: "archive to new files", agent: "keeper", seed: 7},
	syncDirSettled:      {name: "nothing pruned", depth: 2, kill: true},
	syncDirStaged:       {name: "archive without audit", agent: "rewrite", seed: 64, near: true, depth: 1},
	syncDirPointer:      {name: "two stores, one archive", seed: 4},
	settlePointers:      {name: "two stores, one archive"},
	pointerFirst:        {name: "two stores, one archive"},
	writePointers:       {name: "two stores, one archive"},
	syncDirRecovered:    {name: "archive without audit", depth: 1, kill: true},
	journalGoneFirst:    {name: "two stores, one archive", depth: 1, kill: true},
	syncDirJournalGone:  {name: "nothing pruned", depth: 1, kill: true},
	moveExtras:          {agent: "append", seed: 117, near: true},
	carryTail:           {agent: "slow", seed: 52, near: true},
	syncDirOld:          {agent: "slow", seed: 70, near: true},
	linkOld:             {agent: "slow", seed: 68, near: true},
	drainOld:            {agent: "slow", seed: 68, near: true},
	journalPiece:        {agent: "slow", seed: 117, near: true, depth: 1},
	syncPiece:           {agent: "slow", seed: 68, near: true},
	syncNext:            {name: "replace both"},
	syncDirPrior:        {name: "replace the archive", agent: "late", seed: 3, near: true},
	syncDirReplaced:     {name: "replace both"},
	syncDirCreated:      {name: "archive to new files", depth: 1},
	syncDirUndo:         {name: "archive to new files", depth: 1, kill: true},
	syncUndo:            {name: "archive", depth: 1, kill: true},
}

// hunt looks for a violation of the protocol without step m, first where the
// hint says, then in every scenario.
func hunt(m step) string {
	if _, excused := equivalent[m]; excused && !long {
		return ""
	}
	h, hinted := hints[m]
	if !hinted {
		h = hint{name: "archive"}
	}
	for _, s := range scenarios() {
		if s.agent == h.agent && (h.name == "" || h.name == s.name) {
			if found := h.try(m, s); found != "" {
				return found
			}
		}
	}
	for _, s := range scenarios() {
		if found := (hint{depth: 1}).try(m, s); found != "" {
			return found
		}
		if found := (hint{near: true}).try(m, s); found != "" {
			return found
		}
	}
	return ""
}

func (h hint) try(m step, s scenario) string {
	last := uint64(2)
	if h.depth == 0 {
		last = 40
	}
	if h.near {
		last = agentSpan
	}
	for seed := max(1, h.seed); seed <= last+h.seed; seed++ {
		x := &explorer{hooks: hooks{skip: m}, near: h.near, depth: h.depth, killFirst: h.kill, odds: 1}
		if h.kill {
			x.odds = 0
		}
		if h.near {
			x.limit = 300
		}
		w := newWorld(s, seed)
		if h.near {
			w.agent.at = int(seed)
		}
		x.sweepFrom(w, s, seed)
		if len(x.errs) > 0 {
			return x.errs[0]
		}
	}
	return ""
}
