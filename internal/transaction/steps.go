package transaction

// step names one step of the protocol that a test can switch off, to prove
// that the simulator notices. Nothing outside this package's tests sets one.
type step uint8

const (
	noStep step = iota
	// locks and checks
	lockStore
	lockData
	lockNew
	checkInodeFirst
	checkInodeLast
	checkRewrite
	checkForeign
	checkAuditUnchanged
	checkNewIntact
	cutAlone
	writeHeld
	// fsync of files
	syncNew
	syncAdd
	syncAud
	syncNext
	syncPointer
	syncJournal
	syncArchive
	syncAudit
	syncUndo
	syncPiece
	// fsync of directories
	syncDirSettled
	syncDirStaged
	syncDirNext
	syncDirPointer
	syncDirJournal
	syncDirCreated
	syncDirPrior
	syncDirReplaced
	syncDirOld
	syncDirCommit
	syncDirUndo
	syncDirRecovered
	syncDirJournalGone
	// whole steps
	carryTail
	writePointers
	linkOld
	drainOld
	journalPiece
	moveExtras
	settleFirst
	settlePointers
	// orders turned round
	pointerFirst
	auditBeforeInput
	archiveBeforeInput
	journalGoneFirst
	stepCount
)
