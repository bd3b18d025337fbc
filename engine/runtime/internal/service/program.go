package service

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/seer-engine/seer/internal/osfile"
)

//go:embed start_worker.py
var startWorker string

// Program is the worker's program in a file that has no name and, where the system
// can do that, cannot be changed. Code on the machine can write to every folder that the
// runtime can write to, so the program is in none.
type Program struct {
	Files          fs.FS
	Entry          string // the file to start
	Compiled       string // a ZIP file with bytecode; it may be missing
	CompiledSHA256 string // hex; a file with another one is not used
	Dir            string // where the file lies if the system keeps none in memory
	Log            *slog.Logger
	Writable       bool // tests leave everything open to changes

	mu   sync.Mutex
	file *os.File
	run  string // the Python that starts what is in the file
}

// module is one file of the worker: where its source and its bytecode are.
type module struct {
	Path    string  `json:"path"`
	Package bool    `json:"package"`
	Source  [2]int  `json:"source"`
	Code    *[2]int `json:"code,omitempty"`
}

// load returns the file and the Python that starts it. The first worker makes it.
func (c *Program) load() (*os.File, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil {
		return c.file, c.run, nil
	}
	compiled, err := readCompiled(c.Compiled, c.CompiledSHA256, !c.Writable)
	if err != nil {
		c.Log.Warn("the worker is compiled anew", "error", err)
	}
	data, run, err := packWorker(c.Files, c.Entry, compiled)
	if err != nil {
		return nil, "", err
	}
	f, err := osfile.Sealed(c.Dir, data, !c.Writable)
	if err != nil {
		return nil, "", err
	}
	c.file, c.run = f, run
	return f, run, nil
}

// Close lets go of the file. Workers that run keep it.
func (c *Program) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil {
		c.file.Close()
	}
}

// packWorker puts the program that starts a worker, an index and the worker's files one
// after the other.
func packWorker(files fs.FS, entry string, compiled map[string][]byte) (data []byte, run string, err error) {
	modules, blob := map[string]*module{}, []byte(nil)
	add := func(part []byte) [2]int {
		at := len(blob)
		blob = append(blob, part...)
		return [2]int{at, len(part)}
	}
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".py" {
			return err
		}
		source, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		m := &module{Path: name, Package: path.Base(name) == "__init__.py", Source: add(source)}
		if code := compiled[strings.TrimSuffix(name, ".py")]; code != nil {
			at := add(code)
			m.Code = &at
		}
		modules[moduleName(name)] = m
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	index, err := json.Marshal(modules)
	if err != nil {
		return nil, "", err
	}
	data = bytes.Join([][]byte{[]byte(startWorker), index, blob}, nil)
	run = fmt.Sprintf("import os;exec(os.pread(%d,%d,0));start(%q,%d,%d)", ProgramFD, len(startWorker), moduleName(entry), len(startWorker), len(index))
	return data, run, nil
}

// moduleName is a/b for a/b.py, with dots, and a for a/__init__.py.
func moduleName(file string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(file, ".py"), "/__init__")
	return strings.ReplaceAll(name, "/", ".")
}

const maxCompiled = 64 << 20

// readCompiled reads the bytecode of the worker: file without .py → .pyc. The archive is
// in a folder that code on the machine can write to, so it counts only with the SHA-256
// that the machine was started with. Without bytecode, Python compiles each worker anew.
func readCompiled(archive, want string, check bool) (map[string][]byte, error) {
	if archive == "" || want == "" {
		return nil, nil
	}
	f, err := os.Open(archive)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCompiled))
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); check && hex.EncodeToString(sum[:]) != want {
		return nil, fmt.Errorf("%s was changed: it has not the SHA-256 %s", archive, want)
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, file := range r.File {
		dir, name := path.Split(file.Name)
		name, _, _ = strings.Cut(name, ".") // module.cpython-312.pyc
		if out[path.Join(path.Dir(path.Clean(dir)), name)], err = fs.ReadFile(r, file.Name); err != nil {
			return nil, err
		}
	}
	return out, nil
}
