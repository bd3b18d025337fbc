package event

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
