package ssh

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/plugins/internal/bare"
	"github.com/seer-engine/seer/sdk"
)

// cursor is where a creation has got: the host, and the cursor of its provider.
type cursor struct {
	Host  string          `json:"host"`
	Inner json.RawMessage `json:"inner,omitempty"`
}

// Create implements [sdk.Provider]. The offer says on which host. Without one it is a host that
// has the machine of this key already, or else the first that has what is asked for.
func (p *Provider) Create(ctx context.Context, spec sdk.MachineSpec, raw json.RawMessage) (sdk.CreateStep, error) {
	if err := bare.Refused(Name, "host", spec); err != nil {
		return sdk.CreateStep{}, err
	}
	hosts, err := p.hosts(spec.Options)
	if err != nil {
		return sdk.CreateStep{}, err
	}
	at := cursor{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &at); err != nil || at.Host == "" {
			return sdk.CreateStep{}, sdk.Errorf(sdk.Invalid, "the cursor is not one of this provider")
		}
	} else if at.Host, err = p.place(ctx, hosts, spec); err != nil {
		return sdk.CreateStep{}, err
	}
	return p.createOn(ctx, at, spec)
}

// createInput is that of the contract, with the time here: the end of the machine is set by the
// clock of this computer, and kept by that of the host.
type createInput struct {
	sdk.CreateInput
	NowUnix int64 `json:"now_unix"`
}

// createOn takes one step of the provider of a host.
func (p *Provider) createOn(ctx context.Context, at cursor, spec sdk.MachineSpec) (sdk.CreateStep, error) {
	o, err := parseOptions(spec.Options)
	if err != nil {
		return sdk.CreateStep{}, err
	}
	_, spec.Offer, _ = split(spec.Offer)
	spec.Regions = nil
	if spec.Options, err = bare.Options(o.VolumesDir); err != nil {
		return sdk.CreateStep{}, err
	}
	spec.AnyPort = slices.Clone(spec.Ports) // Seer carries them from wherever they are
	if spec.Isolation == auto || spec.Isolation == "" {
		if spec.Isolation, err = p.isolation(ctx, at.Host); err != nil {
			return sdk.CreateStep{}, err
		}
	}
	step, err := ask[sdk.CreateStep](ctx, p, at.Host, "create", createInput{sdk.CreateInput{Spec: spec, Cursor: at.Inner}, time.Now().Unix()})
	if err != nil {
		return sdk.CreateStep{}, err
	}
	if step.Handle != "" {
		step.Handle, step.Cursor = join(at.Host, step.Handle), nil
		return step, nil
	}
	step.Cursor, err = json.Marshal(cursor{at.Host, step.Cursor})
	return step, err
}

// place chooses the host of a new machine.
func (p *Provider) place(ctx context.Context, hosts []string, spec sdk.MachineSpec) (string, error) {
	if spec.Offer != "" {
		host, _, ok := split(spec.Offer)
		if !ok || !slices.Contains(hosts, host) {
			return "", sdk.Errorf(sdk.Invalid, "the offer %q is not of the hosts %s", spec.Offer, strings.Join(hosts, ", "))
		}
		return host, nil
	}
	if len(spec.Regions) > 0 {
		hosts = slices.DeleteFunc(slices.Clone(hosts), func(host string) bool { return !slices.Contains(spec.Regions, host) })
	}
	if len(hosts) > 1 {
		host, err := p.holder(ctx, hosts, spec)
		if host != "" || err != nil {
			return host, err
		}
	}
	q := sdk.OfferQuery{GPU: spec.GPU, GPUCount: spec.GPUCount, CPU: spec.CPU, MemoryGB: spec.MemoryGB}
	answers := askAll[[]sdk.Offer](ctx, p, hosts, "offers", func(string) any { return q })
	for _, a := range answers {
		if slices.ContainsFunc(a.out, func(o sdk.Offer) bool { return o.Stock != sdk.StockNone }) {
			return a.host, nil
		}
	}
	if err := failed(answers); err != nil {
		return "", err
	}
	return "", sdk.Errorf(sdk.NoCapacity, "none of the hosts %s has what is asked for free now", strings.Join(hosts, ", "))
}

// holder is the host that has the machine of the key; empty = none has. All must answer: a
// second machine elsewhere would be nobody's.
func (p *Provider) holder(ctx context.Context, hosts []string, spec sdk.MachineSpec) (string, error) {
	answers := askAll[[]sdk.Listed](ctx, p, hosts, "list", func(string) any { return listInput{sdk.ListInput{Owner: spec.Owner}, time.Now().Unix()} })
	for _, a := range answers {
		if slices.ContainsFunc(a.out, func(m sdk.Listed) bool { return m.Key == spec.Key }) {
			return a.host, nil
		}
	}
	return "", failed(answers)
}

// isolation is the best of those that work on a host.
func (p *Provider) isolation(ctx context.Context, host string) (string, error) {
	info, err := ask[sdk.ProviderInfo](ctx, p, host, "describe", struct{}{})
	if err != nil {
		return "", err
	}
	var reasons []string
	for _, i := range info.Isolations {
		if i.Name == none {
			continue
		}
		if i.Usable {
			return i.Name, nil
		}
		reasons = append(reasons, i.Name+": "+i.Reason)
	}
	return "", sdk.Errorf(sdk.Unsupported, "on %s: nothing keeps a sandbox apart from the host (%s); install bubblewrap there, or set sandbox.isolation to none to do without", host, strings.Join(reasons, "; "))
}
