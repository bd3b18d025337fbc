//go:build !linux

package transfer

// bootID is empty: what is written and not on the disk is not recorded.
func bootID() string { return "" }
