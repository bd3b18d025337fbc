package engine

import (
	"context"
	"fmt"
	"path"
	"time"

	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/sdk"
)

// start rents the machine.
func (u *up) start(ctx context.Context) error {
	e := u.engine
	r := machine.NewRecord()
	r.Name, r.Network = u.opts.Name, u.plan.Network
	if u.building != nil {
		r.Builds = u.building.Purpose
	}
	r.MaxPrice, r.Budget = u.exp.Sandbox.MaxPrice, u.exp.Sandbox.Budget
	r.AdminToken, r.ExperimentFile, r.Models, r.Lease = protocol.NewToken(), u.exp.File, u.models, u.lease()
	r.Owner = e.ledger.Owner()
	if err := u.noteMode(&r); err != nil {
		return err
	}
	var choices []machine.Choice
	for _, c := range u.plan.Choices {
		choice, err := u.choice(c, r)
		if err != nil {
			return err
		}
		choices = append(choices, choice)
	}
	isolated := ""
	if u.plan.Isolation != "" {
		isolated = ", isolation " + u.plan.Isolation
	}
	u.report.Info(StageMachine, "starting a machine on %s%s", u.plan.Provider, isolated)
	var err error
	u.rec, err = e.driver.Start(ctx, r, choices, func(ev machine.Event) {
		if ev.Text == "" {
			return
		}
		switch ev.Kind {
		case machine.EventLog:
			u.report.Log(StageMachine, ev.Text)
		case machine.EventSpared:
			u.unexposedPorts = true
			u.report.Advise(StageMachine, ev.Remedies, ev.Text)
		case machine.EventChoice: // the next provider may have it
			u.unexposedPorts = false
			u.report.Info(StageMachine, "%s", ev.Text)
		default:
			u.report.Info(StageMachine, "%s", ev.Text)
		}
	})
	for _, c := range u.plan.Choices { // what matters of it is the same for all of a provider
		if c.Provider == u.rec.Provider {
			u.chosen = c
		}
	}
	provision.ReportPorts(u.rec, u.exp.Sandbox.Ports, u.report)
	return err
}

func (u *up) lease() machine.Lease {
	idle := int64(u.exp.Sandbox.IdleTimeout / time.Second)
	l := machine.NewLease(machine.Attached, u.attached(), u.engine.now())
	l.IdleSeconds = idle
	return l
}

// attached is how long the machine lives without a sign of this program, until it is
// furnished.
func (u *up) attached() time.Duration {
	if u.opts.Attached > 0 {
		return u.opts.Attached
	}
	return min(provision.SetupLease, u.exp.Sandbox.Timeout)
}

// choice is what the driver needs to know of one.
func (u *up) choice(c plan.Choice, r machine.Record) (machine.Choice, error) {
	python, search, boot := "python3", "", loader.Boot{
		Listen: fmt.Sprintf("tcp:0.0.0.0:%d", provision.RuntimePort), AdminSHA256: protocol.HashToken(r.AdminToken),
		BootSeconds: provision.RentedBootTimeout.Seconds(), Cache: u.diskCache(),
	}
	if c.HostMounts {
		boot.BootSeconds, boot.Cache = provision.BootTimeout.Seconds(), ""
	}
	var mounts []sdk.Mount
	if c.HostMounts {
		var err error
		if mounts, err = u.mounts(c); err != nil {
			return machine.Choice{}, err
		}
	}
	spec := u.plan.Spec(c)
	var spared []int
	if u.building == nil {
		spared = session.AddPorts(&spec, u.exp.Sandbox, u.network(c))
	}
	hostPython := spec.Image == nil
	if c.HostMounts && !c.BuildsImage {
		spec.Image = u.startsFrom(spec.Image)
	}
	if c.Provider == localName && hostPython {
		interpreter, err := u.engine.python.At(u.plan.Python)
		if err != nil {
			return machine.Choice{}, err
		}
		python = interpreter.Executable
		if u.plan.Python != "" {
			mounts, search = append(mounts, shown(interpreter, c)...), interpreter.SearchPath()
		}
	}
	spec.Name, spec.Command, spec.Port = r.Name, loader.Command(python), provision.RuntimePort
	spec.Mounts = mounts
	longest := time.Duration(0)
	if c.Provider == localName { // a look costs nothing here
		longest = provision.LocalPoll
	}
	return machine.Choice{
		LongestPoll: longest,
		Provider:    c.Provider, Spec: spec, Isolation: c.Isolation, GPU: c.GPU, Region: c.Region, CostPerHour: costOf(c),
		Poll: time.Duration(c.PollSeconds * float64(time.Second)), Spared: spared,
		Prepare: func(spec *sdk.MachineSpec) (err error) {
			boot.EndUnix, boot.Machine = spec.EndUnix, spec.Key
			if spec.Env, err = loader.BootEnv(boot); err != nil {
				return err
			}
			if search != "" {
				spec.Env["PATH"] = search
			}
			if ports := u.plan.HostPorts; len(ports) > 0 && c.Provider == localName {
				spec.Env[local.HostPortsVariable] = local.HostPorts(ports)
			}
			return nil
		},
	}, nil
}

func costOf(c plan.Choice) float64 {
	if c.CostPerHour == nil {
		return 0
	}
	return *c.CostPerHour
}

// mounts are the folders and files of this computer that a local machine is shown.
func (u *up) mounts(c plan.Choice) ([]sdk.Mount, error) {
	if u.building != nil {
		return u.building.Mounts, nil
	}
	mounts := u.installation.Mounts(c)
	for _, m := range u.models {
		mounts = append(mounts, sdk.Mount{Source: m.Local, Target: m.Path})
	}
	if u.vscode != nil && c.Isolation != "none" {
		mounts = append(mounts, u.vscode.Mounts()...)
	}
	for _, up := range u.plan.UploadsOf(c) {
		if up.Mount {
			mounts = append(mounts, sdk.Mount{Source: up.Local, Target: up.Remote})
		}
	}
	return mounts, nil
}

// diskCache is a folder on a disk that outlives the machine, where there is one.
func (u *up) diskCache() string {
	for _, v := range u.exp.Sandbox.Volumes {
		if !v.ReadOnly {
			return path.Join(v.Path, ".seer")
		}
	}
	return ""
}
