package engine

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// Python is the interpreter of local sandboxes.
func (e *Engine) Python() (isolation.Interpreter, error) {
	p, err := e.python()
	return p, as(KindConfig, err)
}

// findPython asks the interpreter what it is, or remembers what it has said: the
// asking takes longer than a bare start of the sandbox.
func (e *Engine) findPython() (isolation.Interpreter, error) { return e.inspect(e.pythonVariable) }

// interpreter is the Python of a machine: the usual one, or the one at path.
func (e *Engine) interpreter(path string) (isolation.Interpreter, error) {
	if path == "" {
		return e.python()
	}
	return e.inspect(func(name string) string {
		if name == "SEER_PYTHON" {
			return path
		}
		return e.getenv(name)
	})
}

func (e *Engine) inspect(variable func(string) string) (isolation.Interpreter, error) {
	note := e.pythonNote(variable)
	if known, ok := readPython(note); ok {
		return known, nil
	}
	found, err := isolation.Python(context.Background(), variable)
	if err == nil && note != "" {
		if data, err := json.Marshal(found); err == nil {
			_ = state.WriteFile(note, data, 0o600) // only spares the next asking
		}
	}
	return found, err
}

func (e *Engine) pythonVariable(name string) string {
	if name == "SEER_PYTHON" && e.opts.Python != "" {
		return e.opts.Python
	}
	return e.getenv(name)
}

func readPython(note string) (isolation.Interpreter, bool) {
	var p isolation.Interpreter
	data, err := os.ReadFile(note)
	if err != nil || json.Unmarshal(data, &p) != nil || p.Executable == "" {
		return p, false
	}
	return p, true
}

// pythonNote names the file that remembers the interpreter, by everything that
// its answer depends on. It is empty where that cannot be known: a launcher such as
// pyenv's is a script, which decides anew each time.
func (e *Engine) pythonNote(variable func(string) string) string {
	path := variable("SEER_PYTHON")
	if path == "" {
		path = isolation.SystemPython
	}
	if !filepath.IsAbs(path) {
		return ""
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !isProgram(real) {
		return ""
	}
	key := sha256.New()
	fmt.Fprintf(key, "1\n%s\n%s\n%s\n", path, real, e.getenv("HOME")) // the home must not be shown
	for _, file := range []string{path, real, filepath.Join(filepath.Dir(path), "pyvenv.cfg"), filepath.Join(filepath.Dir(filepath.Dir(path)), "pyvenv.cfg")} {
		if info, err := os.Lstat(file); err == nil {
			fmt.Fprintf(key, "%s %d %d %s\n", file, info.Size(), info.ModTime().UnixNano(), info.Mode())
		}
	}
	dir, err := e.store.Cache("python")
	if err != nil {
		return ""
	}
	return filepath.Join(dir, hex.EncodeToString(key.Sum(nil))[:32]+".json")
}

func isProgram(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// shown are the folders of an interpreter that a machine must see, beyond the system's.
func shown(i isolation.Interpreter, c plan.Choice) []sdk.Mount {
	var mounts []sdk.Mount
	for _, path := range i.Paths {
		if layered(c) && !strings.HasPrefix(path, "/usr/") {
			mounts = append(mounts, sdk.Mount{Source: path, Target: path})
		}
	}
	return mounts
}
