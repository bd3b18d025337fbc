// Package doctor finds what this computer lacks for sandboxes and agents, and installs
// what it can.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/netproxy"
	"github.com/seer-engine/seer/engine/paths"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/policy"
	"github.com/seer-engine/seer/engine/pyenv"
	"github.com/seer-engine/seer/engine/readiness"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// Doctor looks at a computer with the eyes of one engine. All fields must be set.
type Doctor struct {
	Python     *pyenv.Finder
	Paths      paths.Paths
	Store      *state.Store
	Getenv     func(string) string
	Plugins    func(context.Context) ([]host.Plugin, []error) // the usable ones, and why others are not
	PluginDirs []string                                       // where they were looked for
	Now        func() time.Time

	GPUs  func(context.Context) (isolation.GPUSet, error) // of this computer
	Local func() (sdk.Provider, error)                    // the provider of this computer, which knows who uses them
	Ready func() readiness.Checker                        // asks providers
}

// Finding is one thing that [Doctor.Check] looked at.
type Finding struct {
	Name     string          `json:"name"`
	OK       bool            `json:"ok"`
	Detail   string          `json:"detail"`
	Fix      string          `json:"fix,omitempty"`      // what to do when it is not ok
	Remedies []remedy.Remedy `json:"remedies,omitempty"` // the same for programs
	Fixed    bool            `json:"fixed,omitempty"`    // it was missing, and [Doctor.Fix] has installed it

	Optional bool `json:"optional,omitempty"` // most experiments do without it

	State string `json:"state,omitempty"` // of a provider's finding: see [sdk.Finding]
}

// Needed reports whether Seer needs it for every sandbox: one kind of isolation is always
// usable, VS Code is for debug, and an experiment that asks for what is not there is
// refused with the reason.
func (f Finding) Needed() bool {
	if f.State != "" {
		return f.State == sdk.FindingFailed
	}
	return f.Name != codeServerName && f.Name != networkName && !strings.HasPrefix(f.Name, "isolation ") && !strings.HasPrefix(f.Name, gpuName)
}

// The findings of what is not needed for every sandbox.
const (
	codeServerName = "code-server"
	networkName    = "network open"
	policyName     = "administrator's policy"
	gpuName        = "gpu" // and the number of one, or the isolation in which they were tried
)

// Check looks at everything that this computer needs for sandboxes and agents, or else at what
// machines of the providers in question need. It changes nothing; [Doctor.Fix] does.
func (d *Doctor) Check(ctx context.Context, of ...Query) []Finding {
	var findings []Finding
	for _, q := range of {
		findings = append(findings, d.CheckProvider(ctx, q)...)
	}
	if len(of) > 0 {
		return findings
	}
	findings = append(findings, d.checkPython())
	findings = append(findings, d.checkIsolation(ctx)...)
	if runtime.GOOS == "linux" {
		findings = append(findings, d.checkNetwork(ctx))
	}
	findings = append(findings, d.checkGPUs(ctx)...)
	findings = append(findings, d.checkRuntime(), d.checkCodeServer())
	findings = append(findings, d.checkPlugins(ctx)...)
	findings = append(findings, checkPolicy()...)
	return append(findings, d.checkFolders()...)
}

func (d *Doctor) checkPython() Finding {
	f := Finding{Name: "python", Fix: "install Python 3.8 or newer, or name one with SEER_PYTHON"}
	p, err := d.Python.Default()
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	return Finding{Name: f.Name, OK: true, Detail: p.Executable + " " + p.Version}
}

func (d *Doctor) checkIsolation(ctx context.Context) []Finding {
	var findings []Finding
	for _, i := range isolation.Detect(ctx, d.Paths.ToolPlaces()...) {
		f := Finding{Name: "isolation " + i.Name, OK: i.Usable, Detail: "works"}
		switch {
		case !i.Usable:
			f.Detail, f.Fix, f.Remedies = "does not work here", i.Reason, isolation.Remedies(i)
		case i.Name == isolation.None:
			f.Detail = "always there; keeps nothing apart"
		}
		findings = append(findings, f)
	}
	return findings
}

