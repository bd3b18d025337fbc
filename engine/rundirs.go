package engine

import "github.com/seer-engine/seer/engine/state"

// AgentDir makes a private folder on disk for what gVisor keeps of an agent that this
// program runs. Whoever made it calls [Engine.RemoveAgentDir]; what programs that were
// killed have left is removed by the next call.
func (e *Engine) AgentDir() (string, error) {
	dir, err := e.store.AgentDir()
	return dir, as(KindInternal, err)
}

// RemoveAgentDir removes a folder of [Engine.AgentDir].
func (e *Engine) RemoveAgentDir(dir string) error { return as(KindInternal, state.RemoveAll(dir)) }

// RelayDir makes a private folder with a short path for the socket through which an
// agent of this computer reaches a sandbox elsewhere. Whoever made it removes it;
// after a crash, [Engine.GC] does, once the sandbox has ended.
func (e *Engine) RelayDir(sandbox string) (string, error) {
	dir, err := e.store.RelayDir(sandbox)
	return dir, as(KindInternal, err)
}

// PortRelayDir is [Engine.RelayDir] for a socket that leads to a port of the sandbox.
func (e *Engine) PortRelayDir(sandbox string, port int) (string, error) {
	dir, err := e.store.PortRelayDir(sandbox, port)
	return dir, as(KindInternal, err)
}

// PageDir is a private folder for the file that leads a browser to a page of the sandbox.
// [Sandbox.Terminate] removes it, or else [Engine.GC] once the sandbox has ended.
func (e *Engine) PageDir(sandbox string) (string, error) {
	dir, err := e.store.PageDir(sandbox)
	return dir, as(KindInternal, err)
}

// ReplayDir makes a private folder with a short path for the socket of a record that
// this program replays. Whoever made it removes it; after a crash, [Engine.GC] does.
func (e *Engine) ReplayDir() (string, error) {
	dir, err := e.store.ReplayDir()
	return dir, as(KindInternal, err)
}
