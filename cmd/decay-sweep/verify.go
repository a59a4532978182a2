package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/iamfaham/recolva/internal/ledger"
)

func verifyVerb() verb {
	return verb{
		name: "verify",
		doc:  "prove from the audit that every record is in exactly one place",
		flags: func() []flagGroup {
			return []flagGroup{
				{"Files", []flagRow{
					inputFlag("the store; required"),
					archiveFlag("its archive; one that does not exist counts as empty; required"),
					auditFlag("the audit of its sweeps; required"),
					{name: "backup", arg: "FILE", doc: "a copy of the store as it was before some run; with it, a run of mode delete can be proved too",
						set: path(func(o *options) *string { return &o.backup })},
					idFieldFlag(),
				}},
				{"Output", append([]flagRow{jsonFlag()}, infoFlags()...)},
			}
		},
		checks: []func(*options) error{checkVerify},
		run:    runVerify,
	}
}

func checkVerify(o *options) error {
	for _, f := range []struct{ name, value string }{
		{"input", o.input}, {"archive", o.files.Archive}, {"audit", o.files.Audit},
	} {
		if f.value == "" {
			return misusef("for example decay-sweep verify --input memories.jsonl --archive archive.jsonl --audit audit.jsonl", "--%s is required", f.name)
		}
	}
	return nil
}

// errInconsistent ends a verification that found something; its report has been written.
var errInconsistent = errors.New("store, archive and audit are not consistent")

func runVerify(ctx context.Context, p *program, o *options) error {
	report, err := ledger.Verify(ctx, ledger.VerifyJob{
		Store: o.input, Archive: o.files.Archive, Audit: o.files.Audit, Backup: o.backup, IDField: o.policy.IDField,
	})
	if err != nil {
		return causeOf(ctx, err)
	}
	for _, f := range report.Findings {
		p.say("finding", f.String())
	}
	if report.More > 0 {
		p.say("finding", fmt.Sprintf("%d more", report.More))
	}
	for _, v := range ledger.Verdicts {
		if n := report.Counts[v]; n > 0 {
			p.note(fmt.Sprintf("%d of %d runs %s: %s", n, len(report.Runs), v.Label(), ledger.VerdictTexts[v]))
		}
	}
	if report.Unclaimed > 0 {
		p.note(fmt.Sprintf("the archive also holds %d lines that no run of this audit put there", report.Unclaimed))
	}
	if err := p.result(report.AppendJSON(nil)); err != nil {
		return err
	}
	if !report.Consistent {
		return errInconsistent
	}
	return nil
}
