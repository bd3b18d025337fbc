package experiment

import (
	"fmt"
	"strings"
)

// limit is a field, or a value of one, that this version understands but cannot
// honour yet.
type limit struct {
	path    string // with * for an index
	what    string // the value that is refused; empty = any
	instead string
	used    func(e *Experiment) bool // for a path without *
	model   func(m Model) bool       // for sandbox.models.*
}

// limits is the one place that says what this version cannot do. A version
// that learns something deletes its line.
func limits() []limit {
	return []limit{
		{path: "sandbox.execution_mode", instead: "leave it out and expose functions with serve",
			used: func(e *Experiment) bool { return e.Sandbox.ExecutionMode != "" }},
		{path: "sandbox.repos", instead: "clone it yourself and list the folder in local_dirs",
			used: func(e *Experiment) bool { return len(e.Sandbox.Repos) > 0 }},
		{path: "sandbox.debug", what: "true", instead: "use seer exec to look around",
			used: func(e *Experiment) bool { return e.Sandbox.Debug }},
		{path: "sandbox.isolation", what: "gvisor", instead: "use auto or bubblewrap",
			used: func(e *Experiment) bool { return e.Sandbox.Isolation == "gvisor" }},
		{path: "sandbox.network", what: "a list of hosts", instead: "use open or none",
			used: func(e *Experiment) bool { return e.Sandbox.Network == "hosts" }},
		{path: "sandbox.models.*.is_peft", what: "true", instead: "merge the adapter into its base model and use the folder",
			model: func(m Model) bool { return m.IsPEFT }},
		{path: "sandbox.models.*.load_as_peft", what: "true", instead: "wrap the model in the interface",
			model: func(m Model) bool { return m.LoadAsPEFT }},
		{path: "sandbox.models.*.dtype", instead: "pass it where the interface loads the model",
			model: func(m Model) bool { return m.DType != "" }},
		{path: "sandbox.models.*.device", instead: "pass it where the interface loads the model",
			model: func(m Model) bool { return m.Device != "" }},
		{path: "workspace.skills", instead: "copy the folder in with files",
			used: func(e *Experiment) bool { return len(e.Workspace.Skills) > 0 }},
		{path: "workspace.init", instead: "do it at the beginning of the agent's own program",
			used: func(e *Experiment) bool { return e.Workspace.Init != "" }},
		{path: "agent.provider", what: "anything but command", instead: "start the agent's own program with command",
			used: func(e *Experiment) bool { return e.Agent != nil && e.Agent.Provider != "command" }},
	}
}

func (v *validator) unsupported() {
	for _, l := range limits() {
		if l.used != nil && l.used(v.exp) {
			v.refuse(l.path, l)
		}
		if l.model == nil {
			continue
		}
		for i, m := range v.exp.Sandbox.Models {
			if l.model(m) {
				v.refuse(strings.Replace(l.path, "*", fmt.Sprint(i), 1), l)
			}
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
