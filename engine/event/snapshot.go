package event

// SnapshotSaving says that a sandbox is saved.
type SnapshotSaving struct {
	step
	Sandbox string `json:"sandbox" jsonschema:"ID"`
}

// SnapshotTree says how large a saved part is.
type SnapshotTree struct {
	step
	Tree  string `json:"tree" jsonschema:"such as workspace"`
	Files int64  `json:"files" jsonschema:"how many"`
	Bytes int64  `json:"bytes"`
	New   int64  `json:"new_bytes" jsonschema:"that the parent snapshot lacks"`
}

// SnapshotSaved says that a sandbox is saved.
type SnapshotSaved struct {
	done
	Snapshot string `json:"snapshot" jsonschema:"name"`
}

// ProcessNotStopped says that a process went on while files were saved.
type ProcessNotStopped struct {
	warning
	PID    int    `json:"pid"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// ProcessesSaving says that the processes of a sandbox are saved.
type ProcessesSaving struct {
	step
	Sandbox string `json:"sandbox" jsonschema:"ID"`
}

// ProcessesStoring says that the sandbox goes on, and what was saved is stored.
type ProcessesStoring struct{ step }

// CodeServerRestarting says that VS Code starts again meanwhile.
type CodeServerRestarting struct{ step }

// ForksReady says that forks of a sandbox can be used.
type ForksReady struct {
	done
	Sandbox string `json:"sandbox" jsonschema:"ID of the original"`
	Forks   int    `json:"forks" jsonschema:"how many"`
}

// TreeRestoring says that files are restored.
type TreeRestoring struct {
	step
	Tree  string `json:"tree" jsonschema:"such as workspace"`
	Bytes int64  `json:"bytes"`
}

// ProcessesRestoring says that processes are restored.
type ProcessesRestoring struct {
	step
	Snapshot string `json:"snapshot" jsonschema:"name"`
	Bytes    int64  `json:"bytes"`
}

// SnapshotInherited says what the new sandbox has because the saved one had it.
type SnapshotInherited struct {
	step
	Snapshot string   `json:"snapshot" jsonschema:"name"`
	Fields   []string `json:"fields" jsonschema:"such as isolation gvisor"`
}

// SnapshotOtherPackages says that the snapshot was saved with other packages or repositories.
type SnapshotOtherPackages struct {
	warning
	Snapshot string `json:"snapshot" jsonschema:"name"`
}

// SnapshotOtherPython says that the snapshot has packages for a Python that the sandbox does not
// use.
type SnapshotOtherPython struct {
	warning
	Snapshot string `json:"snapshot" jsonschema:"name"`
	Python   string `json:"python" jsonschema:"version, such as 3.11"`
}
