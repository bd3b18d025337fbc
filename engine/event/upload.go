package event

// UploadStarted says that a model, a file or a folder is sent to the machine.
type UploadStarted struct {
	From string `json:"from" jsonschema:"name of a model, or a path on this computer"`
	To   string `json:"to" jsonschema:"path in the sandbox"`
}

// Meta implements [Data].
func (UploadStarted) Meta() Meta { return Meta{"upload.started", KindStep} }

// UploadIncomplete says that files disappeared while they were sent.
type UploadIncomplete struct {
	Path   string `json:"path" jsonschema:"on this computer"`
	Reason string `json:"reason"`
}

// Meta implements [Data].
func (UploadIncomplete) Meta() Meta { return Meta{"upload.incomplete", KindWarning} }
