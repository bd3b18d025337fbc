package event

// AgentUnconfined says that nothing keeps the agent apart from this computer.
type AgentUnconfined struct {
	Message string `json:"message"`
	Advice
}

// Meta implements [Data].
func (AgentUnconfined) Meta() Meta { return Meta{"agent.unconfined", KindWarning} }

// AgentCommand names the command of an agent that a replay runs.
type AgentCommand struct {
	Command []string `json:"command"`
}

// Meta implements [Data].
func (AgentCommand) Meta() Meta { return Meta{"agent.command", KindStep} }

// ReplayStarted says that the agent of a replay starts.
type ReplayStarted struct {
	Folder    string `json:"folder" jsonschema:"of the record"`
	Isolation string `json:"isolation"`
}

// Meta implements [Data].
func (ReplayStarted) Meta() Meta { return Meta{"agent.replay_started", KindStep} }

// AgentStarted says that the agent starts.
type AgentStarted struct {
	Isolation string  `json:"isolation" jsonschema:"bubblewrap, gvisor or none"`
	Network   string  `json:"network"`
	Memory    int64   `json:"memory_bytes,omitempty" jsonschema:"limit; 0 = none"`
	Processes int     `json:"processes,omitempty" jsonschema:"limit; 0 = none"`
	CPU       float64 `json:"cpu,omitempty" jsonschema:"limit in cores; 0 = none"`
	Nested    bool    `json:"nested,omitempty" jsonschema:"it may make sandboxes of its own"`
}

// Meta implements [Data].
func (AgentStarted) Meta() Meta { return Meta{"agent.started", KindStep} }

// AgentErrorOutput is a line that the agent has printed to its standard error. What it prints to
// its standard output is agent.output.
type AgentErrorOutput struct {
	Line string `json:"line" jsonschema:"without its end; not sanitized"`
}

// Meta implements [Data].
func (AgentErrorOutput) Meta() Meta { return Meta{"agent.error_output", KindOutput} }

// AgentFinished says that the agent has ended by itself.
type AgentFinished struct {
	ExitCode int `json:"exit_code"`
}

// Meta implements [Data].
func (AgentFinished) Meta() Meta { return Meta{"agent.finished", KindDone} }

// AgentWarning is a warning about the agent, its workspace or its costs.
type AgentWarning struct {
	Message string `json:"message"`
}

// Meta implements [Data].
func (AgentWarning) Meta() Meta { return Meta{"agent.warning", KindWarning} }

// HiddenNamesSeen says where names of hidden models were seen during the run.
type HiddenNamesSeen struct {
	Places []string `json:"places" jsonschema:"with how often"`
}

// Meta implements [Data].
func (HiddenNamesSeen) Meta() Meta { return Meta{"end.hidden_names_seen", KindWarning} }

// HiddenNamesUnseen says that no name of a hidden model was found in what the run has left.
type HiddenNamesUnseen struct {
	In         string   `json:"in" jsonschema:"what was searched"`
	Unsearched []string `json:"unsearched,omitempty" jsonschema:"what was not searched"`
}

// Meta implements [Data].
func (HiddenNamesUnseen) Meta() Meta { return Meta{"end.hidden_names_unseen", KindDone} }
