package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/seer-engine/seer/sdk"
)

func found(name, state, detail, fix string) sdk.Finding {
	return sdk.Finding{Name: name, State: state, Detail: detail, Fix: fix}
}

// Check implements [sdk.Checker]. It asks for all at once, and makes nothing: the pod that it
// shows to the cluster is a dry run.
func (p *Provider) Check(ctx context.Context, q sdk.CheckQuery) ([]sdk.Finding, error) {
	o, c, err := p.open(q.Options)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	reached := c.checkVersion(ctx)
	if reached.State != sdk.FindingOK {
		return []sdk.Finding{reached}, nil
	}
	looks := []func() []sdk.Finding{
		func() []sdk.Finding {
			return one(c.checkThere(ctx, "namespace "+c.namespace, apiPath("api", "v1", "namespaces", c.namespace), "make it: kubectl create namespace "+c.namespace))
		},
	}
	for _, r := range rights {
		if !r.concerns(q, o) {
			continue
		}
		for _, verb := range r.verbs {
			looks = append(looks, func() []sdk.Finding { return one(c.checkRight(ctx, r, verb)) })
		}
	}
	looks = append(looks, c.checkNames(ctx, o)...)
	looks = append(looks,
		func() []sdk.Finding { return c.checkQuotas(ctx, q, o) },
		func() []sdk.Finding { return c.checkGPU(ctx, q, o) },
		func() []sdk.Finding { return c.checkPod(ctx, q, o) },
		func() []sdk.Finding { return append(checkNetwork(q), checkIsolation(q)...) },
	)
	findings := make([][]sdk.Finding, len(looks))
	var work sync.WaitGroup
	for i, look := range looks {
		work.Go(func() { findings[i] = look() })
	}
	work.Wait()
	return append([]sdk.Finding{reached}, slices.Concat(findings...)...), nil
}

func one(f sdk.Finding) []sdk.Finding { return []sdk.Finding{f} }

func (c cluster) checkVersion(ctx context.Context) sdk.Finding {
	var version struct {
		GitVersion string `json:"gitVersion"`
	}
	name := "cluster of the context " + c.context
	if _, err := c.do(ctx, call{doing: "asking for the version", path: "/version"}, &version); err != nil {
		return found(name, sdk.FindingFailed, err.Error(), "see that kubectl --context "+c.context+" version works")
	}
	return found(name, sdk.FindingOK, version.GitVersion, "")
}

// checkThere looks whether an object is there.
func (c cluster) checkThere(ctx context.Context, name, path, fix string) sdk.Finding {
	_, err := c.do(ctx, call{doing: "looking for the " + name, path: path}, nil)
	switch {
	case err == nil:
		return found(name, sdk.FindingOK, "it is there", "")
	case is(err, 404):
		return found(name, sdk.FindingFailed, "it is not there", fix)
	case unreadable(err):
		return found(name, sdk.FindingUnknown, "you may not look at it", applyRoles)
	}
	return found(name, sdk.FindingUnknown, err.Error(), "")
}

// checkNames looks for what the options name.
func (c cluster) checkNames(ctx context.Context, o options) (looks []func() []sdk.Finding) {
	for _, n := range []struct{ option, name, path string }{
		{"runtime_class", o.RuntimeClass, apiPath("apis", "node.k8s.io", "v1", "runtimeclasses", o.RuntimeClass)},
		{"priority_class", o.PriorityClass, apiPath("apis", "scheduling.k8s.io", "v1", "priorityclasses", o.PriorityClass)},
		{"storage_class", o.StorageClass, apiPath("apis", "storage.k8s.io", "v1", "storageclasses", o.StorageClass)},
		{"service_account", o.ServiceAccount, c.core("serviceaccounts", o.ServiceAccount)},
		{"queue", o.Queue, c.group(kueue, "localqueues", o.Queue)},
	} {
		if n.name != "" {
			looks = append(looks, func() []sdk.Finding {
				return one(c.checkThere(ctx, n.option+" "+n.name, n.path, "change provider_options.kubernetes."+n.option))
			})
		}
	}
	return looks
}

func offerQuery(q sdk.CheckQuery) sdk.OfferQuery {
	return sdk.OfferQuery{GPU: q.GPU, GPUCount: q.GPUCount}
}

