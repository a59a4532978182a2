package sweep

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"os"
	"runtime"
	"slices"

	"github.com/iamfaham/recolva/internal/record"
	"github.com/iamfaham/recolva/internal/storefs"
	"github.com/iamfaham/recolva/internal/transaction"
	"github.com/iamfaham/recolva/pkg/decay"
)

// Mode says what becomes of the records that are pruned.
type Mode uint8

// The modes: only decide; move them to the archive; delete them.
const (
	DryRun Mode = iota
	Archive
	Delete
)

var modeNames = [...]string{DryRun: "dry-run", Archive: "archive", Delete: "delete"}

func (m Mode) String() string { return modeNames[m] }

// ParseMode returns the mode named dry-run, archive or delete.
func ParseMode(name string) (Mode, bool) {
	i := slices.Index(modeNames[:], name)
	return Mode(max(i, 0)), i >= 0
}

// Job is one sweep.
type Job struct {
	Mode      Mode
	Policy    Policy
	NowMillis int64
	Files     transaction.Files   // Archive is used by mode Archive only
	Options   transaction.Options // Mutate is set from Mode
	Stdin     io.Reader           // read instead of Files.Input; dry-run only

	Workers      int         // 0 means one for each core
	MaxPrune     *PruneLimit // nil: no limit
	MaxLineBytes int64       // 0 means record.DefaultMaxLineBytes
	BlockBytes   int         // 0 means a good size; any size gives the same outputs

	// The callbacks are optional, called each in file order, never concurrently.
	Progress func(bytes int64)       // so many more bytes are done
	Visit    func(Decision)          // each decision; costs time and memory
	Invalid  func(line *InvalidLine) // the first invalid lines that are kept
}

// Run sweeps. On an error nothing has changed, unless its class is
// [transaction.Uncertain]; a cancelled ctx gives its cause.
func Run(ctx context.Context, job Job) (*Summary, error) {
	plan, err := job.Policy.plan()
	if err != nil {
		return nil, failed(err)
	}
	if job.Stdin != nil && job.Mode != DryRun {
		return nil, refused(errors.New("standard input can only be swept in a dry-run"))
	}
	r := &run{job: &job, plan: plan}
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	defer r.tx.Rollback()
	if err := r.sweep(ctx); err != nil {
		return nil, err
	}
	return r.commit(ctx)
}

// run is a job in progress.
type run struct {
	job    *Job
	plan   *plan
	tx     *transaction.Transaction
	input  io.Reader
	hash   hash.Hash // of standard input, where an audit wants it
	task   task
	engine engine

	summary Summary
}

// begin opens the files and settles what all outputs refer to.
func (r *run) begin(ctx context.Context) (err error) {
	files, options := r.job.Files, r.job.Options
	options.Mutate = r.job.Mode != DryRun
	if r.job.Stdin != nil {
		files.Input = ""
	}
	if r.job.Mode == Delete {
		files.Archive = ""
	}
	if r.tx, err = transaction.Begin(ctx, storefs.OS(), files, options); err != nil {
		return err
	}
	r.input = r.tx.Input()
	if r.job.Stdin != nil {
		r.input = r.job.Stdin
		if files.Audit != "" {
			r.hash = sha256.New()
			r.input = io.TeeReader(r.job.Stdin, r.hash)
		}
	}
	now, prev := r.job.NowMillis, r.tx.Prev()
	r.summary = Summary{
		Mode: r.job.Mode, NowMillis: now, PolicyDigest: r.plan.digest(),
		RunID: r.plan.runID(r.job.Mode, now, r.tx.InputSize(), prev),
	}
	r.task = task{
		plan: r.plan, now: now, maxLineBytes: r.job.MaxLineBytes,
		mutates: options.Mutate, visits: r.job.Visit != nil, guardsUnits: !r.job.Policy.UnitGiven,
	}
	if r.task.maxLineBytes == 0 {
		r.task.maxLineBytes = record.DefaultMaxLineBytes
	}
	if files.Audit != "" {
		r.task.audit = newAuditForm(r.job.Mode, r.summary.RunID, r.summary.PolicyDigest, now, prev)
	} else if !r.task.visits {
		r.task.cutoff = decay.NewDecider(r.plan.model, r.plan.Threshold)
	}
	return nil
}

// sweep decides every line and stages the outputs.
func (r *run) sweep(ctx context.Context) error {
	blockBytes := r.job.BlockBytes
	if blockBytes == 0 {
		blockBytes = defaultBlockBytes
	}
	e := &r.engine
	e.task, e.ctx, e.job, e.workers = &r.task, ctx, r.job, r.job.Workers
	if cores := runtime.GOMAXPROCS(0); e.workers == 0 || e.workers > 4*cores {
		e.workers = cores // more would only hold memory
	}
	e.grown = r.grown
	e.reader = blockReader{src: r.input, blockBytes: max(blockBytes, len(record.BOM)), maxLineBytes: r.task.maxLineBytes}
	e.retained, e.pruned, e.audit = r.tx.Retained(), r.tx.Pruned(), r.tx.Audit()
	return e.run()
}

// grown reports whether another process has appended to the input.
func (r *run) grown() bool {
	if r.job.Stdin != nil {
		return false
	}
	info, err := os.Stat(r.job.Files.Input)
	return err == nil && info.Size() > r.tx.InputSize()
}

// commit checks the guards, makes the change and completes the summary.
func (r *run) commit(ctx context.Context) (*Summary, error) {
	e, s := &r.engine, &r.summary
	var last *transaction.Last
	counts := e.counts
	if b := e.last; b != nil {
		last = &transaction.Last{Line: b.data, Retained: b.retained, Pruned: b.pruned, Audit: b.audit}
		if b.fault != nil {
			last.Fault = failed(b.fault)
		}
		e.seconds.merge(b.seconds)
		counts.add(b.counts)
	}
	for _, err := range []error{e.seconds.verdict(r.plan.layout.TimeField, counts), r.job.MaxPrune.verdict(counts)} {
		if err != nil && r.job.Mode != DryRun {
			return nil, refused(err)
		}
		if err != nil {
			s.WouldRefuse = append(s.WouldRefuse, err.Error())
		}
	}
	s.WouldRefuse = append(s.WouldRefuse, r.tx.WouldRefuse()...)
	final, outcome, err := r.tx.Commit(ctx, last, r.runLine)
	if err != nil {
		return nil, err
	}
	r.total(final.Grew)
	if e.last != nil && !final.Grew {
		e.tell(e.last)
	}
	s.ArchivedBytes, s.CarriedBytes = final.Archived.Bytes, outcome.CarriedBytes
	return s, nil
}

// total completes the counts: the last line counts if it was decided.
func (r *run) total(grew bool) {
	r.summary.Counts, r.summary.Bytes = r.engine.counts, r.engine.reader.bytes
	b := r.engine.last
	switch {
	case b == nil:
	case grew:
		r.summary.Bytes -= int64(len(b.data))
	default:
		r.summary.add(b.counts)
	}
}

func (r *run) runLine(f transaction.Final) []byte {
	r.total(f.Grew)
	if r.hash != nil {
		r.hash.Sum(f.Before.SHA256[:0])
		f.Before.Bytes = r.summary.Bytes
		f.After = f.Before
	}
	return r.task.audit.runLine(r.summary.Counts, f)
}
