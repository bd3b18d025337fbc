package event

// MachineEnding says that a start has failed, and the machine is ended.
type MachineEnding struct {
	step
	Cancelled bool `json:"cancelled" jsonschema:"by the user"`
}

// SandboxKept says that the sandbox outlives the run.
type SandboxKept struct {
	done
	Sandbox string `json:"sandbox" jsonschema:"ID"`
	Advice
}

// SandboxEnding says that the sandbox is ended.
type SandboxEnding struct {
	step
	Sandbox string `json:"sandbox" jsonschema:"ID"`
}

// SandboxEnded says that the sandbox has ended.
type SandboxEnded struct {
	done
	Sandbox string `json:"sandbox" jsonschema:"ID"`
}
