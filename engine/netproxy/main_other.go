//go:build !linux

package netproxy

import (
	"fmt"
	"io"
)

// Main needs Linux: elsewhere no machine has a network of its own.
func Main(_ io.Reader, log io.Writer) int {
	_, _ = fmt.Fprintln(log, "netproxy: machines with a network of their own exist only on Linux")
	return 2
}
