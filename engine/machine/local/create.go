package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seer-engine/seer/engine/gpulease"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local/internal/rootfs"
	"github.com/seer-engine/seer/engine/machine/local/proc"
	"github.com/seer-engine/seer/sdk"
)

// Create starts the machine's program in one step. What it intends is on disk
// before the program is started, and the program carries the key in its
// environment: whoever comes after a crash finds either of them.
func (p *provider) Create(ctx context.Context, spec sdk.MachineSpec, _ json.RawMessage) (sdk.CreateStep, error) {
	again, choice, err := p.admit(ctx, &spec)
	if err != nil {
		return sdk.CreateStep{}, err
	}
	handle := handleOf(spec.Key)
	lock, err := p.lock(ctx, handle)
	if err != nil {
		return sdk.CreateStep{}, err
	}
	defer lock.Release()
	step := sdk.CreateStep{Handle: handle}
	f := p.folder(handle)
	if done, err := p.created(f, spec.Key); done || err != nil {
		return step, err
	}
	tree, lines, ready, err := p.roots.Prepare(ctx, spec.Image, choice.Kind)
	switch {
	case err != nil:
		lock.Remove()
		return sdk.CreateStep{}, err
	case !ready:
		lock.Remove()
		return sdk.CreateStep{Cursor: json.RawMessage(`{"image":true}`), Log: lines, AfterSeconds: 0.1}, nil
	}
	if err := again.fits(choice.Kind, tree); err != nil {
		lock.Remove()
		return sdk.CreateStep{}, err
	}
	step.Log = append(lines, describe(choice, spec.NestedSandbox)...)
	way, log, err := p.way(ctx, &spec, choice.Kind)
	if err != nil {
		lock.Remove()
		return sdk.CreateStep{}, err
	}
	step.Log = append(step.Log, log...)
	n := &note{Key: spec.Key, Owner: spec.Owner, Computer: proc.Here(), Port: spec.Port, Ports: spec.Ports, Isolation: choice.Kind, CreatedAt: time.Now().UTC(), EndUnix: p.endOf(spec), Spec: &spec,
		NetProxy: way, System: tree}
	warning := confine(handle, n)
	more, err := p.start(ctx, handle, f, n, again)
	if err != nil {
		gpulease.End(n.claims)
		lock.Remove()
		return sdk.CreateStep{}, fmt.Errorf("start the machine: %w", err)
	}
	if warning += more; warning != "" {
		step.Log = append(step.Log, warning)
	}
	return step, nil
}

// endOf is the end of a machine by the clock of this computer; 0 = none.
func (o Options) endOf(spec sdk.MachineSpec) int64 {
	if spec.EndUnix == 0 {
		return 0
	}
	return spec.EndUnix + o.ahead()
}

// ahead is Ahead in seconds.
func (o Options) ahead() int64 {
	if o.Ahead == nil {
		return 0
	}
	return int64(o.Ahead() / time.Second)
}

// admit refuses what cannot be made here, and chooses the isolation.
func (p *provider) admit(ctx context.Context, spec *sdk.MachineSpec) (again *restored, choice isolation.Choice, err error) {
	if err := check(*spec); err != nil {
		return nil, choice, err
	}
	again, err = restoreOf(spec)
	if err != nil {
		return nil, choice, err
	}
	choice, err = p.trials.choose(ctx, spec.Isolation)
	if err != nil {
		return nil, choice, err
	}
	if err := p.permitted(spec, choice.Kind); err != nil {
		return nil, choice, err
	}
	if choice.Kind == isolation.None && (spec.Network == "none" || spec.Network == "hosts") {
		return nil, choice, sdk.Errorf(sdk.Unsupported, "network %s cannot be kept without isolation, because it needs a namespace%s",
			spec.Network, choice.Because())
	}
	if err := rootfs.CheckImage(spec.Image, choice); err != nil {
		return nil, choice, err
	}
	return again, choice, nil
}

// permitted refuses what the administrator of this computer does not allow. The machine may be one of
// a user of another computer, who has come by SSH or with a job.
func (p *provider) permitted(spec *sdk.MachineSpec, kind string) error {
	rules, err := p.Policy()
	if err != nil {
		return err
	}
	return errors.Join(rules.Provider(Name), rules.Isolation(kind), rules.Network(spec.Network, spec.NetworkHosts))
}

func describe(choice isolation.Choice, nested bool) []string {
	out := []string{"isolation: " + choice.Kind}
	if nested {
		out[0] += ", programs in the sandbox may make sandboxes of their own"
	}
	if choice.Warning != "" {
		out = append(out, choice.Warning)
	}
	return out
}

// created reports whether the key has a machine, running or ended. After a start
// that died half-way it is found by its cookie. None can be overlooked: a child
// that has been forked but does not carry the cookie yet still holds the lock.
func (p *provider) created(f folder, key string) (bool, error) {
	n, err := f.read()
	if err != nil || n == nil {
		return false, err
	}
	if n.Outer.PID != 0 {
		return true, nil
	}
	found, err := carriers(machineCookie(key))
	if err != nil || len(found) == 0 {
		return false, err
	}
	n.Outer = proc.Eldest(found)
	return true, f.write(n)
}
