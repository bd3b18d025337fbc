package engine

import "github.com/seer-engine/seer/engine/isolation"

// Python is the interpreter of local sandboxes.
func (e *Engine) Python() (isolation.Interpreter, error) {
	p, err := e.python.Default()
	return p, as(KindConfig, err)
}
