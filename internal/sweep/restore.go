package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/iamfaham/recolva/internal/canon"
	"github.com/iamfaham/recolva/internal/ledger"
	"github.com/iamfaham/recolva/internal/record"
	"github.com/iamfaham/recolva/internal/storefs"
	"github.com/iamfaham/recolva/internal/transaction"
)

// RestoreJob moves records from an archive back to their store.
type RestoreJob struct {
	Store, Archive, Audit string // Audit may be "" unless Run is given
	Run                   string // the run whose records come back, or "" and
	IDs                   []string
	IDField               string // where records keep their id; "" means the default
	DryRun                bool
	Options               transaction.Options // Mutate is set from DryRun
}

// Restored is what a restore came to.
type Restored struct {
	DryRun   bool
	Scanned  int64 // records in the archive
	Restored int64
	Nameless int64  // records without a valid id in its field, where ids are wanted and none was found
	Placed   string // ledger.Merged, ledger.Appended, or "" where nothing is restored
	Bytes    int64  // of the restored records
	// CarriedBytes were written by others while files were replaced, and moved
	// to the new ones.
	CarriedBytes int64
	Of           string // the run whose records came back, or ""
	RunID        string // of the restore itself; "" where there is none
}

// Restore moves the records back by the same protocol as a sweep, archive and
// store exchanged: each is in exactly one place at the end. With nothing to
// restore it changes nothing. On an error nothing has changed, unless its
// class is [transaction.Uncertain].
func Restore(ctx context.Context, job RestoreJob) (*Restored, error) {
	ids, err := record.NewIDScanner(job.IDField)
	if err != nil {
		return nil, failed(err)
	}
	slices.Sort(job.IDs)
	job.IDs = slices.Compact(job.IDs)
	r := &restore{job: &job, ids: ids}
	if err := r.settle(ctx); err != nil {
		return nil, err
	}
	if !job.DryRun && job.Run != "" {
		out, err := r.attempt(ctx, ledger.Merged)
		if !errors.Is(err, errNotMerged) {
			return out, err
		}
	}
	return r.attempt(ctx, ledger.Appended)
}

// restore is a job in progress. The store is open to be looked at as long as
// the restore lasts.
type restore struct {
	job *RestoreJob
	ids *record.IDScanner

	store, archive *ledger.Content
	audit          *ledger.Audit // nil where there is none
	selection      *ledger.Selection
	out            Restored
}

// errNotMerged means that records cannot go back to where they were, or not
// safely: they are appended instead.
var errNotMerged = errors.New("the store is not what the run left")

// settle finishes what an interrupted run left, or in a dry-run refuses to
// look at it.
func (r *restore) settle(ctx context.Context) error {
	if _, err := os.Stat(r.job.Store); err != nil {
		return failed(err)
	}
	if _, err := os.Stat(r.job.Archive); err != nil {
		return failed(err)
	}
	if err := r.checkAliases(); err != nil {
		return err
	}
	// What is looked at here must be what the transaction changes, whatever
	// becomes of a symbolic link meanwhile.
	for _, path := range []*string{&r.job.Store, &r.job.Archive, &r.job.Audit} {
		if *path != "" {
			real, err := storefs.OS().RealPath(*path)
			if err != nil {
				return failed(err)
			}
			*path = real
		}
	}
	for _, path := range []string{r.job.Archive, r.job.Store} {
		if r.job.DryRun {
			if err := ledger.CheckSettled(path); err != nil {
				return err
			}
			continue
		}
		if _, err := transaction.Recover(ctx, storefs.OS(), path, r.job.Options); err != nil {
			return err
		}
	}
	return nil
}

// checkAliases refuses two files that are one. The transaction does so too, but
// there the store has the role of an archive, which is not what the user wrote.
func (r *restore) checkAliases() error {
	files := []struct{ role, path string }{{"input", r.job.Store}, {"archive", r.job.Archive}, {"audit", r.job.Audit}}
	for i, a := range files {
		for _, b := range files[:i] {
			x, errX := os.Stat(a.path)
			y, errY := os.Stat(b.path)
			if errX == nil && errY == nil && os.SameFile(x, y) {
				return refused(fmt.Errorf("%s %s and %s %s are the same file", b.role, b.path, a.role, a.path))
			}
		}
	}
	return nil
}

