//go:build !linux

package filebits

import "io/fs"

// umask is the usual one: only Linux tells it without changing it.
func umask() (fs.FileMode, error) { return 0o022, nil }
