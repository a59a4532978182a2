package transaction

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
)

const (
	appendFlags = os.O_RDWR | os.O_APPEND
	createFlags = os.O_RDWR | os.O_CREATE | os.O_EXCL
)

func textOf(w *world, path string) string {
	data, _ := w.disk.Get(path)
	return string(data)
}

func linesOf(text string) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}

// checkCrash states what holds at every instant, before any recovery: no line
// that was acknowledged is absent from all files.
func (w *world) checkCrash() error {
	everywhere := ""
	for _, dir := range []string{"/s", "/a", "/o"} {
		for _, name := range w.disk.Names(dir) {
			everywhere += textOf(w, dir+"/"+name) + "\n"
		}
	}
	for _, line := range w.lines {
		if !strings.Contains(everywhere, line) && !w.mayBeDeleted(line) {
			return fmt.Errorf("lost before recovery: %s", line)
		}
	}
	return nil
}

// mayBeDeleted: in delete mode, a weak line is gone once the audit names it.
func (w *world) mayBeDeleted(line string) bool {
	named := strings.Contains(textOf(w, auditPath), fmt.Sprintf(`{"id":"%s","pruned":true}`, recordID(line)))
	return w.mode == "delete" && !isStrong([]byte(line)) && (named || !w.audit)
}

// checkSettled states what holds after recovery.
func (w *world) checkSettled() error {
	store, archive := textOf(w, storePath), textOf(w, archivePath)
	count := map[string]int{}
	for _, line := range append(linesOf(store), linesOf(archive)...) {
		count[line]++
	}
	var left []string
	for _, line := range w.lines {
		if err := w.checkOnce(line, count[line]); err != nil {
			return err
		}
		if count[line] > 0 {
			left = append(left, line) // else it is deleted, and the next audit may not name it
		}
		delete(count, line)
	}
	w.lines = left
	delete(count, oldArchive)
	for _, line := range slices.Concat(w.other, w.dropped) {
		delete(count, line)
	}
	for _, note := range w.notes {
		if !strings.Contains(archive+textOf(w, auditPath), note) {
			return fmt.Errorf("lost: %s", note)
		}
		if n := count[note]; n > 1 && !w.torn {
			return fmt.Errorf("%d times: %s", n, note)
		}
		delete(count, note)
	}
	for line := range count {
		if !w.torn && !strings.Contains(line, "agent") {
			return fmt.Errorf("a line from nowhere: %q", line)
		}
	}
	for _, check := range []func() error{w.checkOrder, w.checkOlder, w.checkAudit, w.checkModes} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) checkOnce(line string, n int) error {
	switch {
	case n == 1 || n > 1 && w.torn && strings.Contains(line, "agent"):
		return nil
	case n == 0 && w.mayBeDeleted(line):
		return nil
	case n == 0:
		return fmt.Errorf("lost: %s", line)
	}
	return fmt.Errorf("%d times: %s", n, line)
}

// checkOrder: what is left of the first lines stands in source order.
func (w *world) checkOrder() error {
	at := 0
	store := textOf(w, storePath)
	for i := range 6 {
		pos := strings.Index(store, fmt.Sprintf(`{"id":"r%d",`, i))
		if pos >= 0 && pos < at {
			return fmt.Errorf("record r%d is out of order", i)
		}
		at = max(at, pos)
	}
	return nil
}

// checkOlder: earlier archived records and audit lines are still there.
func (w *world) checkOlder() error {
	if w.hadArchive && w.archiveMode == Append && !strings.HasPrefix(textOf(w, archivePath), oldArchive) {
		return fmt.Errorf("the earlier archive is gone")
	}
	if w.hadAudit && w.auditMode == Append && !strings.HasPrefix(textOf(w, auditPath), oldAudit) {
		return fmt.Errorf("the earlier audit is gone")
	}
	if w.hadArchive && w.archiveMode == Replace {
		a := textOf(w, archivePath)
		for _, note := range w.notes {
			a = strings.Replace(a, "\n"+note+"\n", "", 1)
		}
		if a != oldArchive && strings.Contains(a, oldArchive) || a == "" {
			return fmt.Errorf("the archive was neither kept nor replaced: %q", a)
		}
	}
	return nil
}

