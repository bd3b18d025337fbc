package provision

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/engine/snapshot/files"
	"github.com/seer-engine/seer/sdk"
)

// rent has the driver start a machine.
func (s *start) rent(ctx context.Context) error {
	r, err := s.record()
	if err != nil {
		return err
	}
	var choices []machine.Choice
	for _, c := range s.Plan.Choices {
		choice, err := s.choice(c, r)
		if err != nil {
			return err
		}
		choices = append(choices, choice)
	}
	s.Report.Send(event.MachineStarting{Provider: s.Plan.Provider, Isolation: s.Plan.Isolation})
	s.machine.Record, err = s.Driver.Start(ctx, r, choices, s.event)
	for _, c := range s.Plan.Choices { // what matters of it is the same for all of a provider
		if c.Provider == s.machine.Record.Provider {
			s.chosen = c
		}
	}
	ReportPorts(s.machine.Record, s.Experiment.Sandbox.Ports, s.Report)
	if s.build == nil {
		err = s.Installation.Forget(err)
	}
	return err
}

// event reports one of the driver's.
func (s *start) event(ev machine.Event) {
	if ev.Text == "" {
		return
	}
	switch ev.Kind {
	case machine.EventLog:
		s.Report.Output(event.StageMachine, ev.Text)
	case machine.EventUnexposed:
		s.unexposedPorts = true
		s.Report.Send(event.MachineWarning{Message: ev.Text, Advice: event.Advice{Remedies: ev.Remedies}})
	case machine.EventChoice: // the next provider may have it
		s.unexposedPorts = false
		s.Report.Send(event.MachineMessage{Message: ev.Text})
	default:
		s.Report.Send(event.MachineMessage{Message: ev.Text})
	}
}

// record is that of the new machine.
func (s *start) record() (machine.Record, error) {
	r := machine.NewRecord()
	r.Name, r.Network, r.Owner = s.Name, s.Plan.Network, s.Ledger.Owner()
	if s.build != nil {
		r.Builds = s.build.Purpose
	}
	r.MaxPrice, r.Budget = s.Experiment.Sandbox.MaxPrice, s.Experiment.Sandbox.Budget
	r.AdminToken, r.ExperimentFile, r.Models = protocol.NewToken(), s.Experiment.File, slices.Clone(s.Models)
	for i := range r.Models {
		if s.remote(i) != nil && !r.Models[i].Hidden { // an outline is not the model
			r.Models[i].Local = ""
		}
	}
	r.Lease = machine.NewLease(machine.Attached, s.ttl(), s.Now())
	r.Lease.IdleSeconds = int64(s.Experiment.Sandbox.IdleTimeout / time.Second)
	config, err := s.Experiment.Config()
	if err != nil {
		return r, err
	}
	return r, session.SetState(&r, func(state *session.State) {
		state.Mode, state.Config, state.Layer, state.Network = s.Experiment.Sandbox.ExecutionMode, config, s.layerKey(), files.NetworkLabel(s.Experiment.Sandbox)
		if spec := s.Hidden.Spec(); len(spec.Names) > 0 {
			state.Hidden = &spec
		}
	})
}

// layerKey names what the machine is shown of packages and repositories.
func (s *start) layerKey() string {
	if s.build != nil {
		return s.build.Layer
	}
	return s.Installation.LayerKey()
}

// ttl is how long the machine lives without a sign of this program, until it is set up.
func (s *start) ttl() time.Duration {
	return cmp.Or(s.Attached, min(SetupLease, s.Experiment.Sandbox.Timeout))
}

// choice is what the driver needs to know of one.
func (s *start) choice(c plan.Choice, r machine.Record) (machine.Choice, error) {
	spec := s.Plan.Spec(c)
	var optional []int
	if s.build == nil {
		optional = session.AddPorts(&spec, s.Experiment.Sandbox, s.network(c))
	}
	spec.Mounts = nil
	if c.Own && s.build == nil {
		var err error
		if spec.Folders, err = s.folders(c); err != nil {
			return machine.Choice{}, err
		}
	}
	if c.HostMounts {
		spec.Mounts = s.mounts(c)
	}
	python, search := "python3", ""
	if c.Provider == local.Name && spec.Image == nil {
		interpreter, err := s.Python(s.Plan.Python)
		if err != nil {
			return machine.Choice{}, err
		}
		python = interpreter.Executable
		if s.Plan.Python != "" {
			spec.Mounts, search = append(spec.Mounts, interpreterMounts(interpreter, c)...), interpreter.SearchPath()
		}
	}
	if c.HostMounts && !c.BuildsImage {
		spec.Image = s.image(spec.Image)
	}
	spec.Name, spec.Command, spec.Port = cmp.Or(r.Name, r.ID), loader.Command(python), RuntimePort
	longest := time.Duration(0)
	if c.Provider == local.Name { // a look costs nothing here
		longest = LocalPoll
	}
	return machine.Choice{
		LongestPoll: longest, MaxWait: s.MaxWait,
		Provider: c.Provider, Spec: spec, Isolation: c.Isolation, GPU: c.GPU, Region: c.Region, CostPerHour: costOf(c),
		Poll: time.Duration(c.PollSeconds * float64(time.Second)), OptionalPorts: optional,
		Prepare: s.bootEnv(c, r, search),
	}, nil
}

