package main

import (
	"context"
	"fmt"

	"github.com/iamfaham/recolva/internal/ledger"
	"github.com/iamfaham/recolva/internal/sweep"
)

func restoreVerb() verb {
	return verb{
		name:   "restore",
		doc:    "move archived records back to their store",
		flags:  restoreFlags,
		checks: []func(*options) error{checkRestore},
		run:    runRestore,
	}
}

func restoreFlags() []flagGroup {
	return []flagGroup{
		{"Files", []flagRow{
			inputFlag("the store that records go back to; required"),
			archiveFlag("where they are now; required"),
			auditFlag("the audit of the sweeps: --run finds its records in it, and the restore is added to it"),
		}},
		{"What comes back", []flagRow{
			{name: "run", arg: "RUN_ID", doc: "all that this run archived and that is still in the archive",
				set: path(func(o *options) *string { return &o.runID })},
			{name: "id", arg: "ID", doc: "every archived record with this id; may be given several times", repeats: true,
				set: func(o *options, s string) error {
					o.ids = append(o.ids, s)
					return nil
				}},
			idFieldFlag(),
			{name: "mode", arg: "restore|dry-run", doc: "restore (default), or only say what would come back", words: []string{"restore", "dry-run"},
				set: func(o *options, s string) (err error) {
					o.preview, err = choice(s, func(s string) (bool, bool) { return s == "dry-run", s == "restore" || s == "dry-run" }, "restore, dry-run")
					return err
				}},
		}},
		{"Running", []flagRow{lockTimeoutFlag(), networkFlag()}},
		{"Output", append([]flagRow{jsonFlag()}, infoFlags()...)},
	}
}

func checkRestore(o *options) error {
	const example = "for example decay-sweep restore --input memories.jsonl --archive archive.jsonl --audit audit.jsonl --run 0123456789abcdef"
	switch {
	case o.input == "":
		return misusef(example, "--input is required")
	case o.files.Archive == "":
		return misusef(example, "--archive is required")
	case o.runID == "" && len(o.ids) == 0:
		return misusef("the summary of a sweep names its run_id, and so does each line of its audit", "--run or --id is required")
	case o.runID != "" && len(o.ids) > 0:
		return misusef("pass one of them", "--run and --id exclude each other")
	case o.runID != "" && o.files.Audit == "":
		return misusef("without an audit, records can be named by --id", "--audit is required by --run")
	}
	return nil
}

func runRestore(ctx context.Context, p *program, o *options) error {
	out, err := sweep.Restore(ctx, sweep.RestoreJob{
		Store: o.input, Archive: o.files.Archive, Audit: o.files.Audit,
		Run: o.runID, IDs: o.ids, IDField: o.policy.IDField,
		DryRun: o.preview, Options: o.transaction,
	})
	if err != nil {
		if out != nil && !p.json { // it is done, in spite of the error
			p.result(out.AppendJSON(nil))
		}
		return causeOf(ctx, err)
	}
	switch {
	case out.Restored == 0 && out.Nameless > 0:
		p.note(fmt.Sprintf("nothing to restore: the archive holds none of these records, but %d without a valid id; --id-field says where theirs is", out.Nameless))
	case out.Restored == 0:
		p.note("nothing to restore: the archive holds none of these records")
	case o.preview:
		p.note(fmt.Sprintf("%d of %d records would be restored", out.Restored, out.Scanned))
	case out.Placed == ledger.Merged && out.CarriedBytes > 0:
		p.note(fmt.Sprintf("the records are where that run had found them; %d bytes that others wrote meanwhile are kept", out.CarriedBytes))
	case out.Placed == ledger.Merged:
		p.note("the store is byte for byte what that run had found")
	default:
		p.note("the records were added at the end of the store, in the order of the archive")
	}
	if out.Restored > 0 {
		p.note("the next sweep with the same policy will prune them again")
	}
	err = p.result(out.AppendJSON(nil))
	if err != nil && !o.preview {
		p.warn(fmt.Sprintf("the restore is done, but its summary cannot be written: %v", err))
		return nil
	}
	return err
}
