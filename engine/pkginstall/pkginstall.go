// Package pkginstall installs what an experiment asks for on a machine whose
// provider builds no images: system packages, Python packages, commands. It works
// through the runtime, so it is the same on every backend.
package pkginstall

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/sdk"
)

// Spec is what is to be installed.
type Spec struct {
	SystemPackages []string // names for apt
	PythonPackages []string // requirements for pip
	Repos          []Repo   // to be cloned into /workspace, in order, after the packages
	Commands       []string // shell commands, in order, after everything else
	// Wheels is a folder of the machine with files that pip has downloaded before, each
	// named by its SHA-256; it may be read-only. Fresh is where pip's new downloads are
	// put; empty = Wheels. Empty Wheels = pip downloads everything.
	Wheels, Fresh string

	Venv   bool              // a virtual environment is made even where nothing is installed into it
	Env    map[string]string // settings for the installers: proxies, indexes, certificates
	Hidden []string          // what must not be in the log or in an error: passwords

	layer string // the folder of a layer that is being built
	below string // and of the one that it stands upon; empty = none
}

// Empty reports whether there is nothing to do.
func (s Spec) Empty() bool { return !s.Venv && s.installsNothing() }

// OnlyVenv reports whether there is nothing to do but an empty virtual environment.
func (s Spec) OnlyVenv() bool { return s.Venv && s.installsNothing() }

func (s Spec) installsNothing() bool {
	return len(s.SystemPackages)+len(s.PythonPackages)+len(s.Repos)+len(s.Commands) == 0
}

// Result is what the machine's configuration must say from now on.
type Result struct {
	Python string            // the interpreter with the packages; empty = the one before
	Env    map[string]string // so that commands find it, too
}

//go:embed apt.sh
var aptScript string

//go:embed venv.py
var venvProgram string

//go:embed wheels.py
var wheelsProgram string

// Install does it. What the installers print goes to log, line by line, as it comes.
// An installation that fails is an error of the code invalid with its last words;
// a machine on which it cannot be done at all, one of the code unsupported.
func Install(ctx context.Context, runtime *client.Client, s Spec, log func(line string)) (Result, error) {
	i := &installer{runtime: runtime, log: log, hidden: s.Hidden}
	var result Result
	system := s.SystemPackages
	if len(s.Repos) > 0 && !slices.Contains(system, "git") {
		there, err := i.hasGit(ctx)
		if err != nil {
			return result, err
		}
		if !there {
			system = append(slices.Clone(system), "git", "ca-certificates")
		}
	}
	if len(system) > 0 {
		if _, err := i.run(ctx, "installing system packages", []string{"sh", "-c", aptScript, "sh"}, system, s.Env); err != nil {
			return result, err
		}
	}
	// What opens repositories is there before any code of theirs or of packages has run.
	for _, repo := range s.Repos {
		if err := i.clone(ctx, s, repo); err != nil {
			return result, err
		}
	}
	if s.Venv || len(s.PythonPackages)+len(s.Repos) > 0 {
		if err := i.python(ctx, s, &result); err != nil {
			return result, err
		}
	}
	for _, repo := range s.Repos {
		if err := i.install(ctx, s, repo, result.Env); err != nil {
			return result, err
		}
	}
	for n, command := range s.Commands {
		what := fmt.Sprintf("image.commands.%d (%s)", n, command)
		if _, err := i.run(ctx, what, []string{"sh", "-c", command, "sh"}, nil, merged(s.Env, result.Env)); err != nil {
			return result, err
		}
	}
	return result, nil
}

type installer struct {
	runtime *client.Client
	log     func(string)
	hidden  []string
}

// python makes a virtual environment that sees the image's own packages, too.
func (i *installer) python(ctx context.Context, s Spec, result *Result) error {
	h, err := i.runtime.Health(ctx)
	if err != nil {
		return err
	}
	env := s.pipEnv()
	if s.Wheels != "" {
		env["SEER_WHEELS_SOURCE"] = wheelsProgram
	}
	if s.layer != "" {
		env["SEER_LAYER"], env["SEER_BELOW"] = s.layer, s.below
	}
	out, err := i.run(ctx, "installing Python packages", []string{h.Python, "-I", "-c", venvProgram}, s.PythonPackages, env)
	if err != nil {
		return err
	}
	*result, err = resultOf(out)
	return err
}

// pipEnv makes pip quiet about what nobody can answer.
func (s Spec) pipEnv() map[string]string {
	env := map[string]string{"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore", "PIP_PROGRESS_BAR": "off"}
	if s.Wheels != "" { // pip's own cache compares nothing
		env["SEER_WHEELS"], env["SEER_WHEELS_FRESH"], env["PIP_NO_CACHE_DIR"] = s.Wheels, s.Fresh, "1"
	}
	return merged(env, s.Env)
}

// resultOf reads the answer of venv.py and use.sh: the folder and the search path.
func resultOf(out string) (Result, error) {
	folder, search, _ := strings.Cut(out, "\n")
	if !path.IsAbs(folder) {
		return Result{}, sdk.Errorf(sdk.Internal, "the virtual environment on the machine could not be found: %q", out)
	}
	return Result{
		Python: path.Join(folder, "bin", "python"),
		Env:    map[string]string{"VIRTUAL_ENV": folder, "PATH": path.Join(folder, "bin") + ":" + strings.TrimSpace(search)},
	}, nil
}

func merged(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}
