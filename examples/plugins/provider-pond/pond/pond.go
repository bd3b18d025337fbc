// Package pond rents machines on Pond, whose API is in ../../pond-simulator/API.md.
package pond

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
	"github.com/seer-engine/seer/sdk/guest/guestapi"
)

// Provider implements [sdk.Provider]. In a plugin API.Sender is nil: the host.
type Provider struct{ API guestapi.Client }

// New makes a provider for the server at address. Pond's own error codes are told apart
// where the status alone does not say enough.
func New(address string) *Provider {
	return &Provider{guestapi.Client{Name: "Pond", URL: address, Codes: map[string]sdk.Code{"sold_out": sdk.NoCapacity}, KeyHint: "make a key at https://pond.example/keys"}}
}

type machine struct {
	ID, Key, Owner, State, URL, Reason string
	Port                               int
	Hourly                             float64 `json:"usd_per_hour"`
	EndUnix                            int64   `json:"end_unix"`
}

var states = map[string]sdk.State{"queued": sdk.Pending, "booting": sdk.Starting, "up": sdk.Running, "ended": sdk.Stopped, "failed": sdk.Failed}

// Describe implements [sdk.Provider]. A machine ends with its command, and the bill with it.
func (*Provider) Describe(context.Context) (sdk.ProviderInfo, error) {
	return sdk.ProviderInfo{Name: "pond", Title: "Pond", Features: []sdk.Feature{sdk.FeatureSelfEnd}, PollSeconds: 1}, nil
}

// Offers implements [sdk.Provider].
func (p *Provider) Offers(ctx context.Context, q sdk.OfferQuery) (offers []sdk.Offer, err error) {
	if o := string(q.Options); o != "" && o != "{}" && o != "null" {
		return nil, sdk.Errorf(sdk.Invalid, "Pond has no provider_options; leave them out")
	}
	var a struct {
		Prices []struct {
			Size, GPU, Region string
			CPUs, Free        float64
			Memory            float64 `json:"memory_gb"`
			Hourly            float64 `json:"usd_per_hour"`
		}
	}
	err = p.API.Do(ctx, guestapi.Request{Doing: "asking for prices", Method: "GET", Path: "/v1/prices"}, &a)
	for _, o := range a.Prices {
		// n is how many GPUs it has, for Pond's have one or none.
		name, n := gpu.Canonical(o.GPU), min(len(o.GPU), 1)
		wanted := n == min(len(q.GPU), 1) && (n == 0 || gpu.Match(q.GPU, name)) && q.GPUCount <= 1 && q.DiskGB == 0 && o.Free > 0
		if wanted && o.CPUs >= q.CPU && o.Memory >= q.MemoryGB && (len(q.Regions) == 0 || slices.Contains(q.Regions, o.Region)) {
			offers = append(offers, sdk.Offer{ID: o.Size, GPU: name, GPUCount: n, MemoryGB: o.Memory, Region: o.Region, CostPerHour: o.Hourly})
		}
	}
	return offers, err
}

// Create implements [sdk.Provider]. Pond itself makes one machine for one key.
func (p *Provider) Create(ctx context.Context, s sdk.MachineSpec, _ json.RawMessage) (sdk.CreateStep, error) {
	if s.Image != nil || s.DiskGB > 0 || len(s.Ports)+len(s.Volumes)+len(s.Mounts)+len(s.NetworkHosts) > 0 || !slices.Contains([]string{"", "auto"}, s.Isolation) || !slices.Contains([]string{"", "open"}, s.Network) {
		return sdk.CreateStep{}, sdk.Errorf(sdk.Unsupported, "Pond has one kind of machine: it takes no image, disk, volume, mount, further port, network or isolation")
	}
	fit, err := p.Offers(ctx, sdk.OfferQuery{GPU: s.GPU, GPUCount: s.GPUCount, CPU: s.CPU, MemoryGB: s.MemoryGB, Regions: s.Regions, Options: s.Options})
	switch { // with an offer, too: wrong options are refused
	case err != nil:
		return sdk.CreateStep{}, err
	case s.Offer == "" && len(fit) == 0:
		return sdk.CreateStep{}, sdk.Errorf(sdk.NoCapacity, "Pond has nothing free that fits; see `seer offers --provider pond`")
	case s.Offer == "":
		s.Offer = fit[0].ID
	}
	m, body := machine{}, map[string]any{"size": s.Offer, "owner": s.Owner, "name": s.Name, "command": s.Command, "env": s.Env, "port": s.Port, "end_unix": s.EndUnix}
	err = p.API.Do(ctx, guestapi.Request{Doing: "renting a " + s.Offer, Method: "POST", Path: "/v1/machines", Body: body, Header: guestapi.Header{"Idempotency-Key": {s.Key}}}, &m)
	if err == nil && m.ID == "" { // asked again, Pond gives the same machine
		err = sdk.Errorf(sdk.Unavailable, "renting a %s: Pond gives no id", s.Offer)
	}
	return sdk.CreateStep{Handle: m.ID}, err
}

func (p *Provider) machines(ctx context.Context, query url.Values) ([]machine, error) {
	var a struct{ Machines []machine }
	err := p.API.Do(ctx, guestapi.Request{Doing: "listing machines", Method: "GET", Path: "/v1/machines", Query: query}, &a)
	return a.Machines, err
}

// Observe implements [sdk.Provider], with one request for all handles.
func (p *Provider) Observe(ctx context.Context, handles []string) (seen []sdk.Observation, err error) {
	all, err := p.machines(ctx, nil)
	for _, h := range handles {
		m := machine{State: "ended", Reason: "Pond does not know it"}
		if at := slices.IndexFunc(all, func(m machine) bool { return m.ID == h }); at >= 0 {
			m = all[at]
		}
		seen = append(seen, sdk.Observation{Handle: h, State: states[m.State], Message: m.Reason, CostPerHour: m.Hourly})
		if m.State == "up" {
			seen[len(seen)-1].Endpoints = []sdk.Endpoint{{Port: m.Port, URL: m.URL}}
		}
	}
	return seen, err
}

// List implements [sdk.Provider].
func (p *Provider) List(ctx context.Context, owner string) (found []sdk.Listed, err error) {
	all, err := p.machines(ctx, url.Values{"owner": {owner}})
	for _, m := range all {
		if m.Owner == owner {
			found = append(found, sdk.Listed{Handle: m.ID, Key: m.Key, Owner: m.Owner, State: states[m.State], EndUnix: m.EndUnix})
		}
	}
	return found, err
}

// Terminate implements [sdk.Provider].
func (p *Provider) Terminate(ctx context.Context, handle string) error {
	if err := p.API.Do(ctx, guestapi.Request{Doing: "ending " + handle, Method: "DELETE", Path: "/v1/machines/" + url.PathEscape(handle)}, nil); sdk.CodeOf(err) != sdk.NotFound {
		return err
	}
	return nil
}
