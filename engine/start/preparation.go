package start

import (
	"context"
	"runtime"
	"slices"

	"github.com/seer-engine/seer/engine/build"
	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/workspace"
)

// preparation is the part of a start that needs no machine: it checks, asks and fetches.
type preparation struct {
	*Starter
	exp    *experiment.Experiment
	opts   Options
	report event.Reporter

	plan         plan.Plan
	secrets      map[string]string
	models       []machine.Model
	remotes      []*provision.RemoteModel // of models; nil = on this computer
	installation *build.Installation      // what is to be installed
	hidden       namesearch.Names         // the names of hidden models, where the agent has the whole sandbox
	vscode       *codeserver.Program      // of this computer; nil = the machine's own
	contents     workspace.Workspace      // what goes into the working folder
	snapshots    *snapshot.Store
}

// request is what has been prepared.
func (p *preparation) request() provision.Request {
	most, each := p.opts.waits(p.exp)
	return provision.Request{
		Experiment: p.exp, Plan: p.plan, Name: p.opts.Name, Attached: p.opts.Attached, MaxWait: most, Patience: each, Models: p.models, Remotes: p.remotes, Secrets: p.secrets, Hidden: p.hidden,
		Installation: p.installation, Contents: p.contents,
		CodeServer: session.CodeServer{Program: p.vscode, SHA256: p.CodeServer.Getenv(codeserver.PinnedIn)},
		Snapshots:  p.snapshots, Snapshot: p.opts.Snapshot, Scan: p.scan, Report: p.report,
	}
}

// prepare does everything that needs no machine.
func (p *preparation) prepare(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		p.checkSnapshot, p.inherit, p.check, p.findRuntimes, p.readSettings, p.confirm, p.confirmed, p.readContents,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := p.fetchModels(ctx); err != nil {
		return errdefs.Wrap(errdefs.KindConfig, err)
	}
	return errdefs.Wrap(errdefs.KindConfig, p.hideNames(ctx))
}

// check finds everything that would stop the start, and decides what is rented.
func (p *preparation) check(ctx context.Context) error {
	p.report.Send(event.PreflightStarted{Experiment: p.exp.Name})
	p.Plugins.Announce(ctx, p.exp.Sandbox.Providers, p.report)
	o := p.opts.CheckOptions
	o.NoAgent = !p.opts.Agent
	report, err := p.Starter.check(ctx, p.exp, o)
	if err != nil {
		return err
	}
	if p.plan, err = plan.Make(p.exp, report); err != nil {
		return errdefs.Wrap(errdefs.KindConfig, err)
	}
	for i, w := range p.plan.Warnings {
		var remedies []remedy.Remedy
		if i == len(p.plan.Warnings)-1 { // those of all
			remedies = p.plan.Remedies
		}
		p.report.Send(event.PreflightWarning{Message: w, Advice: event.Advice{Remedies: remedies}})
	}
	return nil
}

// findRuntimes finds the program for each machine that may be rented.
func (p *preparation) findRuntimes(context.Context) error {
	for _, c := range p.plan.Choices {
		system, arch := "linux", "amd64" // what a rented one is shows when it answers; nearly all are this
		if c.HostMounts {
			system, arch = runtime.GOOS, runtime.GOARCH
		}
		if _, err := p.Paths.RuntimeBinary(system, arch); err != nil {
			return err
		}
	}
	return nil
}

// readSettings reads the secrets, and the user's settings for what installs.
func (p *preparation) readSettings(context.Context) error {
	env, err := p.facts().Env(p.exp)
	if err != nil {
		return errdefs.Wrap(errdefs.KindConfig, err)
	}
	p.secrets = map[string]string{}
	tokens := map[string]string{}
	for _, name := range p.exp.Sandbox.Secrets {
		value, _, _ := env.Lookup(name)
		if p.plan.Withheld(name) {
			tokens[name] = value
		} else {
			p.secrets[name] = value
		}
	}
	settings, err := p.Builder.Settings(env, p.exp)
	if err != nil {
		return err
	}
	p.installation, err = p.Builder.Plan(&p.plan, build.Request{Experiment: p.exp, Settings: settings, Tokens: tokens, Report: p.report})
	return errdefs.Wrap(errdefs.KindConfig, err)
}

// confirmed says that the user has confirmed what has to be.
func (p *preparation) confirmed(context.Context) error {
	if p.opts.Confirmed == nil {
		return nil
	}
	return p.opts.Confirmed()
}

// readContents finds what is put into the sandbox.
func (p *preparation) readContents(context.Context) error {
	if err := p.readWorkspace(); err != nil {
		return err
	}
	return errdefs.Wrap(errdefs.KindConfig, p.findVSCode())
}

// readWorkspace reads it before anything is rented.
func (p *preparation) readWorkspace() (err error) {
	p.contents, err = session.Contents(p.exp)
	return err
}

// findVSCode finds the code-server that a machine of this computer is shown.
func (p *preparation) findVSCode() error {
	if !p.exp.Sandbox.Debug || !slices.ContainsFunc(p.plan.Choices, func(c plan.Choice) bool { return c.HostMounts }) {
		return nil
	}
	found, err := p.CodeServer.Find()
	if err == nil {
		p.vscode = &found
	}
	return err
}

func (p *preparation) fetchModels(ctx context.Context) (err error) {
	p.models, p.remotes, err = p.Starter.models(p.report).Fetch(ctx, p.exp, p.plan)
	if err != nil {
		return err
	}
	return provision.SizeVolume(p.exp, &p.plan, p.remotes)
}

// models finds and looks at models, and fetches them.
func (s *Starter) models(report event.Reporter) provision.Models {
	return provision.Models{
		Fetcher: s.Plugins.Fetcher, Cache: func(folder string) (string, error) { return s.Store.Cache(folder) }, Report: report,
		Getenv: func(name string) string {
			value, _ := s.LookupEnv(name)
			return value
		},
		Manifests: s.Manifests, Offers: s.Offers,
	}
}
