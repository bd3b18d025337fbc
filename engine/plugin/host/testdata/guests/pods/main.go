// Command pods is a provider that makes pods, as little of one as shows how a plugin uses
// clusters. A handle is the name of a pod.
package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest"
	"github.com/seer-engine/seer/sdk/guest/guestkube"
	"github.com/seer-engine/seer/sdk/guest/guestprovider"
)

const path = "/api/v1/namespaces/agents/pods"

type provider struct{ kube guestkube.Client }

// do sends a request to the current context.
func (p provider) do(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	r, err := p.kube.Do(ctx, "", sdk.KubeRequest{Method: method, Path: path}, body)
	switch {
	case err != nil:
		return err
	case r.Status == 404:
		return sdk.Errorf(sdk.NotFound, "there is no %s", path)
	case r.Status >= 400:
		return sdk.Errorf(sdk.Unavailable, "%s %s: %d", method, path, r.Status)
	case out == nil:
		return nil
	}
	return json.Unmarshal(r.Body, out)
}

func (provider) Describe(context.Context) (sdk.ProviderInfo, error) {
	return sdk.ProviderInfo{Name: "pods", Title: "pods", Features: []sdk.Feature{sdk.FeatureRoutes, sdk.FeatureFree}}, nil
}

// Offers has one for the current context, and one for each that was used.
func (p provider) Offers(context.Context, sdk.OfferQuery) ([]sdk.Offer, error) {
	c, err := p.kube.Contexts()
	if err != nil {
		return nil, err
	}
	all := []sdk.Offer{{ID: c.Current.Name}}
	for _, u := range c.Used {
		all = append(all, sdk.Offer{ID: "used " + u.Name + " " + u.Namespace})
	}
	return all, nil
}

func (p provider) Create(ctx context.Context, spec sdk.MachineSpec, _ json.RawMessage) (sdk.CreateStep, error) {
	err := p.do(ctx, "POST", path, map[string]any{"metadata": map[string]string{"name": spec.Key}}, nil)
	return sdk.CreateStep{Handle: spec.Key}, err
}

// Observe says what a command in the pod says of a machine that runs.
func (p provider) Observe(ctx context.Context, handles []string) (seen []sdk.Observation, err error) {
	for _, handle := range handles {
		var pod struct {
			Status struct{ Phase, Message string }
		}
		if err := p.do(ctx, "GET", path+"/"+handle, nil, &pod); err != nil {
			return nil, err
		}
		o := sdk.Observation{Handle: handle, State: sdk.Pending, Message: pod.Status.Message}
		if pod.Status.Phase == "Running" {
			r, err := p.kube.Exec(ctx, "", sdk.KubeExec{Namespace: "agents", Pod: handle, Container: "seer", Argv: []string{"cat"}}, []byte("hello"))
			if err != nil {
				return nil, err
			}
			o.State, o.Message, o.Endpoints = sdk.Running, string(r.Stdout)+" "+strings.TrimSpace(r.Stderr), []sdk.Endpoint{{Port: 8717, URL: sdk.RouteURL}}
		}
		seen = append(seen, o)
	}
	return seen, nil
}

// List reads the Secrets of the namespace of that name, which no plugin may.
func (p provider) List(ctx context.Context, owner string) ([]sdk.Listed, error) {
	return nil, p.do(ctx, "GET", "/api/v1/namespaces/"+owner+"/secrets", nil, nil)
}

// Terminate deletes the pod, whatever its name is made of.
func (p provider) Terminate(ctx context.Context, handle string) error {
	return p.do(ctx, "DELETE", path+"/"+handle, nil, nil)
}

func (provider) Route(_ context.Context, handle string, _ int) (sdk.Route, error) {
	return sdk.Route{Kube: &sdk.KubeRoute{Context: "lab", Namespace: "agents", Pod: handle, Container: "seer", Target: "tcp:8717"}}, nil
}

var pods = provider{}

var _ = guestprovider.Export(pods)

//go:wasmexport provider_route
func route() int32 { return guest.ProviderRoute(pods) }

func main() {}
