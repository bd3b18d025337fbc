//go:build !linux

package local

// made is only asked where machines can be parked.
func (*parkNote) made(string) bool { return true }
