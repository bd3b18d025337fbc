package policy

// FromOf is [From] for a file of another user than root.
func FromOf(file string, owner int) (Policy, error) { return from(file, uint32(owner)) } //nolint:gosec // a user's number
