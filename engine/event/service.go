package event

// ServiceLoading says that an interface is loaded.
type ServiceLoading struct {
	step
	File    string `json:"file"`
	Service string `json:"service" jsonschema:"name"`
}

// ServiceReady says that functions can be called.
type ServiceReady struct {
	done
	Service   string `json:"service" jsonschema:"name"`
	Functions int    `json:"functions" jsonschema:"how many"`
}

// CallQueued says that a call waits.
type CallQueued struct {
	step
	Position int `json:"position" jsonschema:"calls that go first"`
}
