package provision

import (
	"cmp"
	"context"
	"maps"

	"golang.org/x/sync/errgroup"

	"github.com/seer-engine/seer/engine/build"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/engine/snapshot/files"
)

// connect makes the way to the machine, and keeps its lease: the ledger's began before the
// machine did, and a boot may outlast it.
func (s *start) connect(ctx context.Context) error {
	m, err := s.Connect(s.machine.Record)
	if err != nil {
		return err
	}
	m.Choice = s.chosen
	s.machine = m
	s.Report.Send(event.BootStarted{})
	m.Lease.Start(ctx, m.Record, s.ttl(), s.Experiment.Sandbox.IdleTimeout)
	return nil
}

// boot brings the runtime to the machine, which it keeps alive from then on.
func (s *start) boot(ctx context.Context) error {
	limit := RentedBootTimeout
	if s.chosen.HostMounts {
		limit = BootTimeout
	}
	boot, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if _, err := s.machine.Client.Boot(boot, client.BootOptions{Binary: s.RuntimeBinary}); err != nil {
		return err
	}
	if err := s.machine.Lease.Put(ctx, s.machine.Record, machine.Attached, s.ttl(), s.Experiment.Sandbox.IdleTimeout); err != nil {
		return err
	}
	s.machine.Lease.Booted()
	return nil
}

// configure tells the runtime what processes get: variables, secrets, models, Python.
func (s *start) configure(ctx context.Context) error {
	return s.machine.Client.PutConfig(ctx, s.config())
}

func (s *start) config() protocol.Config {
	if s.build != nil { // it sees nothing of the sandbox's
		return protocol.Config{Workdir: "/workspace"}
	}
	c := protocol.Config{Env: map[string]string{}, Secrets: s.Secrets, Workdir: "/workspace", Python: s.env.Python, Price: cmp.Or(s.machine.Record.CostPerHour, costOf(s.chosen))}
	if !reachesHub(s.Experiment.Sandbox) {
		c.Env[offlineVariable] = "1"
	}
	maps.Copy(c.Env, s.env.Env)
	maps.Copy(c.Env, s.Experiment.Sandbox.Env)
	for i, told := range s.told() {
		if s.Models[i].Dataset {
			c.Datasets = append(c.Datasets, told)
			continue
		}
		c.Models = append(c.Models, told)
	}
	if s.folder != "" {
		c.Env["SEER_WORKSPACE"] = s.folder
	}
	return c
}

// told are the models and datasets as the machine may know them.
func (s *start) told() []protocol.Model {
	var all []protocol.Model
	for _, m := range s.Models {
		told := protocol.Model{Name: cmp.Or(m.Alias, m.Name), Path: m.Path, EnvName: m.EnvName, Revision: m.Revision, VarName: m.VarName, Hidden: m.Hidden}
		if m.Hidden && s.Experiment.Sandbox.Whole() { // its agent could ask the runtime
			told.Name, told.Revision = m.VarName, ""
		}
		all = append(all, told)
	}
	if s.placed {
		return named(all, s.Models)
	}
	return all
}

// install brings to a sandbox what the experiment wants to have there, and starts its
// session.
func (s *start) install(ctx context.Context) error {
	return Run(ctx,
		Step{Do: s.bring},
		Step{Do: s.upload},
		Step{Do: s.restore},
		Step{Do: s.nameModels},
		Step{Do: s.startSession})
}

// bring installs packages while models arrive.
func (s *start) bring(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.installPackages(ctx) })
	group.Go(func() error { return s.downloadModels(ctx) })
	return group.Wait()
}

func (s *start) installPackages(ctx context.Context) error {
	env, changed, err := s.Installation.Install(ctx, build.Target{
		Sandbox: s.machine.Record.ID, Choice: s.chosen, Runtime: s.machine.Client, Cache: s.diskCache(),
	})
	if err != nil {
		return err
	}
	s.env = env
	if !changed {
		return nil
	}
	return s.configure(ctx)
}

// restore puts the files of a snapshot into the sandbox.
func (s *start) restore(ctx context.Context) error {
	if s.Snapshot == "" {
		return nil
	}
	target := files.Target{Sandbox: s.machine.Client, Layer: s.layerKey(), Clear: files.Clears(s.Experiment.Sandbox.Volumes), Report: s.Report}
	return target.Restore(ctx, s.Snapshots, s.Snapshot)
}

// startSession starts what people and agents use the sandbox with.
func (s *start) startSession(ctx context.Context) error {
	starter := session.Starter{
		Session: session.Session{ID: s.machine.Record.ID, Ledger: s.Ledger, Client: s.machine.Client}, Experiment: s.Experiment, Contents: s.Contents, Restored: s.Snapshot != "",
		Network: s.network(s.chosen), UnexposedPorts: s.unexposedPorts, CodeServer: s.CodeServer,
		Configure: func(ctx context.Context, folder string) error {
			s.folder = folder
			return s.configure(ctx)
		},
		Scan:   func(ctx context.Context) error { return s.Scan(ctx, s.machine) },
		Report: s.Report,
	}
	starter.CodeServer.Shown = s.chosen.Isolation != "none"
	if s.chosen.HostMounts { // then its Python is this computer's
		starter.Bytecode = s.Bytecode
	} else { // the plan may have had choices of this computer, too
		starter.CodeServer.Program = nil
	}
	return starter.Start(ctx)
}

// detach has the sandbox live without this program, if it is to.
func (s *start) detach(ctx context.Context) error {
	if s.Attached > 0 {
		return nil
	}
	return s.machine.Lease.Detach(ctx, s.Experiment.Sandbox.Timeout)
}