// checkAudit: the audit is made of whole blocks, and says what happened.
func (w *world) checkAudit() error {
	if !w.audit {
		return nil
	}
	text := textOf(w, auditPath)
	if w.hadAudit && (w.auditMode == Append || text == oldAudit) {
		text = strings.TrimPrefix(text, oldAudit)
	}
	block, blocks := "", 0
	store, archive := textOf(w, storePath), textOf(w, archivePath)
	at := len(textOf(w, auditPath)) - len(text)
	for line := range strings.Lines(text) {
		start := at
		at += len(line)
		if strings.Contains(line, `"note"`) || line == "\n" {
			continue
		}
		if !strings.HasPrefix(line, runMark) {
			block += line
			id := recordID(line)
			inStore := strings.Contains(store, `{"id":"`+id+`",`)
			pruned := strings.Contains(line, `"pruned":true`)
			if pruned && w.mode != "dry-run" && inStore && !w.torn && !strings.HasPrefix(id, "o") {
				return fmt.Errorf("%s is pruned in the audit, and still in the store", id)
			}
			if pruned && w.mode == "archive" && w.archiveMode == Append && !strings.Contains(archive, `{"id":"`+id+`",`) {
				return fmt.Errorf("%s is pruned in the audit, and not in the archive", id)
			}
			continue
		}
		sum := sha256.Sum256([]byte(block))
		if !strings.Contains(line, hex.EncodeToString(sum[:])) {
			return fmt.Errorf("an audit block does not match its run line")
		}
		if err := w.checkLink(line, start-len(block)); err != nil {
			return err
		}
		if strings.Contains(line, storePath) {
			blocks++
		}
		block = ""
	}
	if block != "" {
		return fmt.Errorf("the audit ends within a block: %q", block)
	}
	if w.auditMode == Append && blocks < w.swept {
		return fmt.Errorf("%d sweeps reported success, %d audit blocks are left", w.swept, blocks)
	}
	return w.checkUnaudited(store, archive)
}

// checkUnaudited: without a word of it in the audit, nothing was pruned.
func (w *world) checkUnaudited(store, archive string) error {
	if w.auditMode == Replace {
		return nil // an earlier block may have been replaced
	}
	audit := textOf(w, auditPath)
	for _, line := range linesOf(archive) {
		if w.torn && !slices.Contains(w.lines, line) {
			continue // what a power cut tore
		}
		named := strings.Contains(audit, fmt.Sprintf(`{"id":"%s","pruned":true}`, recordID(line)))
		if line != oldArchive && !named && !strings.Contains(line, `"note"`) {
			return fmt.Errorf("%s is archived, and not in the audit", recordID(line))
		}
	}
	return nil
}

// checkLeft: nothing of ours is left beside the store; and nowhere, unless a
// power cut has brought back names that had been removed after the commit,
// which then wait for the next sweep of their file.
func (w *world) checkLeft(all bool) error {
	for _, dir := range []string{"/s", "/a", "/o"} {
		for _, name := range w.disk.Names(dir) {
			if strings.Contains(name, sideMark) && (all || strings.Contains(name, "store")) {
				return fmt.Errorf("%s/%s is left", dir, name)
			}
		}
	}
	return nil
}

func (w *world) checkModes() error {
	if m := w.disk.Mode(storePath); m != 0o640 {
		return fmt.Errorf("the mode of the store is %o", m)
	}
	if w.hadArchive && w.disk.Mode(archivePath) != 0o604 {
		return fmt.Errorf("the mode of the archive is %o", w.disk.Mode(archivePath))
	}
	if m := w.disk.Mode(archivePath); !w.hadArchive && m != 0 && m&^0o640 != 0 {
		return fmt.Errorf("the mode of the archive is %o", m)
	}
	return nil
}

// checkLink: a run line carries the hash of the audit since the run line before
// it, up to the start of its block.
func (w *world) checkLink(line string, start int) error {
	if w.auditMode == Replace {
		return nil
	}
	text := textOf(w, auditPath)[:start]
	want := noPrev
	if i := strings.LastIndex("\n"+text, "\n"+runMark); i >= 0 {
		sum := sha256.Sum256([]byte(text[i:]))
		want = hex.EncodeToString(sum[:])
	}
	if !strings.Contains(line, want) {
		return fmt.Errorf("the chain of run lines is broken at offset %d", start)
	}
	return nil
}
