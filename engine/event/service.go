package event

// ServiceLoading says that an interface is loaded.
type ServiceLoading struct {
	File    string `json:"file"`
	Service string `json:"service" jsonschema:"name"`
}

// Meta implements [Data].
func (ServiceLoading) Meta() Meta { return Meta{"service.loading", KindStep} }

// ServiceReady says that functions can be called.
type ServiceReady struct {
	Service   string `json:"service" jsonschema:"name"`
	Functions int    `json:"functions" jsonschema:"how many"`
}

// Meta implements [Data].
func (ServiceReady) Meta() Meta { return Meta{"service.ready", KindDone} }

// CallQueued says that a call waits.
type CallQueued struct {
	Position int `json:"position" jsonschema:"calls that go first"`
}

// Meta implements [Data].
func (CallQueued) Meta() Meta { return Meta{"call.queued", KindStep} }
