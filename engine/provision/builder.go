package provision

import (
	"context"

	"github.com/seer-engine/seer/engine/build"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/session"
)

// builder makes the machines that build for a sandbox.
type builder struct {
	Provisioner
	request Request
}

// Run implements [build.Machines].
func (b builder) Run(ctx context.Context, spec build.Machine, install func(context.Context, *client.Client, machine.Record) error) error {
	r, exp := b.request, *b.request.Experiment
	exp.Sandbox.ExecutionMode, exp.Sandbox.Debug, exp.Sandbox.IdleTimeout = "", false, 0
	r.Experiment, r.Plan, r.Name, r.Attached = &exp, spec.Plan, "", SetupLease
	r.Models, r.Remotes, r.CodeServer = nil, nil, session.CodeServer{}
	s := &start{Provisioner: b.Provisioner, Request: r, build: &spec}
	s.prepare = func(ctx context.Context) error { return install(ctx, s.machine.Client, s.machine.Record) }
	save := func(ctx context.Context) error {
		if spec.Saved == nil {
			return nil
		}
		saved, err := s.Driver.Snapshot(ctx, s.machine.Record, func(ev machine.Event) { s.Report.Output(event.StageBoot, ev.Text) })
		if err != nil {
			return err
		}
		return spec.Saved(saved)
	}
	if err := s.run(ctx, Step{Do: save}); err != nil {
		return err
	}
	s.machine.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), EndTimeout)
	defer cancel()
	_, err := s.Driver.End(ctx, s.machine.Record, "what it was to build is built")
	return err
}