// checkNetwork tries what connects sandboxes with network: open.
func (d *Doctor) checkNetwork(ctx context.Context) Finding {
	tool, err := netproxy.DetectUplink(ctx)
	if err == nil {
		return Finding{Name: networkName, OK: true, Detail: "connected by " + tool}
	}
	f := Finding{Name: networkName, Detail: "only programs that know HTTP proxies reach the Internet"}
	f.Fix, f.Remedies = networkFix(err)
	return f
}

// networkFix says what to do about a network that nothing connects. Packages help only where
// no tool is there; one that is there and fails has another reason.
func networkFix(err error) (string, []remedy.Remedy) {
	fix := err.Error()
	var none netproxy.NoUplink
	if !errors.As(err, &none) || !none.OnlyMissing() {
		return fix, nil
	}
	return fix + "; install one, as root: apt-get install " + strings.Join(networkPackages[:], " "), fixable()
}

func (d *Doctor) checkRuntime() Finding {
	name := "runtime " + runtime.GOOS + "/" + runtime.GOARCH
	path, err := d.Paths.RuntimeBinary(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return Finding{Name: name, Detail: "missing in " + d.Paths.Artifacts, Fix: err.Error()}
	}
	return Finding{Name: name, OK: true, Detail: path}
}

func (d *Doctor) checkCodeServer() Finding {
	tools, err := d.Paths.Tools()
	if err == nil {
		var p codeserver.Program
		if p, err = codeserver.Find(d.Getenv, tools); err == nil {
			return Finding{Name: codeServerName, OK: true, Detail: p.Dir}
		}
	}
	return Finding{Name: codeServerName, Optional: true, Detail: "not found; only debug: true needs it", Fix: err.Error(), Remedies: remedy.Of(err)}
}

func (d *Doctor) checkPlugins(ctx context.Context) []Finding {
	plugins, broken := d.Plugins(ctx)
	var findings []Finding
	if len(plugins) == 0 {
		findings = append(findings, Finding{Name: "plugins", Detail: "none in " + strings.Join(d.PluginDirs, ", "), Fix: "build them with make plugins, or name the folder that has them", Remedies: []remedy.Remedy{{Action: remedy.NamePluginFolder}}})
	} else {
		names := make([]string, len(plugins))
		for i, p := range plugins {
			names[i] = p.Manifest.ID
		}
		findings = append(findings, Finding{Name: "plugins", OK: true, Detail: strings.Join(names, ", ")})
	}
	for _, err := range broken {
		findings = append(findings, Finding{Name: "plugin", Detail: err.Error(), Fix: "mend or remove it", Remedies: remedy.Of(err)})
	}
	return findings
}

// checkPolicy tells what the administrator of this computer allows. Without a policy it tells
// nothing.
func checkPolicy() []Finding {
	rules, err := policy.Read()
	switch {
	case err != nil:
		return []Finding{{Name: policyName, Detail: err.Error(), Fix: "ask the administrator of this computer"}}
	case rules.File == "":
		return nil
	}
	return []Finding{{Name: policyName, OK: true, Detail: rules.String()}}
}

// checkFolders tries to write where Seer must.
func (d *Doctor) checkFolders() []Finding {
	var findings []Finding
	for _, folder := range []struct{ name, path string }{
		{"state folder", d.Store.StateDir()}, {"cache folder", d.Store.CacheDir()}, {"socket folder", d.Store.RuntimeDir()},
	} {
		f := Finding{Name: folder.name, OK: true, Detail: folder.path}
		if err := writable(folder.path); err != nil {
			f.OK, f.Detail, f.Fix = false, err.Error(), fmt.Sprintf("make %s writable and give it space", folder.path)
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
