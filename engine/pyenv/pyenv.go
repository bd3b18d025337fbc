// Package pyenv finds the Python interpreters of this computer, remembers what they
// said of themselves, and compiles Seer's own Python for them.
package pyenv

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/state"
)

// Options say what a [Finder] works with.
type Options struct {
	Store  *state.Store        // its cache remembers what interpreters said
	Getenv func(string) string // the environment of this computer
	Python string              // the usual interpreter; empty = as [isolation.Python] finds it
	Logger hclog.Logger
}

// Finder finds interpreters. It is safe for concurrent use.
type Finder struct {
	o       Options
	regular func() (isolation.Interpreter, error) // found once, on first use
}

// New makes a finder. It looks for nothing yet.
func New(o Options) *Finder {
	f := &Finder{o: o}
	f.regular = sync.OnceValues(func() (isolation.Interpreter, error) { return f.inspect(f.variable) })
	return f
}

// Default is the usual interpreter. The interpreter is asked once in the life of its
// files: asking takes longer than a bare start of a sandbox.
func (f *Finder) Default() (isolation.Interpreter, error) { return f.regular() }

// At is the interpreter at path; empty = the usual one.
func (f *Finder) At(path string) (isolation.Interpreter, error) {
	if path == "" {
		return f.Default()
	}
	return f.inspect(func(name string) string {
		if name == "SEER_PYTHON" {
			return path
		}
		return f.o.Getenv(name)
	})
}

func (f *Finder) inspect(variable func(string) string) (isolation.Interpreter, error) {
	note := f.note(variable)
	if known, ok := readNote(note); ok {
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

func (f *Finder) variable(name string) string {
	if name == "SEER_PYTHON" && f.o.Python != "" {
		return f.o.Python
	}
	return f.o.Getenv(name)
}

func readNote(note string) (isolation.Interpreter, bool) {
	var p isolation.Interpreter
	data, err := os.ReadFile(note)
	if err != nil || json.Unmarshal(data, &p) != nil || p.Executable == "" {
		return p, false
	}
	return p, true
}

// note names the file that remembers the interpreter, by everything that
// its answer depends on. It is empty where that cannot be known: a launcher such as
// pyenv's is a script, which decides anew each time.
func (f *Finder) note(variable func(string) string) string {
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
	fmt.Fprintf(key, "1\n%s\n%s\n%s\n", path, real, f.o.Getenv("HOME")) // the home must not be shown
	for _, file := range []string{path, real, filepath.Join(filepath.Dir(path), "pyvenv.cfg"), filepath.Join(filepath.Dir(filepath.Dir(path)), "pyvenv.cfg")} {
		if info, err := os.Lstat(file); err == nil {
			fmt.Fprintf(key, "%s %d %d %s\n", file, info.Size(), info.ModTime().UnixNano(), info.Mode())
		}
	}
	dir, err := f.o.Store.Cache("python")
	if err != nil {
		return ""
	}
	return filepath.Join(dir, hex.EncodeToString(key.Sum(nil))[:32]+".json")
}

func isProgram(path string) bool {
	file, err := elf.Open(path)
	if err != nil {
		return false
	}
	file.Close()
	return true
}
