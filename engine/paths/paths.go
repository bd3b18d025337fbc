// Package paths says where Seer's own files are on this computer: the runtime's
// programs, tools, plugins and the user's folders.
package paths

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/seer-engine/seer/engine/errdefs"
)

// Options are what the caller has said. Empty fields have their defaults from the
// environment.
type Options struct {
	Getenv       func(string) string
	ArtifactsDir string   // default $SEER_ARTIFACTS_DIR, or else the folder "runtime" beside the program
	DataDir      string   // default $XDG_DATA_HOME/seer
	ToolDirs     []string // searched before all others
	PluginDirs   []string // searched before all others
}

// Paths are the folders of one engine.
type Paths struct {
	Artifacts string   // of the runtime's programs; absolute, since it becomes a mount
	Plugins   []string // folders of plugins that the caller or the environment has named; they must exist
	WellKnown []string // folders of plugins that are looked into where they exist

	getenv   func(string) string
	data     string
	toolDirs []string
}

// New finds the folders. It makes none.
func New(o Options) (Paths, error) {
	p := Paths{getenv: o.Getenv, toolDirs: o.ToolDirs}
	var err error
	if p.Artifacts, err = filepath.Abs(artifacts(o)); err != nil {
		return Paths{}, err
	}
	p.data = p.userDir(o.DataDir, "XDG_DATA_HOME", ".local/share")
	p.Plugins = append(slices.Clone(o.PluginDirs), filepath.SplitList(o.Getenv("SEER_PLUGIN_DIR"))...)
	if p.data != "" {
		p.WellKnown = append(p.WellKnown, filepath.Join(p.data, "plugins"))
	}
	p.WellKnown = append(p.WellKnown, Beside("plugins"))
	return p, nil
}

func artifacts(o Options) string {
	if o.ArtifactsDir != "" {
		return o.ArtifactsDir
	}
	if dir := o.Getenv("SEER_ARTIFACTS_DIR"); dir != "" {
		return dir
	}
	return Beside("runtime")
}

// Beside is a folder next to the running program, also when that was started
// through a symbolic link.
func Beside(name string) string {
	exe, err := os.Executable()
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(exe); err == nil {
		exe = real
	}
	return filepath.Join(filepath.Dir(exe), name)
}

// RuntimeBinary finds the runtime for a machine.
func (p Paths) RuntimeBinary(goos, goarch string) (string, error) {
	path := filepath.Join(p.Artifacts, "seer-runtime-"+goos+"-"+goarch)
	if _, err := os.Stat(path); err != nil {
		return "", &errdefs.Error{Kind: errdefs.KindProvider, Err: fmt.Errorf("the runtime for %s/%s is missing: %w; build it with make runtime, or say where it is with SEER_ARTIFACTS_DIR", goos, goarch, err)}
	}
	return path, nil
}

// Data is the user's folder of what Seer installs and saves; empty = there is none.
func (p Paths) Data() string { return p.data }

// Config is the user's folder of configuration; empty = there is none.
func (p Paths) Config() string { return p.userDir("", "XDG_CONFIG_HOME", ".config") }

// Profiles are the folders with the user's profiles of agents.
func (p Paths) Profiles() []string {
	if config := p.Config(); config != "" {
		return []string{filepath.Join(config, "agents")}
	}
	return nil
}

// Prices are the files with the user's prices of language models.
func (p Paths) Prices() []string {
	if config := p.Config(); config != "" {
		return []string{filepath.Join(config, "prices.yaml")}
	}
	return nil
}

// userDir is Seer's folder of one kind: the one that is given, or that of the XDG
// variable, or that below the home folder. "" = there is none.
func (p Paths) userDir(given, variable, below string) string {
	if given != "" {
		return given
	}
	if dir := p.getenv(variable); dir != "" {
		return filepath.Join(dir, "seer")
	}
	if home := p.getenv("HOME"); home != "" {
		return filepath.Join(home, filepath.FromSlash(below), "seer")
	}
	return ""
}

// Tools is the folder of programs that Seer has installed for itself, such as code-server
// and gVisor.
func (p Paths) Tools() (string, error) {
	if p.data == "" {
		return "", errors.New("there is no home folder; set XDG_DATA_HOME")
	}
	return filepath.Join(p.data, "tools"), nil
}

// ToolPlaces are the folders in which tools such as gVisor's runsc are looked for before the
// system's own: those of the caller, the program's, and the one of [Paths.Tools].
func (p Paths) ToolPlaces() []string {
	places := append(slices.Clone(p.toolDirs), Beside(""))
	if dir, err := p.Tools(); err == nil {
		places = append(places, dir)
	}
	return places
}
