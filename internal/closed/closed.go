// Package closed asks whether a channel is closed.
package closed

// Is reports whether a channel is closed on which nothing is ever sent.
func Is(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
