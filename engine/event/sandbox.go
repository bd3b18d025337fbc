package event

// MachineStarting says that a machine is rented or made.
type MachineStarting struct {
	step
	Provider  string `json:"provider" jsonschema:"the first choice"`
	Isolation string `json:"isolation,omitempty" jsonschema:"on this computer: bubblewrap, gvisor or none"`
}

// MachineMessage is what the provider says of the machine.
type MachineMessage struct {
	step
	Message string `json:"message" jsonschema:"one line"`
}

// MachineWarning is a warning of the provider.
type MachineWarning struct {
	warning
	Message string `json:"message" jsonschema:"one line"`
	Advice
}

// PortMoved says that a port of the sandbox has another number outside, because that of this
// computer is taken.
type PortMoved struct {
	step
	Port int    `json:"port" jsonschema:"in the sandbox"`
	URL  string `json:"url" jsonschema:"where it is outside"`
}

// ImageSaving says that the provider saves the file system of a machine.
type ImageSaving struct {
	step
	Sandbox string `json:"sandbox" jsonschema:"ID"`
}

// ImageSaved says that the file system is saved.
type ImageSaved struct {
	done
	Image string `json:"image" jsonschema:"its name at the provider"`
}

// BootStarted says that the machine is there, and the runtime starts.
type BootStarted struct{ step }

// SandboxReady says that a sandbox can be used.
type SandboxReady struct {
	done
	Sandbox string `json:"sandbox" jsonschema:"ID"`
}

// SandboxResumed says that a sandbox goes on where a saved one was.
type SandboxResumed struct {
	done
	Sandbox  string `json:"sandbox" jsonschema:"ID"`
	Snapshot string `json:"snapshot" jsonschema:"name"`
}

// BuildWaiting says that another start builds the same, and this one waits.
type BuildWaiting struct {
	step
	Part string `json:"part" jsonschema:"layer or system"`
}

// BuildStarted says that something is built which later starts will find.
type BuildStarted struct {
	step
	Part     string `json:"part" jsonschema:"base (Jupyter for one Python), venv, layer or system"`
	Contents string `json:"contents"`
}

// BuildFinished says that a layer is built.
type BuildFinished struct {
	step
	Folder string `json:"folder" jsonschema:"on this computer"`
}

// InstallStarted says that packages or other contents are installed.
type InstallStarted struct {
	step
	Contents string `json:"contents"`
	System   bool   `json:"system,omitempty" jsonschema:"into the file system of the machine"`
}

// InstallFinished says that contents are installed.
type InstallFinished struct {
	done
	Contents string  `json:"contents"`
	Packages int     `json:"packages,omitempty" jsonschema:"how many pip and apt have installed"`
	Seconds  float64 `json:"seconds"`
}

// DownloadsNotKept says that what pip has downloaded is not kept for other builds.
type DownloadsNotKept struct {
	warning
	Reason string `json:"reason"`
}

// UploadStarted says that a model, a file or a folder is sent to the machine.
type UploadStarted struct {
	step
	From string `json:"from" jsonschema:"name of a model, or a path on this computer"`
	To   string `json:"to" jsonschema:"path in the sandbox"`
}

// UploadIncomplete says that files disappeared while they were sent.
type UploadIncomplete struct {
	warning
	Path   string `json:"path" jsonschema:"on this computer"`
	Reason string `json:"reason"`
}

// WorkspaceFilling says that libraries and files are put into the working folder.
type WorkspaceFilling struct {
	step
	Files int `json:"files" jsonschema:"how many"`
}

// JupyterStarting says that Jupyter starts.
type JupyterStarting struct{ step }

// KernelPreparing says that Jupyter answers, and the first kernel is prepared.
type KernelPreparing struct {
	step
	Loading []string `json:"loading,omitempty" jsonschema:"variables that models are loaded into"`
}

// JupyterReady says that a kernel is prepared.
type JupyterReady struct {
	done
	Port   int    `json:"port" jsonschema:"in the sandbox"`
	Kernel string `json:"kernel" jsonschema:"name"`
}

// InterpreterPreparing says that the Python of a shell session is prepared.
type InterpreterPreparing struct {
	step
	Loading []string `json:"loading,omitempty" jsonschema:"variables that models are loaded into"`
}

// CodeServerStarting says that VS Code starts.
type CodeServerStarting struct{ step }

// CodeServerReady says that VS Code can be used.
type CodeServerReady struct {
	done
	Port int `json:"port" jsonschema:"in the sandbox"`
}

// ServiceLoading says that an interface is loaded.
type ServiceLoading struct {
	step
	File    string `json:"file"`
	Service string `json:"service" jsonschema:"name"`
}

// ServiceReady says that functions can be called.
type ServiceReady struct {
	done
	Service   string `json:"service" jsonschema:"name"`
	Functions int    `json:"functions" jsonschema:"how many"`
}

// CallQueued says that a call waits.
type CallQueued struct {
	step
	Position int `json:"position" jsonschema:"calls that go first"`
}

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
