package testkit

import (
	"errors"
	"testing"
	"time"
)

// patience is how long Eventually waits: only what hangs takes longer.
const patience = 5 * time.Minute

// errNotYet is the error of a condition that does not hold.
var errNotYet = errors.New("it never happened")

// Eventually polls until a condition holds, and ends the test if it does not within minutes.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	EventuallyNil(t, what, func() error {
		if holds() {
			return nil
		}
		return errNotYet
	})
}

// EventuallyNil polls until a check returns nil, and ends the test with the last error if it
// does not within minutes.
func EventuallyNil(t testing.TB, what string, check func() error) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited for %s: %v", what, err)
		}
	}
}
