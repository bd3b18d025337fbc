package engine

import (
	"cmp"
	"context"

	"github.com/seer-engine/seer/engine/build"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/sdk"
)

// buildMachines makes the machines that build for a start.
type buildMachines struct{ up *up }

// Run implements [build.Machines].
func (m buildMachines) Run(ctx context.Context, spec build.Machine, install func(context.Context, *client.Client, machine.Record) error) (saved string, err error) {
	b, exp := *m.up, *m.up.exp
	exp.Sandbox.ExecutionMode, exp.Sandbox.Debug, exp.Sandbox.IdleTimeout = "", false, 0
	b.exp, b.plan, b.building, b.install = &exp, spec.Plan, &spec, install
	b.models, b.vscode, b.opts.Name, b.opts.Attached = nil, nil, "", provision.SetupLease
	if err := b.start(ctx); err != nil {
		return "", err
	}
	s, err := b.furnish(ctx)
	if err == nil && spec.Save {
		saved, err = b.engine.driver.Snapshot(ctx, b.rec, func(ev machine.Event) { b.report.Log(StageBoot, ev.Text) })
	}
	if s != nil {
		s.Close()
	}
	if err != nil {
		return "", b.undo(ctx, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), provision.EndTimeout)
	defer cancel()
	_, err = b.engine.driver.End(ctx, b.rec, "what it was to build is built")
	return saved, err
}

// startsFrom is the image of a machine of this computer: what has been made for it.
func (u *up) startsFrom(planned *sdk.Image) *sdk.Image {
	if u.building != nil {
		return cmp.Or(u.building.Image, planned)
	}
	return u.installation.Image(planned)
}
