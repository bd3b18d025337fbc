package event

// MachineEnding says that a start has failed, and the machine is ended.
type MachineEnding struct {
	Cancelled bool `json:"cancelled" jsonschema:"by the user"`
}

// Meta implements [Data].
func (MachineEnding) Meta() Meta { return Meta{"end.machine_ending", KindStep} }

// SandboxKept says that the sandbox outlives the run.
type SandboxKept struct {
	Sandbox string `json:"sandbox" jsonschema:"ID"`
	Advice
}

// Meta implements [Data].
func (SandboxKept) Meta() Meta { return Meta{"end.sandbox_kept", KindDone} }

// SandboxEnding says that the sandbox is ended.
type SandboxEnding struct {
	Sandbox string `json:"sandbox" jsonschema:"ID"`
}

// Meta implements [Data].
func (SandboxEnding) Meta() Meta { return Meta{"end.sandbox_ending", KindStep} }

// SandboxEnded says that the sandbox has ended.
type SandboxEnded struct {
	Sandbox string `json:"sandbox" jsonschema:"ID"`
}

// Meta implements [Data].
func (SandboxEnded) Meta() Meta { return Meta{"end.sandbox_ended", KindDone} }
