package mcp

// ShowRaw leaves texts as the sandbox made them, for the controls of attacks.
func (o *Options) ShowRaw() { o.raw = true }
