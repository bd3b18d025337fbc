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
