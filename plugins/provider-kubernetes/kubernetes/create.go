package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/seer-engine/seer/sdk"
)

// Create implements [sdk.Provider]: it makes the pod of the key, unless there is one. The name of
// the pod is the key, so that there is never a second one.
func (p *Provider) Create(ctx context.Context, spec sdk.MachineSpec, cursor json.RawMessage) (sdk.CreateStep, error) {
	if len(cursor) > 0 {
		return sdk.CreateStep{}, sdk.Errorf(sdk.Invalid, "the cursor is not one of this provider, which makes a machine in one step")
	}
	if err := refuse(spec); err != nil {
		return sdk.CreateStep{}, err
	}
	o, c, err := p.open(spec.Options)
	if err != nil {
		return sdk.CreateStep{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	chosen, err := c.choose(ctx, spec, o)
	if err != nil {
		return sdk.CreateStep{}, err
	}
	wanted, err := render(spec, o, c.namespace, chosen)
	if err != nil {
		return sdk.CreateStep{}, err
	}
	log, err := c.ensureVolumes(ctx, spec, o)
	if err != nil {
		return sdk.CreateStep{}, err
	}
	if err := c.make(ctx, wanted, spec); err != nil {
		return sdk.CreateStep{}, err
	}
	made := handle{c.context, c.namespace, wanted.Metadata.Name}
	log = append(log, fmt.Sprintf("pod %s in the namespace %s of the context %s, image %s", made.pod, c.namespace, c.context, wanted.Spec.Containers[0].Image))
	return sdk.CreateStep{Handle: made.String(), Log: log}, nil
}

// make makes the pod. A closed network is closed when the pod runs, and before anything but
// Seer's loader runs in it: see prove.
func (c cluster) make(ctx context.Context, wanted pod, spec sdk.MachineSpec) error {
	if spec.Network == closedNetwork {
		if err := c.mayClose(ctx, wanted); err != nil {
			return err
		}
	}
	doing := "making the pod " + wanted.Metadata.Name
	var there pod
	_, err := c.do(ctx, call{doing: doing, method: "POST", path: c.core("pods"), body: wanted}, &there)
	if err == nil {
		return queued(ctx, c, there)
	}
	if !exists(err) {
		return err
	}
	_, err = c.do(ctx, call{doing: doing, path: c.core("pods", wanted.Metadata.Name)}, &there)
	switch {
	case is(err, 404): // it has ended since
		return sdk.Errorf(sdk.Unavailable, "%s: one of this name is just being removed", doing)
	case err == nil && !there.ours(spec.Key, spec.Owner):
		return sdk.Errorf(sdk.Invalid, "%s: the namespace %s has a pod of this name that is not Seer's; delete it, or use another namespace", doing, c.namespace)
	case err == nil:
		return queued(ctx, c, there)
	}
	return err
}

// queued ends a pod with a queue that Kueue does not manage: the scheduler takes such a pod at once.
func queued(ctx context.Context, c cluster, made pod) error {
	if made.Metadata.Labels[labelQueue] == "" || made.managedByKueue() {
		return nil
	}
	if err := c.delete(ctx, made, 0); err != nil {
		return err
	}
	return sdk.Errorf(sdk.Invalid, "making the pod %s: %s", made.Metadata.Name, made.unqueued(c.namespace))
}

func (p pod) managedByKueue() bool { return p.Metadata.Labels[labelKueue] == "true" }

// unqueued says that the pod's queue has no effect.
func (p pod) unqueued(namespace string) string {
	return fmt.Sprintf("the queue %s has no effect: Kueue does not manage pods of the namespace %s; remove provider_options.kubernetes.queue, or have an administrator enable the pod integration of Kueue there", p.Metadata.Labels[labelQueue], namespace)
}

// choose finds out which nodes the GPU of the machine is on: those of the offer, or else the best
// that have what is asked for.
func (c cluster) choose(ctx context.Context, s sdk.MachineSpec, o options) (choice, error) {
	if s.GPU == "" {
		if s.Offer != "" && s.Offer != offerCPU {
			return choice{}, unknownOffer(s.Offer)
		}
		if len(s.Regions) > 0 && !slices.Contains(s.Regions, c.context) {
			return choice{}, sdk.Errorf(sdk.NoCapacity, "the context %s is not one of sandbox.region", c.context)
		}
		return choice{}, nil
	}
	choices, err := c.choices(ctx, sdk.OfferQuery{GPU: s.GPU, GPUCount: s.GPUCount, CPU: s.CPU, MemoryGB: s.MemoryGB, Regions: s.Regions}, o)
	if err != nil {
		return choice{}, err
	}
	for _, ch := range choices {
		if s.Offer == "" || ch.id() == s.Offer {
			return ch, nil
		}
	}
	if s.Offer != "" {
		return choice{}, unknownOffer(s.Offer)
	}
	return choice{}, sdk.Errorf(sdk.Unsupported, "the context %s: no node has %d × %s that the pod may use; see `provider_options.kubernetes`: node_selector, tolerations, gpu_resource, gpu", c.context, max(1, s.GPUCount), s.GPU)
}

func unknownOffer(id string) error {
	return sdk.Errorf(sdk.Invalid, "the provider kubernetes has no offer %q now", id)
}
