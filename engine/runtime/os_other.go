//go:build !linux

package runtime

// dieWithParent does nothing here: the runtime looks at its parent each second.
func dieWithParent() error { return nil }

// closeMemory does nothing: this system asks for a right of its own first.
func closeMemory() error { return nil }
