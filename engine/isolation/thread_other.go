//go:build !linux

package isolation

// enter has nothing to do where there is no isolation.
func enter(string, defences) error { return nil }
