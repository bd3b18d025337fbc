package event

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

// HiddenSearchStarted says that the sandbox is searched for names of hidden models.
type HiddenSearchStarted struct{ step }

// HiddenSearchFinished says that no name was found.
type HiddenSearchFinished struct {
	done
	In         string   `json:"in" jsonschema:"what was searched"`
	Unsearched []string `json:"unsearched,omitempty" jsonschema:"what was not searched"`
}

// HiddenUnsearched says that not all of something was searched for names of hidden models.
type HiddenUnsearched struct {
	warning
	In string `json:"in"`
}

// HiddenNotIsolated says that a hidden model is not hidden, because nothing confines the agent.
type HiddenNotIsolated struct {
	warning
	Field string `json:"field" jsonschema:"of the experiment: isolation or agent.isolation"`
}
