package event

// AgentUnconfined says that nothing keeps the agent apart from this computer.
type AgentUnconfined struct {
	warning
	Message string `json:"message"`
	Advice
}

// AgentCommand names the command of an agent that a replay runs.
type AgentCommand struct {
	step
	Command []string `json:"command"`
}

// ReplayStarted says that the agent of a replay starts.
type ReplayStarted struct {
	step
	Folder    string `json:"folder" jsonschema:"of the record"`
	Isolation string `json:"isolation"`
}

// AgentStarted says that the agent starts.
type AgentStarted struct {
	step
	Isolation string  `json:"isolation" jsonschema:"bubblewrap, gvisor or none"`
	Network   string  `json:"network"`
	Memory    int64   `json:"memory_bytes,omitempty" jsonschema:"limit; 0 = none"`
	Processes int     `json:"processes,omitempty" jsonschema:"limit; 0 = none"`
	CPU       float64 `json:"cpu,omitempty" jsonschema:"limit in cores; 0 = none"`
	Nested    bool    `json:"nested,omitempty" jsonschema:"it may make sandboxes of its own"`
}

// AgentErrorOutput is a line that the agent has printed to its standard error. What it prints to
// its standard output is agent.output.
type AgentErrorOutput struct {
	output
	Line string `json:"line" jsonschema:"without its end; not sanitized"`
}

// AgentFinished says that the agent has ended by itself.
type AgentFinished struct {
	done
	ExitCode int `json:"exit_code"`
}

// AgentWarning is a warning about the agent, its workspace or its costs.
type AgentWarning struct {
	warning
	Message string `json:"message"`
}

// HiddenNamesSeen says where names of hidden models were seen during the run.
type HiddenNamesSeen struct {
	warning
	Places []string `json:"places" jsonschema:"with how often"`
}

// HiddenNamesUnseen says that no name of a hidden model was found in what the run has left.
type HiddenNamesUnseen struct {
	done
	In         string   `json:"in" jsonschema:"what was searched"`
	Unsearched []string `json:"unsearched,omitempty" jsonschema:"what was not searched"`
}
