//go:build !race

package testkit

// Race reports whether the test runs with the race detector, which makes large data slow.
const Race = false
