package experiment

import "strings"

// ParseModel reads a name as an entry of sandbox.models, and finds its source. A dataset of the
// Hub is datasets/org/name. Only Name, Source and, of a folder, Path as it is written are set.
// A name that is none is an [*Error] without a place.
func ParseModel(name string) (Model, error) {
	m := Model{Name: name}
	m.Source, m.Path = sourceOf(name)
	checked := m
	if rest, dataset := strings.CutPrefix(name, "datasets/"); dataset && m.Source == SourceHub {
		checked.Name = rest
	}
	if problem, hint := badName(checked, "model"); problem != "" {
		return m, &Error{Message: problem, Hint: hint}
	}
	return m, nil
}
