package testkit

import (
	"cmp"
	"os"
)

// RaceEnv is what a program with an environment of its own needs of this one's, if it is this
// test program: under the race detector, it would sleep for a second when it exits.
func RaceEnv() []string {
	return []string{"GORACE=" + cmp.Or(os.Getenv("GORACE"), "atexit_sleep_ms=100")}
}
