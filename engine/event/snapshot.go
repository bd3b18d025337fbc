package event

// SnapshotSaving says that a sandbox is saved.
type SnapshotSaving struct {
	Sandbox string `json:"sandbox" jsonschema:"ID"`
}

// Meta implements [Data].
func (SnapshotSaving) Meta() Meta { return Meta{"snapshot.saving", KindStep} }

// SnapshotTree says how large a saved part is.
type SnapshotTree struct {
	Tree  string `json:"tree" jsonschema:"such as workspace"`
	Files int64  `json:"files" jsonschema:"how many"`
	Bytes int64  `json:"bytes"`
	New   int64  `json:"new_bytes" jsonschema:"that the parent snapshot lacks"`
}

// Meta implements [Data].
func (SnapshotTree) Meta() Meta { return Meta{"snapshot.tree_saved", KindStep} }

// SnapshotSaved says that a sandbox is saved.
type SnapshotSaved struct {
	Snapshot string `json:"snapshot" jsonschema:"name"`
}

// Meta implements [Data].
func (SnapshotSaved) Meta() Meta { return Meta{"snapshot.saved", KindDone} }

// ProcessNotStopped says that a process went on while files were saved.
type ProcessNotStopped struct {
	PID    int    `json:"pid"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Meta implements [Data].
func (ProcessNotStopped) Meta() Meta { return Meta{"snapshot.process_not_stopped", KindWarning} }

// ProcessesSaving says that the processes of a sandbox are saved.
type ProcessesSaving struct {
	Sandbox string `json:"sandbox" jsonschema:"ID"`
}

// Meta implements [Data].
func (ProcessesSaving) Meta() Meta { return Meta{"snapshot.processes_saving", KindStep} }

// ProcessesStoring says that the sandbox goes on, and what was saved is stored.
type ProcessesStoring struct{}

// Meta implements [Data].
func (ProcessesStoring) Meta() Meta { return Meta{"snapshot.processes_storing", KindStep} }

// CodeServerRestarting says that VS Code starts again meanwhile.
type CodeServerRestarting struct{}

// Meta implements [Data].
func (CodeServerRestarting) Meta() Meta { return Meta{"snapshot.vscode_restarting", KindStep} }

// ForksReady says that forks of a sandbox can be used.
type ForksReady struct {
	Sandbox string `json:"sandbox" jsonschema:"ID of the original"`
	Forks   int    `json:"forks" jsonschema:"how many"`
}

// Meta implements [Data].
func (ForksReady) Meta() Meta { return Meta{"snapshot.forks_ready", KindDone} }

// TreeRestoring says that files are restored.
type TreeRestoring struct {
	Tree  string `json:"tree" jsonschema:"such as workspace"`
	Bytes int64  `json:"bytes"`
}

// Meta implements [Data].
func (TreeRestoring) Meta() Meta { return Meta{"snapshot.tree_restoring", KindStep} }

// ProcessesRestoring says that processes are restored.
type ProcessesRestoring struct {
	Snapshot string `json:"snapshot" jsonschema:"name"`
	Bytes    int64  `json:"bytes"`
}

// Meta implements [Data].
func (ProcessesRestoring) Meta() Meta { return Meta{"snapshot.processes_restoring", KindStep} }

// SnapshotInherited says what the new sandbox has because the saved one had it.
type SnapshotInherited struct {
	Snapshot string   `json:"snapshot" jsonschema:"name"`
	Fields   []string `json:"fields" jsonschema:"such as isolation gvisor"`
}

// Meta implements [Data].
func (SnapshotInherited) Meta() Meta { return Meta{"snapshot.inherited", KindStep} }

// SnapshotOtherPackages says that the snapshot was saved with other packages or repositories.
type SnapshotOtherPackages struct {
	Snapshot string `json:"snapshot" jsonschema:"name"`
}

// Meta implements [Data].
func (SnapshotOtherPackages) Meta() Meta { return Meta{"snapshot.other_packages", KindWarning} }

// SnapshotOtherPython says that the snapshot has packages for a Python that the sandbox does not
// use.
type SnapshotOtherPython struct {
	Snapshot string `json:"snapshot" jsonschema:"name"`
	Python   string `json:"python" jsonschema:"version, such as 3.11"`
}

// Meta implements [Data].
func (SnapshotOtherPython) Meta() Meta { return Meta{"snapshot.other_python", KindWarning} }
