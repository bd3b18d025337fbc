package build

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/seer-engine/seer/engine/build/wheels"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/pkginstall"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/sdk"
)

// install is [Installation.Install] without the log.
func (i *Installation) install(ctx context.Context, t Target, log *installLog) (result pkginstall.Result, changed bool, err error) {
	want := i.wanted(t)
	if t.Choice.HostMounts && !t.Choice.BuildsImage { // they are in what it starts from
		want.SystemPackages, want.Commands = nil, nil
	}
	if i.layer != nil && t.Choice.Layered() {
		result, err = pkginstall.Use(ctx, t.Runtime, i.layer.paths()...)
		want.PythonPackages, want.Repos, want.Venv = nil, nil, false
		if err != nil {
			return result, false, err
		}
		changed = true
	}
	if want.Empty() {
		return result, changed, nil
	}
	what := "packages"
	if want.OnlyVenv() {
		what = "the Python environment"
	}
	i.Report.Send(event.InstallStarted{Contents: what})
	installed, err := pkginstall.Install(ctx, t.Runtime, want, log.line)
	if installed.Python != "" {
		result = installed
	}
	if err == nil {
		i.Report.Send(log.finished(what))
	}
	return result, true, err
}

// installLayer installs into the layer that a machine is made for.
func (b *building) installLayer(ctx context.Context, runtime *client.Client, l *layer, log *installLog) error {
	to := pkginstall.Layer{Folder: l.at, Shared: l.at == basePath}
	if l.below != nil {
		to.Below = l.below.at
	}
	want := pkginstall.Spec{
		PythonPackages: l.packages, Env: b.Settings.Env, Hidden: slices.Clone(b.Settings.Hidden), Wheels: wheelsPath, Fresh: freshPath,
	}
	if l.repos {
		b.addRepos(&want, true)
	}
	b.Report.Send(event.InstallStarted{Contents: l.content})
	err := pkginstall.Build(ctx, runtime, want, to, log.line)
	if err == nil {
		b.Report.Send(log.finished(l.content))
	}
	return err
}

// installRootFS installs into the machine's own file system, which is saved then.
func (b *building) installRootFS(ctx context.Context, runtime *client.Client, image sdk.Image, log *installLog) error {
	want := pkginstall.Spec{SystemPackages: image.SystemPackages, Commands: image.Commands, Env: b.Settings.Env, Hidden: b.Settings.Hidden}
	if len(want.Commands) > 0 && b.layer != nil {
		used, err := pkginstall.Use(ctx, runtime, b.layer.paths()...)
		if err != nil {
			return err
		}
		want.Env = maps.Clone(want.Env)
		maps.Copy(want.Env, used.Env)
	}
	what := contentText(image)
	b.Report.Send(event.InstallStarted{Contents: what, System: true})
	_, err := pkginstall.Install(ctx, runtime, want, log.line)
	if err == nil {
		b.Report.Send(log.finished(what))
	}
	return err
}

// wanted is all that a sandbox wants to have installed.
func (i *Installation) wanted(t Target) pkginstall.Spec {
	_, rest := i.plan.ImageOf(t.Choice)
	want := pkginstall.Spec{
		SystemPackages: rest.SystemPackages, PythonPackages: rest.PythonPackages, Commands: rest.Commands,
		Venv: ownPython(i.plan.ExecutionMode), Hidden: slices.Clone(i.Settings.Hidden),
	}
	if t.Cache != "" {
		want.Wheels = path.Join(t.Cache, wheels.Dir)
	}
	if t.Choice.HostMounts {
		want.Env, want.Wheels = i.Settings.Here, ""
		dir, err := i.builder.wheels().Folder(i.Settings.Indexes(), want.PythonPackages, i.commands(true))
		if err == nil { // it only saves time
			want.Wheels = dir
		}
	}
	i.addRepos(&want, false)
	return want
}

// addRepos adds the repositories. A machine that builds is shown those of this computer.
func (i *Installation) addRepos(want *pkginstall.Spec, building bool) {
	for n, r := range i.plan.Repos {
		token := i.Tokens[r.Token]
		if token != "" {
			want.Hidden = append(want.Hidden, token)
		}
		repo := pkginstall.Repo{
			Name: r.Name, URL: r.URL, Ref: r.Ref, Commit: r.Commit, Install: r.Install, Env: r.Access(token),
			Explain: func(said string) string { return explained(n, r, said) },
		}
		if r.Folder != "" && building {
			repo.From = "file://" + repoMount(r)
		}
		want.Repos = append(want.Repos, repo)
	}
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