// attempt restores with the records in that place.
func (r *restore) attempt(ctx context.Context, placed string) (*Restored, error) {
	r.out = Restored{DryRun: r.job.DryRun, Of: r.job.Run}
	if r.job.DryRun {
		return r.preview()
	}
	files := transaction.Files{Input: r.job.Archive, Archive: r.job.Store, Audit: r.job.Audit}
	if placed == ledger.Merged {
		files.ArchiveMode = transaction.Replace
	}
	options := r.job.Options
	options.Mutate = true
	tx, err := transaction.Begin(ctx, storefs.OS(), files, options)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	if err := r.open(); err != nil {
		return nil, failed(err)
	}
	defer r.close()
	if r.selection.None() {
		return r.nothing()
	}
	if placed == ledger.Appended {
		if err := r.checkStore(); err != nil {
			return nil, err
		}
	}
	t := &restoring{restore: r, tx: tx, placed: placed}
	return t.run(ctx)
}

// open opens the files to be looked at, and selects the records.
func (r *restore) open() error {
	r.store, r.archive, r.audit = nil, nil, nil
	err := r.openAll()
	if err != nil {
		r.close()
	}
	return err
}

func (r *restore) openAll() (err error) {
	if r.store, err = ledger.Open(r.job.Store, false); err != nil {
		return err
	}
	if r.archive, err = ledger.Open(r.job.Archive, false); err != nil {
		return err
	}
	if r.job.Run == "" {
		r.selection = ledger.SelectIDs(r.job.IDs)
		return nil
	}
	content, err := ledger.Open(r.job.Audit, false)
	if err != nil {
		return err
	}
	if r.audit, err = ledger.ReadAudit(content); err != nil {
		return err
	}
	r.selection, err = ledger.SelectRun(r.audit, r.archive, r.job.Run, r.ids)
	return err
}

func (r *restore) close() {
	r.store.Close()
	r.archive.Close()
	if r.audit != nil {
		r.audit.Close()
	}
}

// nothing is the outcome of a restore that finds nothing to do.
func (r *restore) nothing() (*Restored, error) {
	taken, err := r.selection.Take(r.archive.Reader(), r.ids, ledger.Outputs{})
	if err != nil {
		return nil, failed(err)
	}
	r.out.Scanned, r.out.Nameless = taken.Left, taken.Nameless
	return &r.out, nil
}

// preview counts what would be restored.
func (r *restore) preview() (*Restored, error) {
	if err := r.open(); err != nil {
		return nil, failed(err)
	}
	defer r.close()
	taken, err := r.selection.Take(r.archive.Reader(), r.ids, ledger.Outputs{})
	if err != nil {
		return nil, failed(err)
	}
	r.out.count(taken)
	r.out.Nameless = taken.Nameless
	if taken.Restored == 0 {
		return &r.out, nil
	}
	r.out.Placed = ledger.Appended
	if r.job.Run != "" {
		merges, err := r.selection.Merge(discard{}, r.audit, r.job.Run, r.store, r.archive)
		if err != nil {
			return nil, failed(err)
		}
		if merges {
			r.out.Placed = ledger.Merged
			return &r.out, nil
		}
	}
	return &r.out, r.checkStore()
}

// checkStore refuses to bring the records of a run to a store that it did not
// sweep: several stores may share an archive and an audit.
func (r *restore) checkStore() error {
	if r.job.Run == "" {
		return nil
	}
	may, err := r.audit.MayHaveSwept(r.audit.Run(r.job.Run), r.store, r.ids)
	if err != nil {
		return failed(err)
	}
	if !may {
		return refused(fmt.Errorf("the store shares no record with run %s: restore to the store that it swept, or by ids", r.job.Run))
	}
	return nil
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func (o *Restored) count(t ledger.Taken) {
	o.Scanned, o.Restored, o.Bytes = t.Restored+t.Left, t.Restored, t.Bytes
}

// AppendJSON appends the outcome as one JSON object and a newline.
func (o *Restored) AppendJSON(dst []byte) []byte {
	mode := modeRestore
	if o.DryRun {
		mode = DryRun.String()
	}
	dst = canon.AppendString(append(dst, `{"mode":`...), mode)
	dst = appendInt(dst, "scanned", o.Scanned)
	dst = appendInt(dst, "restored", o.Restored)
	dst = canon.AppendString(append(dst, `,"placed":`...), o.Placed)
	dst = appendInt(dst, "bytes", o.Bytes)
	dst = canon.AppendString(append(dst, `,"of":`...), o.Of)
	dst = canon.AppendString(append(dst, `,"run_id":`...), o.RunID)
	return append(dst, "}\n"...)
}
