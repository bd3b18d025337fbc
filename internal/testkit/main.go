package testkit

import (
	"fmt"
	"os"
	"testing"
)

// Main runs the tests of a package after prepare has filled a folder for them. It removes
// the folder and exits.
func Main(m *testing.M, prepare func(dir string) error) {
	code, err := run(m, prepare)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func run(m *testing.M, prepare func(dir string) error) (int, error) {
	dir, err := os.MkdirTemp("", "seer-test-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if err := prepare(dir); err != nil {
		return 1, err
	}
	return m.Run(), nil
}
