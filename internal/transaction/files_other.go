//go:build !unix

package transaction

import "os"

// linkCount returns 1: the file information of this platform does not say.
func linkCount(os.FileInfo) uint64 { return 1 }

// keepOwner does nothing: a new file here inherits from its directory.
func keepOwner(*os.File, os.FileInfo) error { return nil }

// syncDir does nothing: directories cannot be flushed here.
func syncDir(string) error { return nil }
