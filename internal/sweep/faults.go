package sweep

import (
	"fmt"

	"github.com/iamfaham/recolva/internal/record"
	"github.com/iamfaham/recolva/internal/transaction"
)

// InvalidLine is a line that is not a valid record.
type InvalidLine struct {
	Line   int64 // its number, from 1
	Reason error
	Torn   bool // the last line, without a newline, of a file that does not grow
}

func (e *InvalidLine) Error() string {
	text := fmt.Sprintf("line %d: %v", e.Line, e.Reason)
	if e.Torn {
		text += record.TornSuffix
	}
	return text
}

// Unwrap returns the reason.
func (e *InvalidLine) Unwrap() error { return e.Reason }

func failed(err error) error { return &transaction.Error{Class: transaction.Failed, Err: err} }

func refused(err error) error { return &transaction.Error{Class: transaction.Refused, Err: err} }
