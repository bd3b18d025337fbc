package event

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
