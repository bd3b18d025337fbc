package engine

import (
	"context"
	"fmt"
	"maps"
	"path"
	"time"

	"github.com/seer-engine/seer/engine/build/wheels"
	"github.com/seer-engine/seer/engine/pkginstall"
	"github.com/seer-engine/seer/engine/preflight"
)

// buildTimeout is how long the machine that builds a layer may live: long enough to
// compile something large.
const buildTimeout = 6 * time.Hour

// install brings the machine what it needs of packages and clones: into the layer that is
// being built, out of one, or onto the machine itself.
func (u *up) install(ctx context.Context, s *Sandbox) (changed bool, err error) {
	log := u.newInstallLog()
	defer func() { err = log.end(ctx, u.placed(err)) }()
	if u.making != nil {
		return false, u.makeSystem(ctx, s, log)
	}
	if u.builds != nil {
		return false, u.makeLayer(ctx, s, log)
	}
	want := u.wanted()
	if u.chosen.HostMounts && !u.chosen.BuildsImage { // they are in what it starts from
		want.SystemPackages, want.Commands = nil, nil
	}
	if u.layer != nil && layered(u.chosen) {
		u.env, err = pkginstall.Use(ctx, s.runtime, u.layer.paths()...)
		want.PythonPackages, want.Repos, want.Venv = nil, nil, false
		if err != nil {
			return false, err
		}
		changed = true
	}
	if want.Empty() {
		return changed, nil
	}
	what := "packages"
	if want.OnlyVenv() {
		what = "the Python environment"
	}
	u.report.Info(StageBoot, "installing %s", what)
	result, err := pkginstall.Install(ctx, s.runtime, want, log.line)
	if result.Python != "" {
		u.env = result
	}
	if err == nil {
		u.report.Done(StageBoot, "%s", log.text(what))
	}
	return true, err
}

// makeLayer installs into the layer that this machine is made for.
func (u *up) makeLayer(ctx context.Context, s *Sandbox, log *installLog) error {
	what, layer := u.builds.content, pkginstall.Layer{Folder: u.builds.at, Shared: u.builds.at == basePath}
	if u.builds.below != nil {
		layer.Below = u.builds.below.at
	}
	u.report.Info(StageBoot, "installing %s", what)
	err := pkginstall.Build(ctx, s.runtime, u.wanted(), layer, log.line)
	if err == nil {
		u.report.Done(StageBoot, "%s", log.text(what))
	}
	return err
}

// makeSystem installs into the machine's own file system, which is saved then.
func (u *up) makeSystem(ctx context.Context, s *Sandbox, log *installLog) error {
	want := pkginstall.Spec{SystemPackages: u.making.SystemPackages, Commands: u.making.Commands, Env: u.settings.Env, Hidden: u.settings.Hidden}
	if len(want.Commands) > 0 && u.layer != nil {
		used, err := pkginstall.Use(ctx, s.runtime, u.layer.paths()...)
		if err != nil {
			return err
		}
		want.Env = maps.Clone(want.Env)
		maps.Copy(want.Env, used.Env)
	}
	what := systemText(*u.making)
	u.report.Info(StageBoot, "installing %s into the system", what)
	_, err := pkginstall.Install(ctx, s.runtime, want, log.line)
	if err == nil {
		u.report.Done(StageBoot, "%s", log.text(what))
	}
	return err
}

// wanted is all that is to be installed.
func (u *up) wanted() pkginstall.Spec {
	_, rest := u.plan.ImageOf(u.chosen)
	want := pkginstall.Spec{
		SystemPackages: rest.SystemPackages, PythonPackages: rest.PythonPackages, Commands: rest.Commands,
		Venv: ownPython(u.plan.ExecutionMode), Hidden: u.settings.Hidden,
	}
	if cache := u.diskCache(); cache != "" {
		want.Wheels = path.Join(cache, wheels.Dir)
	}
	switch {
	case u.builds != nil:
		want.Env, want.Wheels, want.Fresh, want.SystemPackages, want.Commands = u.settings.Env, wheelsPath, freshPath, nil, nil
		want.PythonPackages = u.builds.packages
		if !u.builds.repos {
			return want
		}
	case u.chosen.HostMounts:
		want.Env, want.Wheels = u.settings.Here, ""
		if dir, err := u.engine.wheels().Folder(u.settings.Indexes(), want.PythonPackages, u.installs(&layer{repos: true})); err == nil { // it only saves time
			want.Wheels = dir
		}
	}
	for i, r := range u.plan.Repos {
		token := u.tokens[r.Token]
		if token != "" {
			want.Hidden = append(want.Hidden, token)
		}
		repo := pkginstall.Repo{
			Name: r.Name, URL: r.URL, Ref: r.Ref, Commit: r.Commit, Install: r.Install, Env: r.Access(token),
			Explain: func(said string) string { return explained(i, r, said) },
		}
		if r.Folder != "" && u.building != "" {
			repo.From = "file://" + repoMount(r)
		}
		want.Repos = append(want.Repos, repo)
	}
	return want
}

// explained is what git has said about a repository of the experiment, in one line.
func explained(i int, r preflight.Repo, said string) string {
	why := r.Explain(said)
	text := fmt.Sprintf("sandbox.repos.%d: %s", i, why.Problem)
	if why.Hint != "" {
		text += "; " + why.Hint
	}
	return text
}
