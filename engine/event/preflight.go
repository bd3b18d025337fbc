package event

// PreflightStarted is the first event of a start: the experiment is checked.
type PreflightStarted struct {
	Experiment string `json:"experiment" jsonschema:"its name"`
}

// Meta implements [Data].
func (PreflightStarted) Meta() Meta { return Meta{"preflight.started", KindStep} }

// PreflightAccount names an account that will be charged.
type PreflightAccount struct {
	Provider    string   `json:"provider"`
	Credentials []string `json:"credentials,omitempty" jsonschema:"where the credentials come from, never what they are; empty = none are used"`
}

// Meta implements [Data].
func (PreflightAccount) Meta() Meta { return Meta{"preflight.account", KindStep} }

// PreflightWarning is a warning of the checks or of the plan.
type PreflightWarning struct {
	Message string `json:"message"`
	Advice
}

// Meta implements [Data].
func (PreflightWarning) Meta() Meta { return Meta{"preflight.warning", KindWarning} }

// PluginPreparing says that a plugin is compiled, once for this computer.
type PluginPreparing struct {
	Plugin string `json:"plugin" jsonschema:"ID"`
}

// Meta implements [Data].
func (PluginPreparing) Meta() Meta { return Meta{"plugin.preparing", KindStep} }

// PluginTrying is a check of a plugin that its author tries.
type PluginTrying struct {
	Check string `json:"check,omitempty" jsonschema:"name of the check; empty = all begin"`
}

// Meta implements [Data].
func (PluginTrying) Meta() Meta { return Meta{"plugin.trying", KindStep} }
