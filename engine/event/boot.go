package event

// BootStarted says that the machine is there, and the runtime starts.
type BootStarted struct{}

// Meta implements [Data].
func (BootStarted) Meta() Meta { return Meta{"boot.started", KindStep} }

// SandboxReady says that a sandbox can be used.
type SandboxReady struct {
	Sandbox string `json:"sandbox" jsonschema:"ID"`
}

// Meta implements [Data].
func (SandboxReady) Meta() Meta { return Meta{"boot.ready", KindDone} }

// SandboxResumed says that a sandbox goes on where a saved one was.
type SandboxResumed struct {
	Sandbox  string `json:"sandbox" jsonschema:"ID"`
	Snapshot string `json:"snapshot" jsonschema:"name"`
}

// Meta implements [Data].
func (SandboxResumed) Meta() Meta { return Meta{"boot.resumed", KindDone} }

// BuildWaiting says that another start builds the same, and this one waits.
type BuildWaiting struct {
	Part string `json:"part" jsonschema:"layer or system"`
}

// Meta implements [Data].
func (BuildWaiting) Meta() Meta { return Meta{"boot.build_waiting", KindStep} }

// BuildStarted says that something is built which later starts will find.
type BuildStarted struct {
	Part     string `json:"part" jsonschema:"base (Jupyter for one Python), venv, layer or system"`
	Contents string `json:"contents"`
}

// Meta implements [Data].
func (BuildStarted) Meta() Meta { return Meta{"boot.build_started", KindStep} }

// BuildFinished says that a layer is built.
type BuildFinished struct {
	Folder string `json:"folder" jsonschema:"on this computer"`
}

// Meta implements [Data].
func (BuildFinished) Meta() Meta { return Meta{"boot.build_finished", KindStep} }

// InstallStarted says that packages or other contents are installed.
type InstallStarted struct {
	Contents string `json:"contents"`
	System   bool   `json:"system,omitempty" jsonschema:"into the file system of the machine"`
}

// Meta implements [Data].
func (InstallStarted) Meta() Meta { return Meta{"boot.install_started", KindStep} }

// InstallFinished says that contents are installed.
type InstallFinished struct {
	Contents string  `json:"contents"`
	Packages int     `json:"packages,omitempty" jsonschema:"how many pip and apt have installed"`
	Seconds  float64 `json:"seconds"`
}

// Meta implements [Data].
func (InstallFinished) Meta() Meta { return Meta{"boot.install_finished", KindDone} }

// DownloadsNotKept says that what pip has downloaded is not kept for other builds.
type DownloadsNotKept struct {
	Reason string `json:"reason"`
}

// Meta implements [Data].
func (DownloadsNotKept) Meta() Meta { return Meta{"boot.downloads_not_kept", KindWarning} }
