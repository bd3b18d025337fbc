package netproxy

import (
	"errors"
	"strings"
)

// NotInstalled is the error for a program that this computer lacks.
type NotInstalled struct{ Name string }

func (e *NotInstalled) Error() string { return e.Name + " is not installed" }

// NoUplink is the error of [DetectUplink]: why each tool connects nothing.
type NoUplink []error

func (e NoUplink) Error() string {
	reasons := make([]string, len(e))
	for i, err := range e {
		reasons[i] = err.Error()
	}
	return strings.Join(reasons, "; ")
}

// OnlyMissing reports whether programs to install are all that is missing.
func (e NoUplink) OnlyMissing() bool {
	for _, err := range e {
		var missing *NotInstalled
		if !errors.As(err, &missing) {
			return false
		}
	}
	return len(e) > 0
}
