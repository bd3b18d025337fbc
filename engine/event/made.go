package event

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
