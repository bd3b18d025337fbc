package enginetest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

// Op is a method of a provider.
type Op string

// The operations that a [Fault] can hit.
const (
	OpDescribe  Op = "describe"
	OpOffers    Op = "offers"
	OpCreate    Op = "create"
	OpObserve   Op = "observe"
	OpList      Op = "list"
	OpTerminate Op = "terminate"
)

// Call is one call of a provider: the n-th of its operation, counted from 1.
type Call struct {
	Op Op
	N  int
}

// Fault is asked about every call. A nil error lets it happen. Whatever else a
// test wants to do in the middle of a call, such as cancel or panic, it can do
// here.
type Fault func(Call) error

// Script says how a [Provider] behaves. The zero value gives a running machine at
// the first call.
type Script struct {
	Steps       int           // calls of Create that only give a cursor; the machine is rented at the first one
	StepDelay   time.Duration // asked for between them
	Queue       time.Duration // from the handle until there is capacity for it
	Build       time.Duration // from then until its image is made
	Boot        time.Duration // from then until it runs
	ListDelay   time.Duration // from the first call of Create until the machine is in the list
	CostPerHour float64       // of a machine, whatever its offer says
	PollSeconds float64       // as Describe tells

	Offers  []sdk.Offer // what can be rented; nil = one machine without a GPU, at CostPerHour
	Sold    []string    // IDs of offers, or GPUs, of which Create says that none is free
	NoPorts bool        // it makes no machine with further ports

	Before Fault // the call fails without an effect
	After  Fault // the call has its effect, but its answer is lost
}

// Provider is a fake cloud, in memory. It is safe for concurrent use.
type Provider struct {
	name  string
	clock interface{ Now() time.Time }

	mu       sync.Mutex
	script   Script
	machines map[string]*Machine // by key
	calls    map[Op]int
}

// Machine is what a [Provider] has rented.
type Machine struct {
	Handle, Key, Owner string
	Spec               sdk.MachineSpec
	State              sdk.State

	step   int
	made   time.Time
	rented time.Time // when the handle was given
}

var _ sdk.Provider = (*Provider)(nil)

// NewProvider makes a provider whose machines boot by the given clock.
func NewProvider(name string, clock interface{ Now() time.Time }, script Script) *Provider {
	return &Provider{name: name, clock: clock, script: script, machines: map[string]*Machine{}, calls: map[Op]int{}}
}

// SetScript changes the behaviour from now on.
func (p *Provider) SetScript(s Script) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script = s
}

// Live lists the machines that cost money now.
func (p *Provider) Live() []Machine {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Machine
	for _, m := range p.machines {
		if m.State.Live() {
			out = append(out, *m)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Handle < out[j].Handle })
	return out
}

// Calls is how often an operation was called.
func (p *Provider) Calls(op Op) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[op]
}

// Twin is a second machine of the key, which a provider that answers wrongly may make.
func (p *Provider) Twin(key string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := *p.machines[key]
	m.Handle += "-twin"
	p.machines[key+"-twin"] = &m
	return m.Handle
}

// Stop lets a machine end by itself.
func (p *Provider) Stop(handle string, state sdk.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.machines {
		if m.Handle == handle {
			m.State = state
		}
	}
}

// Describe implements [sdk.Provider].
func (p *Provider) Describe(ctx context.Context) (info sdk.ProviderInfo, err error) {
	err = p.do(ctx, OpDescribe, func() error {
		info = sdk.ProviderInfo{Name: p.name, Title: "a fake cloud", Features: []sdk.Feature{sdk.FeatureTags, sdk.FeatureSelfEnd},
			PollSeconds: p.script.PollSeconds}
		return nil
	})
	return info, err
}

// Offers implements [sdk.Provider].
func (p *Provider) Offers(ctx context.Context, q sdk.OfferQuery) (offers []sdk.Offer, err error) {
	err = p.do(ctx, OpOffers, func() error {
		all := p.script.Offers
		if all == nil {
			all = []sdk.Offer{{ID: "small", CostPerHour: p.script.CostPerHour, Stock: sdk.StockHigh}}
		}
		for _, o := range all {
			if q.GPU == "" || gpu.Match(q.GPU, o.GPU) {
				offers = append(offers, o)
			}
		}
		return nil
	})
	return offers, err
}

// sold reports whether nothing is free for a spec.
func (s Script) sold(spec sdk.MachineSpec) bool {
	return slices.ContainsFunc(s.Sold, func(name string) bool {
		return name == spec.Offer && name != "" || spec.GPU != "" && gpu.Match(name, spec.GPU)
	})
}

