package event

// FixStarted says that something which this computer lacks is installed.
type FixStarted struct {
	Name    string `json:"name" jsonschema:"what is installed"`
	Problem string `json:"problem" jsonschema:"why"`
}

// Meta implements [Data].
func (FixStarted) Meta() Meta { return Meta{"fix.started", KindStep} }

// FixWaiting says that another program installs, and this one waits.
type FixWaiting struct{}

// Meta implements [Data].
func (FixWaiting) Meta() Meta { return Meta{"fix.waiting", KindStep} }

// FixFinished says that something was installed.
type FixFinished struct {
	Name string `json:"name"`
}

// Meta implements [Data].
func (FixFinished) Meta() Meta { return Meta{"fix.finished", KindDone} }
