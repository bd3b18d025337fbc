package event

// WorkspaceFilling says that libraries and files are put into the working folder.
type WorkspaceFilling struct {
	Files int `json:"files" jsonschema:"how many"`
}

// Meta implements [Data].
func (WorkspaceFilling) Meta() Meta { return Meta{"session.workspace_filling", KindStep} }

// JupyterStarting says that Jupyter starts.
type JupyterStarting struct{}

// Meta implements [Data].
func (JupyterStarting) Meta() Meta { return Meta{"session.jupyter_starting", KindStep} }

// KernelPreparing says that Jupyter answers, and the first kernel is prepared.
type KernelPreparing struct {
	Loading []string `json:"loading,omitempty" jsonschema:"variables that models are loaded into"`
}

// Meta implements [Data].
func (KernelPreparing) Meta() Meta { return Meta{"session.kernel_preparing", KindStep} }

// JupyterReady says that a kernel is prepared.
type JupyterReady struct {
	Port   int    `json:"port" jsonschema:"in the sandbox"`
	Kernel string `json:"kernel" jsonschema:"name"`
}

// Meta implements [Data].
func (JupyterReady) Meta() Meta { return Meta{"session.jupyter_ready", KindDone} }

// InterpreterPreparing says that the Python of a shell session is prepared.
type InterpreterPreparing struct {
	Loading []string `json:"loading,omitempty" jsonschema:"variables that models are loaded into"`
}

// Meta implements [Data].
func (InterpreterPreparing) Meta() Meta { return Meta{"session.interpreter_preparing", KindStep} }

// CodeServerStarting says that VS Code starts.
type CodeServerStarting struct{}

// Meta implements [Data].
func (CodeServerStarting) Meta() Meta { return Meta{"session.vscode_starting", KindStep} }

// CodeServerReady says that VS Code can be used.
type CodeServerReady struct {
	Port int `json:"port" jsonschema:"in the sandbox"`
}

// Meta implements [Data].
func (CodeServerReady) Meta() Meta { return Meta{"session.vscode_ready", KindDone} }

// HiddenSearchStarted says that the sandbox is searched for names of hidden models.
type HiddenSearchStarted struct{}

// Meta implements [Data].
func (HiddenSearchStarted) Meta() Meta { return Meta{"session.hidden_search_started", KindStep} }

// HiddenSearchFinished says that no name was found.
type HiddenSearchFinished struct {
	In         string   `json:"in" jsonschema:"what was searched"`
	Unsearched []string `json:"unsearched,omitempty" jsonschema:"what was not searched"`
}

// Meta implements [Data].
func (HiddenSearchFinished) Meta() Meta { return Meta{"session.hidden_search_finished", KindDone} }

// HiddenUnsearched says that not all of something was searched for names of hidden models.
type HiddenUnsearched struct {
	In string `json:"in"`
}

// Meta implements [Data].
func (HiddenUnsearched) Meta() Meta { return Meta{"session.hidden_unsearched", KindWarning} }

// HiddenNotIsolated says that a hidden model is not hidden, because nothing confines the agent.
type HiddenNotIsolated struct {
	Field string `json:"field" jsonschema:"of the experiment: isolation or agent.isolation"`
}

// Meta implements [Data].
func (HiddenNotIsolated) Meta() Meta { return Meta{"session.hidden_not_isolated", KindWarning} }
