package experiment

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const maxName = 63 // of an experiment; it becomes part of machine names

// validator collects what is wrong with a completed experiment.
type validator struct {
	exp  *Experiment
	errs Errors
}

// check finds every mistake that can be found without looking outside.
func (e *Experiment) check() Errors {
	v := &validator{exp: e}
	if !validName(e.Name) {
		v.fail("name", quote(e.Name)+" is not a name", "use letters, digits, `.`, `_` and `-`, at most 63, beginning with a letter or digit")
	}
	v.models()
	v.datasets()
	v.environment("sandbox.env", e.Sandbox.Env)
	v.secrets("sandbox.secrets", v.exp.Sandbox.Secrets, v.exp.Sandbox.Env)
	v.pairs("sandbox.local_files", e.Sandbox.LocalFiles)
	v.pairs("sandbox.local_dirs", e.Sandbox.LocalDirs)
	v.machine()
	v.rent()
	v.image()
	v.volumes()
	v.serve()
	v.paths()
	v.agent()
	v.session()
	return v.errs
}

func (v *validator) fail(at, message, hint string) {
	v.errs = append(v.errs, v.exp.Errorf(at, message, hint))
}

func (v *validator) environment(at string, env map[string]string) {
	for _, name := range sortedKeys(env) {
		if problem, hint := badVariable(name); problem != "" {
			v.fail(at+"."+name, problem, hint)
		} else if strings.ContainsRune(env[name], 0) {
			v.fail(at+"."+name, "the value holds a NUL character", "remove it")
		}
	}
}

func badVariable(name string) (problem, hint string) {
	switch {
	case !identifier(name):
		return quote(name) + " is not the name of a variable", "use letters, digits and `_`, not beginning with a digit"
	case strings.HasPrefix(name, "SEER_"):
		return "names that begin with SEER_ are Seer's own", "choose another name"
	}
	return "", ""
}

func (v *validator) secrets(path string, names []string, env map[string]string) {
	for i, name := range names {
		at := fmt.Sprintf("%s.%d", path, i)
		switch problem, _ := badVariable(name); {
		case !identifier(name): // it may be a secret
			v.fail(at, "not the name of a variable", "list the names of variables, not their values")
		case problem != "":
			v.fail(at, problem, "choose another name")
		}
		if slices.Index(names, name) < i {
			v.fail(at, quote(name)+" is listed twice", "keep one of them")
		}
		if _, both := env[name]; both {
			v.fail(at, quote(name)+" is in env as well", "keep one of them")
		}
	}
}

func (v *validator) pairs(at string, pairs []Pair) {
	for i, p := range pairs {
		here := fmt.Sprintf("%s.%d", at, i)
		v.path(here+".local", p.Local)
		switch {
		case !path.IsAbs(p.Remote):
			v.fail(here+".remote", quote(p.Remote)+" is not absolute", "begin it with /, for example /workspace/"+path.Base(p.Remote))
		case path.Clean(p.Remote) != p.Remote || strings.ContainsFunc(p.Remote, isControl):
			v.fail(here+".remote", quote(p.Remote)+" is not a plain path", "write "+quote(path.Clean(p.Remote)))
		case p.Remote == "/" || below(p.Remote, modelsDir) || below(p.Remote, datasetsDir):
			v.fail(here+".remote", quote(p.Remote)+" is not free", "use a place under /workspace")
		case systemFolder(p.Remote):
			v.fail(here+".remote", quote(p.Remote)+" belongs to the system", "use a place under /workspace")
		}
	}
}

// systemFolder reports whether a path is where a sandbox has its own programs
// and settings.
func systemFolder(p string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/")
	return slices.Contains(strings.Fields("bin boot dev etc lib lib32 lib64 libx32 proc run sbin sys usr"), top)
}

func (v *validator) machine() {
	s := v.exp.Sandbox
	for i, port := range s.Ports {
		if port < 1 || port > 65535 {
			v.fail(fmt.Sprintf("sandbox.ports.%d", i), fmt.Sprintf("%d is not a port", port), "use 1 to 65535")
		}
		if slices.Index(s.Ports, port) < i {
			v.fail(fmt.Sprintf("sandbox.ports.%d", i), fmt.Sprintf("port %d is listed twice", port), "keep one of them")
		}
	}
	if !slices.Contains([]string{"open", "none", "host", "hosts"}, s.Network) {
		v.fail("sandbox.network", quote(s.Network)+" is not known", "use open, none, host or a list of hosts")
	}
	v.hostPorts()
	for i, host := range s.NetworkHosts {
		if host == "" || strings.ContainsAny(host, "/ ") || !strings.ContainsAny(host, ".:") && host != "localhost" {
			v.fail(fmt.Sprintf("sandbox.network.%d", i), quote(host)+" is not a host", "use open, none, host or a list such as [example.org]")
		}
	}
	if s.GPUCount < 1 || s.GPUCount > 1 && len(s.GPU) == 0 {
		v.fail("sandbox.gpu_count", "gpu_count needs gpu", "name the GPU type, or remove gpu_count")
	}
	if s.GPUShare != nil && len(s.GPU) == 0 {
		v.fail("sandbox.gpu_share", "gpu_share needs gpu", "name the GPU type, or remove gpu_share")
	}
	if s.IdleTimeout > s.Timeout {
		v.fail("sandbox.idle_timeout", "it is longer than timeout", "make it shorter, or remove it")
	}
}

