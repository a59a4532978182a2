//go:build linux && !arm

package storefs

import "syscall"

const syncFileRangeWrite = 2 // SYNC_FILE_RANGE_WRITE

// startWriteBack starts to write the file's dirty pages and waits for nothing.
// It proves nothing either, and takes no error away from the Sync that follows:
// without the flags that wait, the kernel leaves it where fsync finds it.
func (f osFile) startWriteBack() {
	_ = f.call("sync_file_range", func(fd uintptr) error {
		return syscall.SyncFileRange(int(fd), 0, 0, syncFileRangeWrite)
	})
}
