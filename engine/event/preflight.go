package event

// PreflightStarted is the first event of a start: the experiment is checked.
type PreflightStarted struct {
	step
	Experiment string `json:"experiment" jsonschema:"its name"`
}

// PreflightAccount names an account that will be charged.
type PreflightAccount struct {
	step
	Provider    string   `json:"provider"`
	Credentials []string `json:"credentials,omitempty" jsonschema:"where the credentials come from, never what they are; empty = none are used"`
}

// PreflightWarning is a warning of the checks or of the plan.
type PreflightWarning struct {
	warning
	Message string `json:"message"`
	Advice
}

// PluginPreparing says that a plugin is compiled, once for this computer.
type PluginPreparing struct {
	step
	Plugin string `json:"plugin" jsonschema:"ID"`
}

// PluginTrying is a check of a plugin that its author tries.
type PluginTrying struct {
	step
	Check string `json:"check,omitempty" jsonschema:"name of the check; empty = all begin"`
}

// FixStarted says that something which this computer lacks is installed.
type FixStarted struct {
	step
	Name    string `json:"name" jsonschema:"what is installed"`
	Problem string `json:"problem" jsonschema:"why"`
}

// FixWaiting says that another program installs, and this one waits.
type FixWaiting struct{ step }

// FixFinished says that something was installed.
type FixFinished struct {
	done
	Name string `json:"name"`
}