func (c cluster) checkQuotas(ctx context.Context, q sdk.CheckQuery, o options) (findings []sdk.Finding) {
	quotas, _, err := all[resourceQuota](ctx, c, call{doing: "listing the quotas", path: c.core("resourcequotas")})
	if err != nil {
		return one(found("quotas of "+c.namespace, sdk.FindingUnknown, err.Error(), ""))
	}
	for _, quota := range quotas {
		name := "quota " + quota.Metadata.Name
		if short := quota.lacks(offerQuery(q), o); short != "" {
			findings = append(findings, found(name, sdk.FindingFailed, "too little is left: "+short, "end other machines of the namespace, or have the quota raised"))
			continue
		}
		findings = append(findings, found(name, sdk.FindingOK, "enough is left", ""))
	}
	return findings
}

func (c cluster) checkGPU(ctx context.Context, q sdk.CheckQuery, o options) []sdk.Finding {
	if q.GPU == "" {
		return nil
	}
	name := fmt.Sprintf("%d × %s", max(1, q.GPUCount), q.GPU)
	choices, err := c.choices(ctx, offerQuery(q), o)
	switch {
	case err != nil:
		return one(found(name, sdk.FindingUnknown, err.Error(), ""))
	case len(choices) == 0:
		return one(found(name, sdk.FindingFailed, "no node that the pod may use has it", "see node_selector, tolerations, gpu_resource and gpu in provider_options.kubernetes"))
	case !choices[0].counted:
		return one(found(name, sdk.FindingUnknown, "the cluster does not say what is free", ""))
	case choices[0].free == 0:
		return one(found(name, sdk.FindingWarning, "nodes have it, and none has it free now", "the pod will wait"))
	}
	return one(found(name, sdk.FindingOK, fmt.Sprintf("%d nodes have it free now", choices[0].free), ""))
}

// checkPod shows the cluster a pod, without making it: admission, Pod Security, limits and classes
// have their say.
func (c cluster) checkPod(ctx context.Context, q sdk.CheckQuery, o options) []sdk.Finding {
	spec := sdk.MachineSpec{Key: "seer-check", Owner: "seer-check", Command: []string{"python3"}, Port: 1, GPU: q.GPU, GPUCount: q.GPUCount, DiskGB: q.DiskGB, TimeoutSeconds: max(60, q.TimeoutSeconds)}
	if q.PythonVersion != "" {
		spec.Image = &sdk.Image{PythonVersion: q.PythonVersion}
	}
	const name = "pod of a machine (dry run)"
	var there pod
	wanted, err := render(spec, o, c.namespace, choice{})
	if err == nil {
		_, err = c.do(ctx, call{doing: "trying a pod", method: "POST", path: c.core("pods"), query: map[string][]string{"dryRun": {"All"}}, body: wanted}, &there)
	}
	var r refusal
	if errors.As(err, &r) && r.unsaid { // the query does not tell the memory
		return one(found(name, sdk.FindingWarning, err.Error(), "set them in the experiment"))
	}
	if err != nil && !exists(err) {
		return one(found(name, sdk.FindingFailed, err.Error(), "change what the message names"))
	}
	if err == nil && o.Queue != "" && !there.managedByKueue() {
		return one(found(name, sdk.FindingFailed, wanted.unqueued(c.namespace), "change what the message names"))
	}
	return one(found(name, sdk.FindingOK, "the cluster takes it, with the image "+wanted.Spec.Containers[0].Image, ""))
}

func checkIsolation(q sdk.CheckQuery) []sdk.Finding {
	if q.Isolation == "" || q.Isolation == "auto" {
		return nil
	}
	return one(found("isolation "+q.Isolation, sdk.FindingFailed, "the isolation of a machine is that of its pod", "leave sandbox.isolation out, and choose with provider_options.kubernetes.runtime_class"))
}

func checkNetwork(q sdk.CheckQuery) []sdk.Finding {
	switch q.Network {
	case closedNetwork:
		return one(found("network: none", sdk.FindingUnknown, "a NetworkPolicy closes it; a probe in each machine shows whether the cluster enforces it for outgoing connections: it must reach something before the policy is made, and nothing afterwards", "if the start is refused, do what its message says: name a place in network_probe, or use a cluster whose network plugin enforces policies"))
	case "hosts":
		return one(found("network: list of hosts", sdk.FindingFailed, "a NetworkPolicy names addresses and not hosts", "set sandbox.network to none or open"))
	}
	return nil
}
