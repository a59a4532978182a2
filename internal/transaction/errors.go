package transaction

import (
	"errors"
	"fmt"
)

// Class says what an error means for the files; it is the exit status of the
// program.
type Class uint8

const (
	// Failed: an I/O error or a bad argument; nothing changed.
	Failed Class = 1
	// Refused: a rule of safety forbids it, or the store is busy or was
	// rewritten meanwhile; nothing changed.
	Refused Class = 3
	// NeedsPerson: recovery found something it cannot explain. It says which
	// file and why, and touched nothing.
	NeedsPerson Class = 4
	// Uncertain: committed, but the old file still has a writer, or the disk
	// did not confirm that the commit is durable. The next run settles it.
	Uncertain Class = 5
)

// Error carries the class of a fault beside its text.
type Error struct {
	Class Class
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns the class of the outermost Error in err, Failed when there
// is none.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return Failed
}

func refusedf(format string, args ...any) error {
	return &Error{Refused, fmt.Errorf(format, args...)}
}

func needsPersonf(format string, args ...any) error {
	return &Error{NeedsPerson, fmt.Errorf(format, args...)}
}

func uncertainf(format string, args ...any) error {
	return &Error{Uncertain, fmt.Errorf(format, args...)}
}

// failed gives an error that has no class yet the class Failed.
func failed(err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &Error{Failed, err}
}

// alsoFailed adds to err, which decides the class, what failed after it.
func alsoFailed(err, after error) error {
	if err == nil || after == nil {
		return errors.Join(err, after)
	}
	return fmt.Errorf("%w (%w)", err, after)
}
