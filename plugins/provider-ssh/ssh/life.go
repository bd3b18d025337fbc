package ssh

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/seer-engine/seer/plugins/internal/bare"
	"github.com/seer-engine/seer/sdk"
)

// Observe implements [sdk.Provider]: each host is asked once, all at the same time. Of a machine
// on a host that does not answer nobody knows that it has ended.
func (p *Provider) Observe(ctx context.Context, handles []string) ([]sdk.Observation, error) {
	inner := map[string][]string{} // by host
	var seen []sdk.Observation
	for _, handle := range handles {
		host, name, ok := split(handle)
		if !ok {
			seen = append(seen, sdk.Observation{Handle: handle, State: sdk.Stopped, Message: "it is not a machine of the provider ssh"})
			continue
		}
		inner[host] = append(inner[host], name)
	}
	hosts := slices.Sorted(maps.Keys(inner))
	answers := askAll[[]sdk.Observation](ctx, p, hosts, "observe", func(host string) any { return sdk.ObserveInput{Handles: inner[host]} })
	for _, a := range answers {
		for _, name := range inner[a.host] {
			seen = append(seen, observed(a, name))
		}
	}
	return seen, nil
}

// observed is what a host says of one of its machines.
func observed(a answer[[]sdk.Observation], name string) sdk.Observation {
	o := sdk.Observation{State: sdk.Unreachable}
	at := slices.IndexFunc(a.out, func(o sdk.Observation) bool { return o.Handle == name })
	switch {
	case a.err != nil:
		o.Message = a.err.Error()
	case at < 0:
		o.Message = "on " + a.host + ": Seer's program says nothing about it"
	default:
		o = a.out[at]
		for i := range o.Endpoints {
			o.Endpoints[i].URL = sdk.RouteURL
		}
	}
	o.Handle = join(a.host, name)
	return o
}

// Route implements [sdk.Router].
func (p *Provider) Route(ctx context.Context, handle string, port int) (sdk.Route, error) {
	host, name, ok := split(handle)
	if !ok {
		return sdk.Route{}, sdk.Errorf(sdk.NotFound, "%q is not a machine of the provider ssh", handle)
	}
	seen, err := ask[[]sdk.Observation](ctx, p, host, "observe", sdk.ObserveInput{Handles: []string{name}})
	if err != nil {
		return sdk.Route{}, err
	}
	for _, o := range seen {
		for _, e := range o.Endpoints {
			if target, ok := bare.Target(e.URL); ok && o.Handle == name && e.Port == port {
				return sdk.Route{SSH: &sdk.SSHRoute{Host: host, Target: target}}, nil
			}
		}
	}
	return sdk.Route{}, sdk.Errorf(sdk.NotFound, "on %s: the machine %s has no port %d", host, name, port)
}

// listInput is that of the contract, with the time here, by which the ends of machines are told.
type listInput struct {
	sdk.ListInput
	NowUnix int64 `json:"now_unix"`
}

// List implements [sdk.Provider]. It asks the hosts of the setting and all that this plugin has
// used, for an experiment that named one may be gone. One that does not answer is named in the list.
func (p *Provider) List(ctx context.Context, owner string) ([]sdk.Listed, error) {
	hosts, err := p.usual()
	if err != nil {
		return nil, err
	}
	used, err := p.Runner.Hosts()
	if err != nil {
		return nil, err
	}
	answers := askAll[[]sdk.Listed](ctx, p, unique(append(hosts, used...)), "list", func(string) any { return listInput{sdk.ListInput{Owner: owner}, time.Now().Unix()} })
	if !slices.ContainsFunc(answers, func(a answer[[]sdk.Listed]) bool { return a.err == nil }) {
		return nil, failed(answers)
	}
	var all []sdk.Listed
	for _, a := range answers {
		if a.err != nil {
			all = append(all, bare.Away(a.host, owner, a.err))
		}
		for _, m := range a.out {
			m.Handle = join(a.host, m.Handle)
			all = append(all, m)
		}
	}
	return all, nil
}

// Terminate implements [sdk.Provider].
func (p *Provider) Terminate(ctx context.Context, handle string) error {
	host, name, ok := split(handle)
	if !ok {
		return nil // no such machine was ever made
	}
	_, err := ask[struct{}](ctx, p, host, "terminate", sdk.TerminateInput{Handle: name})
	return err
}
