package engine

import (
	"io/fs"
	"syscall"
)

// shared reports whether a file has another name elsewhere, such as a veiled copy's.
func shared(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink > 1
}
