package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/gate"
	"github.com/seer-engine/seer/engine/isolation"
)

// Finding is one thing that [Engine.Doctor] looked at.
type Finding struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`   // what to do when it is not ok
	Fixed  bool   `json:"fixed,omitempty"` // it was missing, and [Engine.Fix] has installed it

	Optional bool `json:"optional,omitempty"` // most experiments do without it
}

// Needed reports whether Seer needs it for every sandbox: one kind of isolation is always
// usable, VS Code is for debug, and an experiment that asks for what is not there is
// refused with the reason.
func (f Finding) Needed() bool {
	return f.Name != codeServerName && f.Name != networkName && !strings.HasPrefix(f.Name, "isolation ")
}

// The findings of what is not needed for every sandbox.
const (
	codeServerName = "code-server"
	networkName    = "network open"
)

// Doctor looks at everything this computer needs for sandboxes and agents. It
// changes nothing; [Engine.Fix] does.
func (e *Engine) Doctor(ctx context.Context) []Finding {
	findings := []Finding{e.doctorPython()}
	findings = append(findings, e.doctorIsolation(ctx)...)
	if runtime.GOOS == "linux" {
		findings = append(findings, e.doctorNetwork(ctx))
	}
	findings = append(findings, e.doctorRuntime(), e.doctorCodeServer())
	findings = append(findings, e.doctorPlugins(ctx)...)
	return append(findings, e.doctorFolders()...)
}

func (e *Engine) doctorPython() Finding {
	f := Finding{Name: "python", Fix: "install Python 3.8 or newer, or name one with SEER_PYTHON"}
	p, err := e.python.Default()
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	return Finding{Name: f.Name, OK: true, Detail: p.Executable + " " + p.Version}
}

func (e *Engine) doctorIsolation(ctx context.Context) []Finding {
	var findings []Finding
	for _, i := range isolation.Detect(ctx, e.paths.ToolPlaces()...) {
		f := Finding{Name: "isolation " + i.Name, OK: i.Usable, Detail: "works"}
		switch {
		case !i.Usable:
			f.Detail, f.Fix = "does not work here", i.Reason
		case i.Name == isolation.None:
			f.Detail = "always there; keeps nothing apart"
		}
		findings = append(findings, f)
	}
	return findings
}

// doctorNetwork tries what connects sandboxes with network: open.
func (e *Engine) doctorNetwork(ctx context.Context) Finding {
	tool, err := gate.DetectUplink(ctx)
	if err == nil {
		return Finding{Name: networkName, OK: true, Detail: "connected by " + tool}
	}
	return Finding{Name: networkName, Detail: "only programs that know HTTP proxies reach the Internet", Fix: networkFix(err)}
}

// networkFix says what to do about a network that nothing connects. Packages help only where
// no tool is there; one that is there and fails has another reason.
func networkFix(err error) string {
	fix := err.Error()
	for _, reason := range strings.Split(fix, "; ") {
		if !strings.Contains(reason, "not installed") {
			return fix
		}
	}
	return fix + "; run: " + doctorFix + ", or as root: apt-get install " + strings.Join(networkPackages[:], " ")
}

func (e *Engine) doctorRuntime() Finding {
	name := "runtime " + runtime.GOOS + "/" + runtime.GOARCH
	path, err := e.paths.RuntimeBinary(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return Finding{Name: name, Detail: "missing in " + e.paths.Artifacts, Fix: err.Error()}
	}
	return Finding{Name: name, OK: true, Detail: path}
}

func (e *Engine) doctorCodeServer() Finding {
	tools, err := e.paths.Tools()
	if err == nil {
		var p codeserver.Program
		if p, err = codeserver.Find(e.getenv, tools); err == nil {
			return Finding{Name: codeServerName, OK: true, Detail: p.Dir}
		}
	}
	return Finding{Name: codeServerName, Optional: true, Detail: "not found; only debug: true needs it", Fix: err.Error()}
}

func (e *Engine) doctorPlugins(ctx context.Context) []Finding {
	plugins, broken := e.Plugins(ctx)
	var findings []Finding
	if len(plugins) == 0 {
		findings = append(findings, Finding{Name: "plugins", Detail: "none in " + strings.Join(e.PluginDirs(), ", "), Fix: "build them with make plugins, or name their folder with --plugin-dir"})
	} else {
		names := make([]string, len(plugins))
		for i, p := range plugins {
			names[i] = p.Manifest.ID
		}
		findings = append(findings, Finding{Name: "plugins", OK: true, Detail: strings.Join(names, ", ")})
	}
	for _, err := range broken {
		findings = append(findings, Finding{Name: "plugin", Detail: err.Error(), Fix: "mend or remove it"})
	}
	return findings
}

// doctorFolders tries to write where Seer must.
func (e *Engine) doctorFolders() []Finding {
	var findings []Finding
	for _, d := range []struct{ name, path string }{
		{"state folder", e.store.StateDir()}, {"cache folder", e.store.CacheDir()}, {"socket folder", e.store.RuntimeDir()},
	} {
		f := Finding{Name: d.name, OK: true, Detail: d.path}
		if err := writable(d.path); err != nil {
			f.OK, f.Detail, f.Fix = false, err.Error(), fmt.Sprintf("make %s writable and give it space", d.path)
		}
		findings = append(findings, f)
	}
	return findings
}

func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".doctor-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	_, err = f.WriteString(filepath.Base(f.Name()))
	return err
}