// bootEnv sets the variables with which a machine boots, once its key and end are known.
func (s *start) bootEnv(c plan.Choice, r machine.Record, search string) func(*sdk.MachineSpec) error {
	boot := loader.Boot{
		Listen: fmt.Sprintf("tcp:0.0.0.0:%d", RuntimePort), AdminSHA256: protocol.HashToken(r.AdminToken),
		BootSeconds: RentedBootTimeout.Seconds(), Cache: s.diskCache(),
	}
	if c.HostMounts {
		boot.BootSeconds, boot.Cache = BootTimeout.Seconds(), ""
	}
	return func(spec *sdk.MachineSpec) (err error) {
		boot.EndUnix, boot.Machine = spec.EndUnix, spec.Key
		if spec.Env, err = loader.BootEnv(boot); err != nil {
			return err
		}
		if search != "" {
			spec.Env["PATH"] = search
		}
		if ports := s.Plan.HostPorts; len(ports) > 0 && c.Provider == local.Name {
			spec.Env[local.HostPortsVariable] = local.HostPorts(ports)
		}
		return nil
	}
}

func costOf(c plan.Choice) float64 {
	if c.CostPerHour == nil {
		return 0
	}
	return *c.CostPerHour
}

// network says how the ports of a machine are reached.
func (s *start) network(c plan.Choice) session.Network {
	open := s.Plan.Network == "open" && (c.Isolation == "none" || c.Isolation == "")
	return session.Network{Here: c.HostMounts, Shared: s.Plan.Network == "host" || open, Carried: c.Own}
}

// system are folders that nothing is put into from outside, or that machines have anyway.
var system = []string{"bin", "dev", "etc", "home", "lib", "lib64", "proc", "run", "sbin", "seer", "sys", "tmp", "usr", "var", "workspace"}

// folders are where models, files and folders go on a machine whose root cannot be changed. A
// folder directly below / is one of them; a file there cannot be made.
func (s *start) folders(c plan.Choice) ([]string, error) {
	var all []string
	add := func(target string, folder bool) bool {
		target = path.Clean(target)
		dir := path.Dir(target)
		if dir == "/" && folder {
			dir = target
		}
		top, _, _ := strings.Cut(strings.TrimPrefix(dir, "/"), "/")
		if top != "" && !slices.Contains(system, top) {
			all = append(all, dir)
		}
		return top != ""
	}
	for _, m := range s.Models {
		add(m.Path, true)
	}
	for _, up := range s.Plan.UploadsOf(c) {
		if !add(up.Remote, up.Folder) {
			return nil, sdk.Errorf(sdk.Unsupported, "upload %s: nothing can be put directly below / on a machine of the provider %s; put it into a folder, such as /data%s", up.Local, c.Provider, path.Clean(up.Remote))
		}
	}
	slices.Sort(all)
	var out []string // without those below others, which are made there
	for _, dir := range all {
		if !slices.ContainsFunc(out, func(above string) bool { return dir == above || strings.HasPrefix(dir, above+"/") }) {
			out = append(out, dir)
		}
	}
	return out, nil
}

// image is what a machine of this computer starts from: what has been made for it.
func (s *start) image(planned *sdk.Image) *sdk.Image {
	if s.build != nil {
		return cmp.Or(s.build.Image, planned)
	}
	return s.Installation.Image(planned)
}

// mounts are the folders and files of this computer that a local machine is shown.
func (s *start) mounts(c plan.Choice) []sdk.Mount {
	if s.build != nil {
		return s.build.Mounts
	}
	mounts := s.Installation.Mounts(c)
	for _, m := range s.Models {
		mounts = append(mounts, sdk.Mount{Source: m.Local, Target: m.Path})
	}
	if s.CodeServer.Program != nil && c.Isolation != "none" {
		mounts = append(mounts, s.CodeServer.Program.Mounts()...)
	}
	for _, up := range s.Plan.UploadsOf(c) {
		if up.Mount {
			mounts = append(mounts, sdk.Mount{Source: up.Local, Target: up.Remote})
		}
	}
	return mounts
}

// interpreterMounts are the folders of an interpreter that a machine must see, beyond the
// system's.
func interpreterMounts(i isolation.Interpreter, c plan.Choice) []sdk.Mount {
	var mounts []sdk.Mount
	for _, path := range i.Paths {
		if c.Layered() && !strings.HasPrefix(path, "/usr/") {
			mounts = append(mounts, sdk.Mount{Source: path, Target: path})
		}
	}
	return mounts
}

// diskCache is a folder on a disk that outlives the machine, where there is one.
func (s *start) diskCache() string {
	for _, v := range s.Experiment.Sandbox.Volumes {
		if !v.ReadOnly {
			return path.Join(v.Path, ".seer")
		}
	}
	return ""
}
