package runpod

import (
	"context"

	"github.com/seer-engine/seer/sdk"
)

// Observe implements [sdk.Provider] with one request for all handles. Only a pod that
// is not in the list is asked for by its id: the list may be late, and a machine
// that costs money must not be taken for one that has ended.
func (p *Provider) Observe(ctx context.Context, handles []string) ([]sdk.Observation, error) {
	c, err := p.open()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	all, err := c.pods(ctx)
	if err != nil {
		return nil, err
	}
	byID := map[string]pod{}
	for _, pod := range all {
		byID[pod.ID] = pod
	}
	seen := make([]sdk.Observation, 0, len(handles))
	for _, h := range handles {
		pod, listed := byID[h]
		if !listed {
			if pod, err = c.unlisted(ctx, h); err != nil {
				return nil, err
			}
		}
		seen = append(seen, c.observe(h, pod))
	}
	return seen, nil
}

// unlisted asks for a pod that is not in the list; the zero pod is one that is not
// there at all.
func (c *client) unlisted(ctx context.Context, id string) (pod, error) {
	if !idForm.MatchString(id) {
		return pod{}, nil
	}
	found, err := c.pod(ctx, id)
	if sdk.CodeOf(err) == sdk.NotFound {
		return pod{}, nil
	}
	return found, err
}

func (c *client) observe(handle string, p pod) sdk.Observation {
	if p.ID == "" {
		return sdk.Observation{Handle: handle, State: sdk.Stopped, Message: "RunPod does not know the pod: it was terminated"}
	}
	o := sdk.Observation{Handle: handle}
	o.State, o.Message = p.state()
	if o.State.Live() {
		o.CostPerHour = p.Cost
	}
	if o.State == sdk.Running {
		for _, port := range p.httpPorts() {
			o.Endpoints = append(o.Endpoints, c.endpoint(p.ID, port))
		}
	}
	return o
}

// List implements [sdk.Provider]. Pods whose names are not of Seer's form are
// somebody else's.
func (p *Provider) List(ctx context.Context, owner string) ([]sdk.Listed, error) {
	c, err := p.open()
	if err != nil {
		return nil, err
	}
	all, err := c.pods(ctx)
	if err != nil {
		return nil, err
	}
	var listed []sdk.Listed
	for _, pod := range all {
		id, ours := parseName(pod.Name)
		if !ours || id.Owner != owner || pod.Status == terminated {
			continue
		}
		state, _ := pod.state()
		listed = append(listed, sdk.Listed{Handle: pod.ID, Key: id.Key, Owner: id.Owner, State: state, EndUnix: id.EndUnix})
	}
	return listed, nil
}

// Terminate implements [sdk.Provider]. Nothing of a pod is kept; a network volume is.
func (p *Provider) Terminate(ctx context.Context, handle string) error {
	if !idForm.MatchString(handle) {
		return sdk.Errorf(sdk.Invalid, "%q cannot be the id of a pod", handle)
	}
	c, err := p.open()
	if err != nil {
		return err
	}
	return c.terminate(ctx, handle)
}
