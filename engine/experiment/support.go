package experiment

// limit is a field, or a value of one, that this version understands but cannot
// honour yet.
type limit struct {
	path    string
	what    string // the value that is refused; empty = any
	instead string
	used    func(e *Experiment) bool
}

// limits is the one place that says what this version cannot do. A version
// that learns something deletes its line.
func limits() []limit {
	return []limit{
		{path: "agent.provider", what: "anything but command", instead: "start the agent's own program with command",
			used: func(e *Experiment) bool { return e.Agent != nil && e.Agent.Provider != "command" }},
	}
}

func (v *validator) unsupported() {
	for _, l := range limits() {
		if l.used(v.exp) {
			v.refuse(l.path, l)
		}
	}
}

func (v *validator) refuse(path string, l limit) {
	message := "not supported by this version"
	if l.what != "" {
		message = l.what + " is " + message
	}
	v.fail(path, message, l.instead)
}
