package sweep

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/iamfaham/recolva/internal/canon"
	"github.com/iamfaham/recolva/internal/record"
	"github.com/iamfaham/recolva/internal/transaction"
	"github.com/iamfaham/recolva/internal/version"
)

// runID names a run by all that determines it: 16 hex digits.
func (p *plan) runID(mode Mode, now, inputBytes int64, prev string) string {
	b := canon.AppendInt([]byte(`{"input_bytes":`), inputBytes)
	b = canon.AppendString(append(b, `,"mode":`...), mode.String())
	b = canon.AppendInt(append(b, `,"now_ms":`...), now)
	b = p.appendJSON(append(b, `,"policy":`...))
	b = canon.AppendString(append(b, `,"prev":`...), prev)
	sum := sha256.Sum256(append(b, '}'))
	return hex.EncodeToString(sum[:8])
}

// auditForm holds what all audit lines of a run have in common.
type auditForm struct {
	head             []byte // up to the id
	retained, pruned []byte // from after the score to the line number
	tail             []byte // from after the line number
	mode             Mode
	runID, policy    string
	now              int64
	prev             string
}

func newAuditForm(mode Mode, runID, policy string, now int64, prev string) *auditForm {
	verdict := func(action, reason string) []byte {
		return []byte(`,"action":"` + action + `","reason":"` + reason + `","line":`)
	}
	return &auditForm{
		head:     []byte(`{"mode":"` + mode.String() + `","id":`),
		retained: verdict("retained", ReasonRetained),
		pruned:   verdict("pruned", ReasonPruned),
		tail:     []byte(`,"run_id":"` + runID + `"}` + "\n"),
		mode:     mode, runID: runID, policy: policy, now: now, prev: prev,
	}
}

// appendDecision appends the line of a decision about d.rec.
func (a *auditForm) appendDecision(dst []byte, d *decider, score float64, prune bool, number int64) []byte {
	dst = append(dst, a.head...)
	if d.rec.IDEscaped {
		d.id = record.AppendID(d.id[:0], &d.rec)
		dst = canon.AppendString(dst, d.id)
	} else { // valid JSON without escapes is its own canonical form
		dst = append(dst, '"')
		dst = append(dst, d.rec.ID...)
		dst = append(dst, '"')
	}
	dst = canon.AppendFloat(append(dst, `,"score":`...), score)
	if prune {
		dst = append(dst, a.pruned...)
	} else {
		dst = append(dst, a.retained...)
	}
	return append(canon.AppendInt(dst, number), a.tail...)
}

// runLine returns the line that closes a run's block.
func (a *auditForm) runLine(c Counts, f transaction.Final) []byte {
	b := canon.AppendString([]byte(`{"event":"run","run_id":`), a.runID)
	b = canon.AppendString(append(b, `,"mode":`...), a.mode.String())
	b = canon.AppendString(append(b, `,"policy":`...), a.policy)
	b = canon.AppendInt(append(b, `,"now_ms":`...), a.now)
	b = canon.AppendInt(append(b, `,"scanned":`...), c.Scanned())
	b = canon.AppendInt(append(b, `,"pruned":`...), c.Pruned)
	b = appendDigest(append(b, `,"before":`...), f.Before)
	b = appendDigest(append(b, `,"after":`...), f.After)
	b = appendDigest(append(b, `,"archived":`...), f.Archived)
	b = appendDigest(append(b, `,"audited":`...), f.Audited)
	b = canon.AppendString(append(b, `,"version":`...), version.Number())
	b = canon.AppendString(append(b, `,"prev":`...), a.prev)
	return append(b, "}\n"...)
}

func appendDigest(dst []byte, d transaction.Digest) []byte {
	dst = append(dst, `{"sha256":"`...)
	dst = hex.AppendEncode(dst, d.SHA256[:])
	return append(canon.AppendInt(append(dst, `","bytes":`...), d.Bytes), '}')
}
