package event

// RunStarted says that a run has a folder. The events before it led there.
type RunStarted struct {
	step
	Experiment string `json:"experiment" jsonschema:"its name"`
	File       string `json:"file,omitempty" jsonschema:"of the experiment"`
	Folder     string `json:"folder" jsonschema:"of the run"`
	Version    string `json:"version" jsonschema:"of Seer"`
	SHA256     string `json:"sha256,omitempty" jsonschema:"of the running program: seer, or one that embeds the engine"`
}

// RunPlugin names a plugin that serves the run: the provider of its sandbox, the source of a model
// or an expose mode.
type RunPlugin struct {
	step
	ID      string `json:"id"`
	Version string `json:"version"`
	SHA256  string `json:"sha256" jsonschema:"of its Wasm module"`
}

// RunModel names a model or dataset of the sandbox. It has no name of a hidden model.
type RunModel struct {
	step
	Name     string `json:"name,omitempty" jsonschema:"in the experiment; empty = hidden"`
	Dataset  bool   `json:"dataset,omitempty" jsonschema:"it is a dataset"`
	Hidden   bool   `json:"hidden,omitempty"`
	Source   string `json:"source"`
	Repo     string `json:"repo,omitempty" jsonschema:"its name at the Hub, as the Hub has it"`
	Revision string `json:"revision" jsonschema:"immutable; empty = the folder as it is"`
	License  string `json:"license,omitempty" jsonschema:"as the source names it"`
	Gate     string `json:"gate,omitempty" jsonschema:"how the source restricts access"`
	Manifest string `json:"manifest,omitempty" jsonschema:"digest of the list of its files, and its key in run.models.json"`
}

// RunCode names an interface that the agent can call.
type RunCode struct {
	step
	Name     string `json:"name" jsonschema:"of the service"`
	CodeHash string `json:"code_hash" jsonschema:"of its file: sha256: and hexadecimal digits"`
}

// RunPackages lists what is installed in a sandbox before the agent starts.
type RunPackages struct {
	step
	Sandbox  string    `json:"sandbox" jsonschema:"ID"`
	Python   string    `json:"python" jsonschema:"version of the Python that runs the services"`
	Packages []Package `json:"packages" jsonschema:"those that this Python sees, and those of the system where dpkg lists them"`
}

// RunGPUs says what the run's sandbox has used of GPUs of this computer until its end.
type RunGPUs struct {
	step
	Memory  int64   `json:"memory_bytes" jsonschema:"of its processes, on all its GPUs, at the end"`
	Peak    int64   `json:"memory_peak_bytes" jsonschema:"the most that was seen"`
	Seconds float64 `json:"gpu_seconds" jsonschema:"how long it has had its GPUs, times their number"`
}

// Package is an installed package.
type Package struct {
	Name    string `json:"name" jsonschema:"normalized as PEP 503 says; of the system: as dpkg has it"`
	Version string `json:"version"`
	System  bool   `json:"system,omitempty" jsonschema:"of the system, not of Python"`
	// SHA256 covers the paths and digests of the installed files as the installer has recorded
	// them. A package without such a record has none.
	SHA256 string `json:"sha256,omitempty" jsonschema:"of the recorded digests of its files"`
}

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

// RunArtifact names a file in the folder of a run.
type RunArtifact struct {
	step
	Path   string `json:"path" jsonschema:"with slashes, from the folder of the run; an absolute path is outside of it"`
	Kind   string `json:"kind" jsonschema:"experiment, resolved, prompt, calls, service, models, log, notebook or output"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// RunEnded is the last event of the log of a run. A log without it is that of an interrupted
// run.
type RunEnded struct {
	done
	State     string  `json:"state" jsonschema:"finished, failed or stopped"`
	ExitCode  int     `json:"exit_code" jsonschema:"of the agent; -1 = it did not end by itself"`
	Error     string  `json:"error,omitempty" jsonschema:"why the run failed or stopped"`
	Seconds   float64 `json:"seconds"`
	Calls     int     `json:"calls" jsonschema:"of functions, in the record"`
	Files     int     `json:"files" jsonschema:"results of the agent"`
	Cost      float64 `json:"sandbox_usd" jsonschema:"cost of the sandbox"`
	ModelCost float64 `json:"model_usd" jsonschema:"cost of the agent's language model, as measured"`
}
