package protocol

// LoaderInfo is what a machine's loader says about itself.
type LoaderInfo struct {
	Loader  int      `json:"loader"`  // version of the conversation
	Arch    string   `json:"arch"`    // as uname -m says: x86_64, aarch64, arm64
	System  string   `json:"system"`  // as uname -s says: Linux, Darwin
	Have    []string `json:"have"`    // digests of the runtimes in its cache
	Started bool     `json:"started"` // the runtime runs already, and answers this itself
}
