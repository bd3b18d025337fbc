package event

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
