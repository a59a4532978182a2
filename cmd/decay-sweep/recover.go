package main

import (
	"context"
	"fmt"

	"github.com/iamfaham/recolva/internal/canon"
	"github.com/iamfaham/recolva/internal/storefs"
	"github.com/iamfaham/recolva/internal/transaction"
)

func recoverVerb() verb {
	return verb{
		name: "recover",
		doc:  "settle what an interrupted run left beside a store, archive or audit",
		flags: func() []flagGroup {
			return []flagGroup{
				{"Flags", []flagRow{
					inputFlag("the store, archive or audit; required"),
					lockTimeoutFlag(), networkFlag(), jsonFlag(),
				}},
				{"Information", infoFlags()},
			}
		},
		checks: []func(*options) error{func(o *options) error {
			if o.input == "" {
				return misusef("for example decay-sweep recover --input memories.jsonl", "--input is required")
			}
			return nil
		}},
		run: runRecover,
	}
}

func runRecover(ctx context.Context, p *program, o *options) error {
	found, err := transaction.Recover(ctx, storefs.OS(), o.input, o.transaction)
	if err != nil {
		return causeOf(ctx, err)
	}
	if o.json {
		b := fmt.Appendf(nil, `{"found":%t`, found.Found)
		b = canon.AppendInt(append(b, `,"committed":`...), int64(found.Committed))
		b = canon.AppendInt(append(b, `,"rolled_back":`...), int64(found.RolledBack))
		b = canon.AppendInt(append(b, `,"moved_bytes":`...), found.MovedBytes)
		return p.result(append(b, "}\n"...))
	}
	return p.result([]byte(recoverText(found) + "\n"))
}

// recoverText says what was found and done.
func recoverText(r transaction.RecoverResult) string {
	text := ""
	switch {
	case !r.Found:
		return "nothing to do: no interrupted run left anything here"
	case r.Committed > 0:
		text = "an interrupted run had done its work: what it left behind is cleaned up"
	case r.RolledBack > 0:
		text = "an interrupted run is undone: store, archive and audit are as before it"
	default:
		text = "the temporary files of an interrupted run are removed: by them it had changed nothing yet"
	}
	if r.MovedBytes > 0 {
		text += fmt.Sprintf("; %d bytes that others wrote meanwhile are moved to the store", r.MovedBytes)
	}
	return text
}
