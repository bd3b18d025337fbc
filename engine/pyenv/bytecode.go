package pyenv

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

// Worker is the bytecode of the worker for local sandboxes, which would each
// compile it anew: they cannot share what they may write to. It is made once for an
// interpreter. Without it they only start later.
func (f *Finder) Worker(ctx context.Context, with isolation.Interpreter) map[string]string {
	name := python.CompiledName()
	file := f.compiled(ctx, with, name, python.Compile)
	if file == "" {
		return nil
	}
	return map[string]string{name: file}
}

// Notebook is the bytecode of the notebook service for the usual interpreter, a ZIP
// file; nil where it cannot be made.
func (f *Finder) Notebook(ctx context.Context) []byte {
	with, err := f.Default()
	if err != nil {
		return nil
	}
	file := f.compiled(ctx, with, python.CompiledNotebookName(), python.CompileNotebook)
	if file == "" {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		f.o.Logger.Debug("the notebook service is not compiled in advance", "error", err)
		return nil
	}
	return data
}

// compiled is the file of that name for an interpreter; empty where it cannot be made.
func (f *Finder) compiled(ctx context.Context, with isolation.Interpreter, name string, compile func(context.Context, string) ([]byte, error)) string {
	dir, err := f.o.Store.Cache("worker")
	if err != nil || with.Executable == "" {
		return ""
	}
	file := filepath.Join(dir, interpreterMark(with.Executable)+"-"+name)
	if _, err := os.Stat(file); err == nil {
		return file
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	data, err := compile(ctx, with.Executable)
	if err == nil {
		err = state.WriteFile(file, data, 0o600)
	}
	if err != nil {
		f.o.Logger.Debug("it is not compiled in advance", "file", name, "error", err)
		return ""
	}
	return file
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
