package ledger

import (
	"errors"
	"io"
)

// numbers yields ascending line numbers; false means that there are no more.
type numbers func() (int64, bool, error)

// errUneven means that lines and numbers do not fit together.
var errUneven = errors.New("the lines do not fit the line numbers of the audit")

// merge undoes a move: it writes the lines of moved at the given numbers, and
// those of stayed at all others. A byte order mark stays in front.
func merge(w io.Writer, stayed, moved *lineReader, at numbers) error {
	next, more, err := at()
	if err != nil {
		return err
	}
	if more && next == 1 {
		if err := stayed.bom(w); err != nil {
			return err
		}
	}
	for line := int64(1); ; line++ {
		if !more || next != line {
			err := stayed.copyTo(w)
			if err == io.EOF && !more {
				return endOf(moved)
			}
			if err == io.EOF {
				return errUneven
			}
			if err != nil {
				return err
			}
			continue
		}
		if err := moved.copyTo(w); err != nil {
			return uneven(err)
		}
		if next, more, err = at(); err != nil {
			return err
		}
	}
}

// split does a move: the lines at the given numbers go to moved, all others
// to stayed.
func split(stayed, moved io.Writer, whole *lineReader, at numbers) error {
	next, more, err := at()
	if err != nil {
		return err
	}
	if more && next == 1 {
		if err := whole.bom(stayed); err != nil {
			return err
		}
	}
	for line := int64(1); ; line++ {
		to := stayed
		if more && next == line {
			to = moved
		}
		if err := whole.copyTo(to); err == io.EOF {
			if more {
				return errUneven
			}
			return nil
		} else if err != nil {
			return err
		}
		if more && next == line {
			if next, more, err = at(); err != nil {
				return err
			}
		}
	}
}

// endOf returns nil if there are no more lines.
func endOf(l *lineReader) error {
	switch err := l.copyTo(io.Discard); err {
	case io.EOF:
		return nil
	case nil:
		return errUneven
	default:
		return err
	}
}

func uneven(err error) error {
	if err == io.EOF {
		return errUneven
	}
	return err
}