// Create implements [sdk.Provider]. It rents at the first call of a key and gives
// the handle at the last one, as clouds do.
func (p *Provider) Create(ctx context.Context, spec sdk.MachineSpec, cursor json.RawMessage) (step sdk.CreateStep, err error) {
	err = p.do(ctx, OpCreate, func() error {
		m := p.machines[spec.Key]
		if m == nil && p.script.sold(spec) {
			return sdk.Errorf(sdk.NoCapacity, "no %s is free", cmp.Or(spec.GPU, spec.Offer))
		}
		if p.script.NoPorts && len(spec.Ports) > 0 {
			return sdk.Errorf(sdk.Unsupported, "%s has no further ports", p.name)
		}
		if m == nil {
			m = &Machine{Handle: fmt.Sprintf("%s-%d", p.name, len(p.machines)+1), Key: spec.Key, Owner: spec.Owner, Spec: spec, State: sdk.Pending, made: p.clock.Now()}
			p.machines[spec.Key] = m
		}
		if err := checkCursor(cursor, m.step); err != nil {
			return err
		}
		if m.step < p.script.Steps {
			m.step++
			step.Cursor = json.RawMessage(fmt.Sprintf(`{"step":%d}`, m.step))
			step.Log = []string{fmt.Sprintf("step %d of %d", m.step, p.script.Steps)}
			step.AfterSeconds = p.script.StepDelay.Seconds()
			return nil
		}
		if m.rented.IsZero() {
			m.rented = p.clock.Now()
		}
		step.Handle = m.Handle
		return nil
	})
	if err != nil {
		return sdk.CreateStep{}, err
	}
	return step, nil
}

// checkCursor wants the cursor that was given out, the one before it when that
// answer was lost, or none.
func checkCursor(cursor json.RawMessage, step int) error {
	if len(cursor) == 0 {
		return nil
	}
	var c struct{ Step int }
	if err := json.Unmarshal(cursor, &c); err != nil || c.Step > step {
		return sdk.Errorf(sdk.Invalid, "the cursor %s was never given out", cursor)
	}
	return nil
}

// Observe implements [sdk.Provider].
func (p *Provider) Observe(ctx context.Context, handles []string) (out []sdk.Observation, err error) {
	err = p.do(ctx, OpObserve, func() error {
		for _, h := range handles {
			out = append(out, p.observe(h))
		}
		return nil
	})
	return out, err
}

func (p *Provider) observe(handle string) sdk.Observation {
	for _, m := range p.machines {
		if m.Handle != handle {
			continue
		}
		if m.State.Live() && m.State != sdk.Running && !m.rented.IsZero() {
			m.State = p.script.stateAfter(p.clock.Now().Sub(m.rented))
		}
		o := sdk.Observation{Handle: handle, State: m.State, CostPerHour: p.script.CostPerHour}
		if m.State == sdk.Running {
			o.Endpoints = []sdk.Endpoint{{Port: m.Spec.Port, URL: "https://" + m.Handle + ".test"}}
		}
		return o
	}
	return sdk.Observation{Handle: handle, State: sdk.Stopped}
}

// stateAfter is how far a machine is, some time after its handle was given.
func (s Script) stateAfter(passed time.Duration) sdk.State {
	switch {
	case passed < s.Queue:
		return sdk.Pending
	case passed < s.Queue+s.Build:
		return sdk.Building
	case passed < s.Queue+s.Build+s.Boot:
		return sdk.Starting
	default:
		return sdk.Running
	}
}

// List implements [sdk.Provider].
func (p *Provider) List(ctx context.Context, owner string) (out []sdk.Listed, err error) {
	err = p.do(ctx, OpList, func() error {
		for _, m := range p.machines {
			if m.Owner == owner && m.State.Live() && (p.script.ListDelay == 0 || p.clock.Now().Sub(m.made) >= p.script.ListDelay) {
				out = append(out, sdk.Listed{Handle: m.Handle, Key: m.Key, Owner: m.Owner, State: m.State, EndUnix: m.Spec.EndUnix})
			}
		}
		sort.Slice(out, func(i, j int) bool { return out[i].Handle < out[j].Handle })
		return nil
	})
	return out, err
}

// Terminate implements [sdk.Provider].
func (p *Provider) Terminate(ctx context.Context, handle string) error {
	return p.do(ctx, OpTerminate, func() error {
		for _, m := range p.machines {
			if m.Handle == handle {
				m.State = sdk.Stopped
			}
		}
		return nil
	})
}

// do counts a call and puts the script's faults around it.
func (p *Provider) do(ctx context.Context, op Op, effect func() error) error {
	p.mu.Lock()
	p.calls[op]++
	call, before, after := Call{op, p.calls[op]}, p.script.Before, p.script.After
	p.mu.Unlock()
	// The faults run without the lock: they may call the provider, or never return.
	if before != nil {
		if err := before(call); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := p.effect(effect); err != nil {
		return err
	}
	if after != nil {
		return after(call)
	}
	return nil
}

func (p *Provider) effect(f func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return f()
}
