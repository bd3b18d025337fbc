package isolation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Interpreter is a Python that sandboxes can use.
type Interpreter struct {
	Executable string   `json:"executable"` // what to run, inside as well as outside
	Version    string   `json:"version"`    // 3.11.2
	Paths      []string `json:"paths"`      // what must be visible, beyond the system's tree, for it to work
}

const pythonLimit = 20 * time.Second

// SystemPython is the interpreter that is used where none is named and it exists.
const SystemPython = "/usr/bin/python3"

// Python finds the interpreter that sandboxes use: SEER_PYTHON, else
// [SystemPython], else python3 in the PATH. It must be Python 3.8 or newer.
func Python(ctx context.Context, lookup func(string) string) (Interpreter, error) {
	if asked := lookup("SEER_PYTHON"); asked != "" {
		path := asked
		if !strings.Contains(asked, "/") {
			found, err := lookPath(asked, lookup("PATH"))
			if err != nil {
				return Interpreter{}, sdk.Errorf(sdk.NotFound, "SEER_PYTHON is %q, which is not in the PATH", asked)
			}
			path = found
		}
		return inspect(ctx, path, lookup)
	}
	if _, err := os.Stat(SystemPython); err == nil {
		return inspect(ctx, SystemPython, lookup)
	}
	path, err := lookPath("python3", lookup("PATH"))
	if err != nil {
		return Interpreter{}, sdk.Errorf(sdk.NotFound, "there is no python3; install it (apt-get install python3) or name one in SEER_PYTHON")
	}
	return inspect(ctx, path, lookup)
}

// probe runs with -I, as the workers do, so that it sees exactly their modules.
const probe = `import json,os,sys,sysconfig
p=sysconfig.get_paths()
print(json.dumps({"executable":sys.executable,"version":"%d.%d.%d"%sys.version_info[:3],
"paths":[sys.prefix,sys.exec_prefix,sys.base_prefix,sys.base_exec_prefix,p["stdlib"],p["platstdlib"]]}))`

func inspect(ctx context.Context, path string, lookup func(string) string) (Interpreter, error) {
	var found Interpreter
	out, err := runPython(ctx, path, probe, lookup)
	if err != nil {
		return found, sdk.Errorf(sdk.Invalid, "the Python %s does not work: %v; name another one in SEER_PYTHON", path, err)
	}
	if err := json.Unmarshal(out, &found); err != nil || !filepath.IsAbs(found.Executable) {
		return found, sdk.Errorf(sdk.Invalid, "%s does not answer like a Python; name another one in SEER_PYTHON", path)
	}
	if tooOld(found.Version) {
		return found, sdk.Errorf(sdk.Unsupported, "%s is Python %s, and Seer needs 3.8 or newer; name another one in SEER_PYTHON", path, found.Version)
	}
	found.Paths, err = visiblePaths(found.Executable, found.Paths, lookup("HOME"))
	return found, err
}

// SearchPath is the PATH of what runs beside this interpreter.
func (i Interpreter) SearchPath() string {
	return filepath.Dir(i.Executable) + ":/usr/local/bin:/usr/bin:/bin"
}

func tooOld(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return true
	}
	return major < 3 || major == 3 && minor < 8
}

// visiblePaths reduces the prefixes of a Python and the links that lead to its
// executable to the few paths that have to be shown.
func visiblePaths(executable string, prefixes []string, home string) ([]string, error) {
	var out []string
	for _, p := range prefixes {
		p = filepath.Clean(p)
		switch {
		case contains(p, home):
			return nil, sdk.Errorf(sdk.Unsupported, "the Python %s is installed in %s itself, and showing that folder would show everything in it; "+
				"name another one in SEER_PYTHON", executable, p)
		case !covered(out, p):
			out = append(out, p)
		}
	}
	for hop, n := executable, 0; n < 40; n++ {
		if !covered(out, hop) {
			out = append(out, hop)
		}
		target, err := os.Readlink(hop)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(hop), target)
		}
		hop = target
	}
	if real, err := filepath.EvalSymlinks(executable); err == nil && !covered(out, real) {
		out = append(out, real)
	}
	return out, nil
}

// contains reports whether a folder has the home, or everything, in it.
func contains(folder, home string) bool {
	if folder == "/" || home == "" {
		return folder == "/"
	}
	return strings.HasPrefix(filepath.Clean(home)+"/", folder+"/")
}

func covered(paths []string, path string) bool {
	if underSystem(path) {
		return true
	}
	for _, p := range paths {
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

// runPython hands on only what a launcher such as pyenv needs to find its own
// installation.
func runPython(ctx context.Context, path, code string, lookup func(string) string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, pythonLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-I", "-c", code)
	cmd.WaitDelay = time.Second
	env := map[string]string{}
	for _, name := range []string{"PATH", "HOME", "PYENV_ROOT", "PYENV_VERSION"} {
		if value := lookup(name); value != "" {
			env[name] = value
		}
	}
	cmd.Env = environ(env)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		return out, nil
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("it did not answer: %w", ctx.Err())
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return nil, fmt.Errorf("%w: %s", err, last)
	}
	return nil, err
}
