package runtime

import (
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
	machineVariable = "SEER_MACHINE"
	processVariable = "SEER_PROCESS"
)

// checkConfig refuses what would fail later or leak.
func checkConfig(cfg protocol.Config) error {
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
	return checkEnv(cfg.Env)
}

func checkEnv(env map[string]string) error {
	for name, value := range env {
		if !validName(name) || strings.ContainsRune(value, 0) {
			return protocol.Errorf(protocol.Invalid, "the variable %q has no valid name or contains a zero byte", name)
		}
	}
	return nil
}

func validName(name string) bool { return name != "" && !strings.ContainsAny(name, "=\x00") }

// cookieOf is by what the processes of an id are known, wherever they have gone. Ids are
// chosen, and another machine of this computer may have the same one in view.
func (s *Server) cookieOf(id string) string {
	cookie := processVariable + "=" + id
	if s.options.Machine != "" {
		cookie += "\x00" + machineVariable + "=" + s.options.Machine
	}
	return cookie
}

// environment is what every process gets; further maps win over it.
func (s *Server) environment(cfg protocol.Config, cookie string, more ...map[string]string) []string {
	env := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	delete(env, loader.BootVariable)
	delete(env, portforward.Variable)
	maps.Copy(env, s.options.Forward.Environment())
	maps.Copy(env, cfg.Env)
	for _, m := range cfg.Models {
		if m.EnvName != "" {
			env[m.EnvName] = s.real(m.Path)
		}
	}
	maps.Copy(env, cfg.Secrets)
	for _, m := range more {
		maps.Copy(env, m)
	}
	if s.options.Machine != "" {
		env[machineVariable] = s.options.Machine
	}
	env[processVariable] = cookie
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// real translates a path of the machine to where it really is.
func (s *Server) real(path string) string {
	path = filepath.Clean(path)
	for root, dir := range s.options.Roots {
		if rest, ok := strings.CutPrefix(path, root); ok && (rest == "" || rest[0] == '/') {
			return filepath.Join(dir, rest)
		}
	}
	return path
}

// home is the home of processes.
func (s *Server) home() string {
	home := s.config().Env["HOME"]
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil || home == "" {
			home = "/root"
		}
	}
	return home
}

// workdir is the folder where processes start and relative paths begin.
func (s *Server) workdir(cfg protocol.Config) string {
	if cfg.Workdir != "" {
		return s.real(cfg.Workdir)
	}
	dir := s.real("/workspace")
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir
	}
	return "/"
}

// lookPath finds a program by the PATH that the process will have.
func lookPath(name, dir string, env []string) (string, error) {
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

// configInfo leaves the values of secrets out.
func configInfo(cfg protocol.Config, s *Server) protocol.ConfigInfo {
	info := protocol.ConfigInfo{Env: cfg.Env, Models: cfg.Models, Python: s.python(cfg), Workdir: cfg.Workdir,
		Secrets: slices.Sorted(maps.Keys(cfg.Secrets))}
	if info.Env == nil {
		info.Env = map[string]string{}
	}
	if info.Models == nil {
		info.Models = []protocol.Model{}
	}
	if info.Secrets == nil {
		info.Secrets = []string{}
	}
	return info
}
