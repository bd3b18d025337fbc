package reply

import (
	"fmt"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// partMissing is what is said where the module is there and has no such part, which no
// package mends.
var partMissing = lazyregexp.New(`named '[^']*\.`)

// MissingPackage says how to get a module that Python has not found, by its exception's
// kind and message; "" where that was not it. pip is how it is installed by hand.
func MissingPackage(kind, message, pip string) string {
	if kind != "ModuleNotFoundError" || partMissing().MatchString(message) {
		return ""
	}
	return fmt.Sprintf("A package is missing. %s gets it until the sandbox ends, where its network lets it; for good, the user adds it to sandbox.python_packages of the experiment.", pip)
}
