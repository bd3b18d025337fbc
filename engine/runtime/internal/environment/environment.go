// Package environment has what processes of the machine find around them: variables, folders
// and programs.
package environment

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/portforward"
	"github.com/seer-engine/seer/engine/runtime/internal/redact"
	"github.com/seer-engine/seer/engine/runtime/loader"
)

// Variables by which everything that was started on a machine is found again,
// even when it has left its parent, group and session.
const (
	MachineVariable = "SEER_MACHINE"
	ProcessVariable = "SEER_PROCESS"
)

// CheckConfig refuses what would fail later or leak.
func CheckConfig(cfg protocol.Config) error {
	for name, value := range cfg.Secrets {
		if !validName(name) {
			return protocol.Errorf(protocol.Invalid, "the secret %q is not a valid name for a variable", name)
		}
		if len(value) < redact.MinLength {
			return protocol.Errorf(protocol.Invalid, "the secret %s is shorter than %d bytes and could not be kept out of outputs", name, redact.MinLength)
		}
		if strings.ContainsRune(value, 0) {
			return protocol.Errorf(protocol.Invalid, "the secret %s contains a zero byte", name)
		}
	}
	return CheckVariables(cfg.Env)
}

// CheckVariables refuses names and values that no process can have.
func CheckVariables(env map[string]string) error {
	for name, value := range env {
		if !validName(name) || strings.ContainsRune(value, 0) {
			return protocol.Errorf(protocol.Invalid, "the variable %q has no valid name or contains a zero byte", name)
		}
	}
	return nil
}

func validName(name string) bool { return name != "" && !strings.ContainsAny(name, "=\x00") }

// Env is what the processes of the machine find around them. It also says which processes
// are the machine's.
type Env struct {
	Machine       string                 // value of SEER_MACHINE; empty = the machine has no name
	DefaultPython string                 // the interpreter, where the configuration names none
	Roots         map[string]string      // well-known folder → real one
	Forward       *portforward.Config    // nil = the network is the computer's
	Exclusive     bool                   // everything below the parent of this program is the machine's
	Config        func() protocol.Config // the present configuration
}

// CookieOf is by what the processes of an id are known, wherever they have gone. Ids are
// chosen, and another machine of this computer may have the same one in view.
func (e *Env) CookieOf(id string) string {
	cookie := ProcessVariable + "=" + id
	if e.Machine != "" {
		cookie += "\x00" + e.Cookie()
	}
	return cookie
}

// Cookie is the variable that everything on the machine was started with; empty where the
// machine has no name.
func (e *Env) Cookie() string {
	if e.Machine == "" {
		return ""
	}
	return MachineVariable + "=" + e.Machine
}

// TopPID is the process below which everything belongs to the machine.
func (e *Env) TopPID() int {
	if e.Exclusive {
		return os.Getppid() // the loader: orphans are its children
	}
	return os.Getpid()
}

// Python is the interpreter of services.
func (e *Env) Python(cfg protocol.Config) string {
	return cmp.Or(cfg.Python, e.DefaultPython, "python3")
}

// Path translates a path of a request; a relative one begins at the working
// folder, and ~/ is the home of processes.
func (e *Env) Path(p string) string {
	if p == "~" || strings.HasPrefix(p, "~/") {
		return filepath.Join(e.Home(), p[1:]) // as processes have it: nothing stands for another folder in it
	}
	if !filepath.IsAbs(p) {
		return filepath.Join(e.Workdir(e.Config()), p)
	}
	return e.Real(p)
}

// Variables is what every process gets; further maps win over it.
func (e *Env) Variables(cfg protocol.Config, cookie string, more ...map[string]string) []string {
	env := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	delete(env, loader.BootVariable)
	delete(env, portforward.Variable)
	maps.Copy(env, e.Forward.Environment())
	maps.Copy(env, cfg.Env)
	for _, m := range slices.Concat(cfg.Models, cfg.Datasets) {
		if m.EnvName != "" {
			env[m.EnvName] = e.Real(m.Path)
		}
	}
	maps.Copy(env, cfg.Secrets)
	for _, m := range more {
		maps.Copy(env, m)
	}
	if e.Machine != "" {
		env[MachineVariable] = e.Machine
	}
	env[ProcessVariable] = cookie
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// Real translates a path of the machine to where it really is.
func (e *Env) Real(path string) string {
	path = filepath.Clean(path)
	for root, dir := range e.Roots {
		if rest, ok := strings.CutPrefix(path, root); ok && (rest == "" || rest[0] == '/') {
			return filepath.Join(dir, rest)
		}
	}
	return path
}

// Home is the home of processes.
func (e *Env) Home() string {
	home := e.Config().Env["HOME"]
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil || home == "" {
			home = "/root"
		}
	}
	return home
}

// Workdir is the folder where processes start and relative paths begin.
func (e *Env) Workdir(cfg protocol.Config) string {
	if cfg.Workdir != "" {
		return e.Real(cfg.Workdir)
	}
	dir := e.Real("/workspace")
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir
	}
	return "/"
}

// LookPath finds a program by the PATH that the process will have.
func LookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, nil
	}
	path := "/usr/local/bin:/usr/bin:/bin"
	for _, pair := range env {
		if value, ok := strings.CutPrefix(pair, "PATH="); ok {
			path = value
		}
	}
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		if found, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return found, nil
		}
	}
	if strings.ContainsAny(name, " \t") {
		return "", protocol.Errorf(protocol.NotFound, "there is no program %q on the machine; give its words one by one, or a line of shell as: sh -c %q", name, name)
	}
	return "", protocol.Errorf(protocol.NotFound, "there is no program %q on the machine (PATH is %s)", name, path)
}

// Describe is a configuration without the values of secrets.
func (e *Env) Describe(cfg protocol.Config) protocol.ConfigInfo {
	info := protocol.ConfigInfo{Env: cfg.Env, Models: cfg.Models, Datasets: cfg.Datasets, Python: e.Python(cfg), Workdir: cfg.Workdir,
		Price: cfg.Price, Secrets: slices.Sorted(maps.Keys(cfg.Secrets))}
	if info.Env == nil {
		info.Env = map[string]string{}
	}
	if info.Models == nil {
		info.Models = []protocol.Model{}
	}
	if info.Datasets == nil {
		info.Datasets = []protocol.Model{}
	}
	if info.Secrets == nil {
		info.Secrets = []string{}
	}
	return info
}

// NewID makes an id for a process or a call.
func NewID() string {
	var b [8]byte
	rand.Read(b[:])
	return "p-" + hex.EncodeToString(b[:])
}
