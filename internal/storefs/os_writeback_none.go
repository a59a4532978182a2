//go:build !linux || arm

package storefs

// startWriteBack does nothing where package syscall offers no such call.
func (f osFile) startWriteBack() {}
