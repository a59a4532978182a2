package transaction

import (
	"os"
	"strings"
	"sync"
	"testing"
)

// equivalent mutants, and why no crash can show them.
var equivalent = map[step]string{
	checkInodeFirst: "the last check, just before the rename, sees whatever the first one saw; the first only saves work",
	syncDirNext:     "the archive's and audit's directory is fsynced again for the pointer, before the journal that names the staged file",
	syncDirCreated:  "a new archive's entry lies in the directory in which the pointer was made, whose loss rolls back; see TestCreatedEntryIsDurable",
}

// mutant names every step for the test's output.
var mutantNames = map[step]string{
	lockStore: "lockStore", lockData: "lockData", lockNew: "lockNew", checkInodeFirst: "checkInodeFirst",
	checkInodeLast: "checkInodeLast", checkRewrite: "checkRewrite", checkForeign: "checkForeign",
	checkAuditUnchanged: "checkAuditUnchanged", syncNew: "syncNew", syncAdd: "syncAdd", syncAud: "syncAud",
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
			caught[m] = hunt(m)
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
			first, _, _ := strings.Cut(caught[m], "\n")
			t.Logf("%-20s caught: %.150s", names[m], first)
		case excused:
			t.Logf("%-20s equivalent: %s", names[m], reason)
		default:
			t.Errorf("%-20s survives: the step is useless, or no test proves it", names[m])
		}
	}
	t.Logf("%d of %d mutants caught, %d argued equivalent", killed, stepCount-1, len(equivalent))
}

// hunt looks for a violation of the protocol without step m: with agents that
// act at every operation in turn, then with crashes everywhere.
func hunt(m step) string {
	for at := range agentSpan {
		for _, s := range scenarios() {
			if s.agent == "" {
				continue
			}
			x := &explorer{hooks: hooks{skip: m}, near: true, limit: 1000}
			w := newWorld(s, uint64(at))
			w.agent.at = at
			x.sweepFrom(w, s, uint64(at))
			if len(x.errs) > 0 {
				return x.errs[0]
			}
		}
	}
	for seed := uint64(1); seed <= 3; seed++ {
		for _, s := range scenarios() {
			x := &explorer{hooks: hooks{skip: m}, depth: 1, odds: 4}
			x.sweepEverywhere(s, seed)
			if len(x.errs) > 0 {
				return x.errs[0]
			}
		}
	}
	return ""
}
