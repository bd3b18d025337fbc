//go:build !linux

package term

import "os"

// flushInput is done on Linux only.
func flushInput(*os.File) {}