// proxyPort is where a sandbox finds the proxy of a list of hosts.
const proxyPort = 3128

// hostPorts checks that nothing else inside has them.
func (v *validator) hostPorts() {
	s := v.exp.Sandbox
	taken := map[int]string{proxyPort: "the proxy of the network"}
	if s.ExecutionMode == ModeNotebook && s.JupyterPort == 0 {
		taken[8888] = "Jupyter; set jupyter_port to another one"
	}
	if s.Debug && s.DebugPort == 0 {
		taken[8443] = "VS Code; set debug_port to another one"
	}
	for port, key := range map[int]string{s.JupyterPort: "jupyter_port", s.DebugPort: "debug_port"} {
		taken[port] = key
	}
	for _, port := range s.Ports {
		taken[port] = "ports"
	}
	for i, port := range s.HostPorts {
		at := fmt.Sprintf("sandbox.host_ports.%d", i)
		switch {
		case port < 1024 || port > 65535:
			v.fail(at, fmt.Sprintf("%d is not a port that a sandbox can listen on", port), "use 1024 to 65535")
		case taken[port] != "":
			v.fail(at, fmt.Sprintf("port %d of the sandbox is that of %s", port, taken[port]), "give each its own")
		case s.Network == "host":
			v.fail(at, "network host reaches all ports of this computer", "remove host_ports, or set network: open")
		}
		taken[port] = at
	}
}

func (v *validator) serve() {
	names := map[string]bool{}
	for i, s := range v.exp.Serve {
		at := fmt.Sprintf("serve.%d", i)
		v.path(at+".file", s.File)
		if s.File == "" {
			continue
		}
		if filepath.Ext(s.File) != ".py" {
			v.fail(at+".file", quote(filepath.Base(s.File))+" is not a Python file", "serve a file that ends with .py")
		}
		if problem, hint := ServeName(s.Name); problem != "" {
			v.fail(at+".name", problem, hint)
		} else if names[s.Name] {
			v.fail(at+".name", quote(s.Name)+" is served twice", "give each its own name")
		}
		names[s.Name] = true
		v.access(at+".access", s.Access)
	}
}

// ServeName says what is wrong with the name of a served library; empty when
// nothing is.
func ServeName(name string) (problem, hint string) {
	switch {
	case !identifier(name):
		return quote(name) + " is not a Python identifier", "set name: to letters, digits and `_`, as in model_tools"
	case pythonKeyword(name):
		return quote(name) + " is a Python keyword", "set another name:, as in model_tools"
	case pythonStdlib(name):
		return quote(name) + " is a module of Python itself, which it would hide", "set another name:, as in " + name + "_tools"
	case len(name) > maxName:
		return "the name is longer than 63 characters", "choose a shorter one"
	}
	return "", ""
}

func (v *validator) paths() {
	w := v.exp.Workspace
	if v.exp.Outputs != "" {
		v.path("outputs", v.exp.Outputs)
	}
	v.path("runs", v.exp.Runs)
	v.path("workspace.dir", w.Dir)
	for key, list := range map[string][]string{"libraries": w.Libraries, "skills": w.Skills, "skill_dirs": w.SkillDirs, "files": w.Files, "dirs": w.Dirs} {
		for i, p := range list {
			v.path(fmt.Sprintf("workspace.%s.%d", key, i), p)
		}
	}
}

func (v *validator) path(at, p string) {
	switch {
	case p == "":
		v.fail(at, "the path is empty", "")
	case strings.HasPrefix(p, "~"):
		v.fail(at, "`~` is not expanded", "write the whole path, or one from the folder of this file")
	case strings.ContainsFunc(p, isControl):
		v.fail(at, "the path holds a control character", "rename the file")
	}
}

func (v *validator) agent() {
	a := v.exp.Agent
	if a == nil {
		return
	}
	v.environment("agent.env", a.Env)
	v.secrets("agent.secrets", a.Secrets, a.Env)
	v.agentProvider(a)
	v.agentParts(a)
	if a.PromptFile != "" && a.Prompt != "" {
		v.fail("agent.prompt_file", "it cannot stand beside agent.prompt", "remove one of the two")
	}
	if a.PromptFile != "" {
		v.path("agent.prompt_file", a.PromptFile)
	}
}
