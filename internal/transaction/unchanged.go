package transaction

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/iamfaham/recolva/internal/storefs"
)

// checkUnchanged refuses to put a file in the place of one that somebody
// changed since the transaction began: what was added would be gone. A restore
// relies on it, whose store is such a file.
func (e *engine) checkUnchanged(m *member, f storefs.File, now storefs.Info) error {
	was := m.info
	if m.exists && was.SameFile(now) && was.Size == now.Size && was.ModNanos == now.ModNanos && was.ChangeNano == now.ChangeNano {
		if m.sum == "" {
			return nil
		}
		if same, err := e.startsWith(f, now.Size, m.sum); err != nil || same {
			return err
		}
	}
	return refusedf("%s %s was changed meanwhile", m.role, show(m.path))
}

// sumReplaced takes the sums of the files that will be replaced and whose times
// may hide a change that is still to come.
func (t *Transaction) sumReplaced() error {
	for _, m := range t.files.all() {
		if m.mode != Replace || !m.exists || !t.locks.mayHideChange(m.path, m.info) {
			continue
		}
		f, err := t.fs.OpenFile(m.path, os.O_RDONLY, 0)
		if err != nil {
			return fmt.Errorf("%s %s: %w", m.role, show(m.path), bare(err))
		}
		m.sum, err = t.sumOf(f, 0, m.info.Size)
		err = errors.Join(err, f.Close())
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = refusedf("%s %s was changed meanwhile", m.role, show(m.path))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
