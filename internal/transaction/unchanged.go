package transaction

import "github.com/iamfaham/recolva/internal/storefs"

// checkUnchanged refuses to put a file in the place of one that somebody
// changed since the transaction began: what was added would be gone. A restore
// relies on it, whose store is such a file.
func (m *member) checkUnchanged(now storefs.Info) error {
	was := m.info
	if m.exists && was.SameFile(now) && was.Size == now.Size && was.ModNanos == now.ModNanos && was.ChangeNano == now.ChangeNano {
		return nil
	}
	return refusedf("%s %s was changed meanwhile", m.role, show(m.path))
}
