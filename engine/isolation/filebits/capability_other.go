//go:build !linux

package filebits

// dropCapability finds none: only Linux has capabilities of files.
func dropCapability(string) (bool, error) { return false, nil }
