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

// AgentProgram names the program of an agent.
type AgentProgram struct {
	step
	Provider string `json:"provider" jsonschema:"of the experiment, such as claude"`
	Path     string `json:"path" jsonschema:"of the program"`
	Version  string `json:"version,omitempty" jsonschema:"as the program states it"`
	SHA256   string `json:"sha256,omitempty" jsonschema:"of the program's file"`
	Model    string `json:"model,omitempty" jsonschema:"of the experiment; empty = the program's own choice"`
}

// AgentUpdate is a message, a thought, a tool call or a plan of the agent.
type AgentUpdate struct {
	output
	Update map[string]any `json:"update" jsonschema:"a session/update of the Agent Client Protocol; its sessionUpdate names the kind"`
	Native string         `json:"native,omitempty" jsonschema:"the line of the agent's program that the update comes from; not sanitized"`
}

// AgentTurnEnded says how a turn of the agent has ended: as its program states it, or by max_turns.
type AgentTurnEnded struct {
	step
	Reason string `json:"reason" jsonschema:"end_turn, max_tokens, max_turn_requests, refusal, cancelled or error"`
	Error  string `json:"error,omitempty" jsonschema:"what the program says of its failure, or reached max_turns N; not sanitized"`
}

// AgentServerFailed says that an MCP server of the agent does not work.
type AgentServerFailed struct {
	warning
	Server  string `json:"server" jsonschema:"its name"`
	Problem string `json:"problem" jsonschema:"what the server, or its program, did; not sanitized"`
}

// ModelRequest is a request of the agent to its language model, measured by Seer.
type ModelRequest struct {
	step
	Number     int64   `json:"number" jsonschema:"1, 2, 3 … in a run"`
	API        string  `json:"api" jsonschema:"anthropic, responses, chat or gemini"`
	Model      string  `json:"model" jsonschema:"as the answer names it, else as the request does"`
	Status     int     `json:"status" jsonschema:"of HTTP; 0 = no answer"`
	Error      string  `json:"error,omitempty" jsonschema:"why the answer is not complete"`
	Input      int64   `json:"input_tokens" jsonschema:"without those of the cache"`
	Output     int64   `json:"output_tokens" jsonschema:"with thoughts"`
	CacheRead  int64   `json:"cache_read_tokens,omitempty"`
	CacheWrite int64   `json:"cache_write_tokens,omitempty"`
	Estimated  bool    `json:"estimated,omitempty" jsonschema:"the tokens are estimates, because the answer states none"`
	Unpriced   bool    `json:"unpriced,omitempty" jsonschema:"no price of the model is known, and cost is 0"`
	Cost       float64 `json:"cost_usd" jsonschema:"of this request"`
	Total      float64 `json:"total_usd" jsonschema:"of the run up to here"`
	Seconds    float64 `json:"seconds"`
}

// AgentBudgetSpent says that the agent gets no more answers of its language model.
type AgentBudgetSpent struct {
	warning
	Budget float64 `json:"budget_usd"`
	Total  float64 `json:"total_usd"`
}
