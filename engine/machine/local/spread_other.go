//go:build !linux

package local

// spread is for file systems of Linux.
func spread(string) {}
