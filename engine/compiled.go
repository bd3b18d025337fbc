package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/python"
	"github.com/seer-engine/seer/engine/state"
)

// compiledWorker is the bytecode of the worker for local sandboxes, which would each
// compile it anew: they cannot share what they may write to. It is made once for an
// interpreter. Without it they only start later.
func (e *Engine) compiledWorker(ctx context.Context, with isolation.Interpreter) map[string]string {
	name := python.CompiledName()
	dir, err := e.store.Cache("worker")
	if err != nil || with.Executable == "" {
		return nil
	}
	file := filepath.Join(dir, interpreterMark(with.Executable)+"-"+name)
	if _, err := os.Stat(file); err == nil {
		return map[string]string{name: file}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	data, err := python.Compile(ctx, with.Executable)
	if err == nil {
		err = state.WriteFile(file, data, 0o600)
	}
	if err != nil {
		e.log.Debug("the worker is not compiled in advance", "error", err)
		return nil
	}
	return map[string]string{name: file}
}

// interpreterMark changes with the interpreter.
func interpreterMark(path string) string {
	text := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		text += real
		if info, err := os.Stat(real); err == nil {
			text += info.ModTime().String()
		}
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
