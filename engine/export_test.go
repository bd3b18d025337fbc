package engine

// SwitchOff switches defences of builds off, to show that attacks succeed then.
func (e *Engine) SwitchOff() {
	e.starter.Builder.Undefended = true
}

// Unguard switches off, for the controls of attacks, what asks for confirmations and
// signatures.
func (e *Engine) Unguard() { e.guard.Undefended = true }

// SearchNothing switches the search for names of hidden models off.
func (e *Engine) SearchNothing() { e.starter.Unsearched = true }

// NameFoldersByContent names the folders of blinded models by a hash of what they are.
func (e *Engine) NameFoldersByContent() {
	e.starter.Copies.Folder = func(key string) string { return key }
}
