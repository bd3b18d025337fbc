package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/plugins/internal/bare"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

// The IDs of offers: cpu, gpu for one of which no product is known, or gpu:PRODUCT.
const (
	offerCPU = "cpu"
	offerGPU = "gpu"
)

// gpuLabels are labels of nodes that name their GPU: of NVIDIA's device plugin, GKE and EKS.
var gpuLabels = []string{"nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "k8s.amazonaws.com/accelerator"}

const labelGPUMemory = "nvidia.com/gpu.memory" // MiB

// choice is a kind of machine that a cluster has: a product of GPUs, or nodes without a wish.
type choice struct {
	label, product string // of nodes; empty where they do not tell
	name           string // canonical; empty = not known
	gpuMemoryGB    float64
	memoryGB       float64 // the most of one node
	free           int     // nodes that have what is wanted now
	counted        bool    // free is known

	others map[string][]string // labels and products of nodes with other GPUs; where the product is not known
}

func (c choice) id() string {
	if c.product == "" {
		return offerGPU
	}
	return offerGPU + ":" + c.product
}

// wish is what a machine asks of a node.
func wish(q sdk.OfferQuery, o options) amounts {
	all := amounts{"cpu": q.CPU, "memory": q.MemoryGB * (1 << 30), "pods": 1}
	if q.GPU != "" {
		all[o.GPUResource] = float64(max(1, q.GPUCount))
	}
	return all
}

// Offers implements [sdk.Provider]: the products of GPUs that the nodes have, or one offer for
// machines without one.
func (p *Provider) Offers(ctx context.Context, q sdk.OfferQuery) ([]sdk.Offer, error) {
	o, c, err := p.open(q.Options)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	choices, err := c.choices(ctx, q, o)
	if err != nil {
		return nil, err
	}
	quota, err := c.quota(ctx, q, o)
	if err != nil {
		return nil, err
	}
	queue := c.queue(ctx, o)
	var offers []sdk.Offer
	for _, ch := range choices {
		offer := sdk.Offer{ID: offerCPU, Region: c.context, MemoryGB: ch.memoryGB, Stock: ch.stock(), Queue: queue}
		if queue == "" && ch.counted && ch.free == 0 {
			offer.Queue = "no node has it free now: the pod waits"
		}
		if q.GPU != "" {
			offer.ID, offer.GPU, offer.GPUCount, offer.GPUMemoryGB = ch.id(), cmp.Or(ch.name, gpu.Canonical(q.GPU)), max(1, q.GPUCount), ch.gpuMemoryGB
		}
		if quota != "" {
			offer.Stock, offer.Queue = sdk.StockNone, quota
		}
		offers = append(offers, offer)
	}
	slices.SortStableFunc(offers, func(a, b sdk.Offer) int { return strings.Compare(a.ID, b.ID) })
	return offers, nil
}

// stock says how many nodes have what is wanted. Full nodes do not say that there is nothing: a pod
// waits for them, and autoscalers make others.
func (c choice) stock() sdk.Stock {
	if !c.counted {
		return sdk.StockUnknown
	}
	return bare.Stock(c.free)
}

// choices are what the query can be had as.
func (c cluster) choices(ctx context.Context, q sdk.OfferQuery, o options) ([]choice, error) {
	if len(q.Regions) > 0 && !slices.Contains(q.Regions, c.context) {
		return nil, nil
	}
	nodes, err := c.nodes(ctx)
	if unreadable(err) {
		return c.blind(q, o)
	}
	if err != nil {
		return nil, err
	}
	used, err := c.used(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	counted := err == nil // the user may lack the right, and large clusters take too long
	var found []choice
	for _, n := range nodes {
		ch, name := n.gpu(o)
		if !n.takes(o, q.GPU != "") || q.GPU != "" && name != "" && !gpu.Match(q.GPU, name) {
			continue
		}
		wanted, has := wish(q, o), amountsOf(n.Status.Allocatable)
		if _, lacking := has.lacks(wanted); lacking {
			continue
		}
		if q.GPU == "" {
			ch, name = choice{}, ""
		}
		ch.name = name
		at := slices.IndexFunc(found, func(f choice) bool { return f.product == ch.product && f.label == ch.label })
		if at < 0 {
			at, ch.counted = len(found), counted
			found = append(found, ch)
		}
		f := &found[at]
		f.memoryGB = max(f.memoryGB, has["memory"]/(1<<30))
		for resource, n := range used[n.Metadata.Name] {
			has[resource] -= n
		}
		if _, lacking := has.lacks(wanted); !lacking && n.ready() {
			f.free++
		}
	}
	if len(found) == 0 && o.GPU != "" { // nodes that an autoscaler makes
		if found, err = c.blind(q, o); err != nil {
			return nil, err
		}
	}
	for i := range found {
		if q.GPU != "" && found[i].product == "" {
			found[i].others = otherGPUs(nodes, q.GPU, o)
		}
	}
	slices.SortFunc(found, func(a, b choice) int { return cmp.Compare(b.free, a.free) })
	return found, nil
}

// otherGPUs are the products of the nodes that are not what is asked for, by their labels.
func otherGPUs(nodes []node, wanted string, o options) map[string][]string {
	others := map[string][]string{}
	for _, n := range nodes {
		if ch, name := n.gpu(o); ch.product != "" && !gpu.Match(wanted, name) && !slices.Contains(others[ch.label], ch.product) {
			others[ch.label] = append(others[ch.label], ch.product)
		}
	}
	for _, products := range others {
		slices.Sort(products)
	}
	return others
}

// blind is the choice where the user may not read the nodes: what the options say.
func (c cluster) blind(q sdk.OfferQuery, o options) ([]choice, error) {
	switch {
	case q.GPU == "":
		return []choice{{}}, nil
	case o.GPU == "":
		return nil, sdk.Errorf(sdk.Invalid, "the context %s: you may not list nodes, so that nobody knows which GPU %s is; name it in provider_options: {kubernetes: {gpu: %s}}, or have the cluster role of kubernetes-rbac.yaml", c.context, o.GPUResource, firstOf(q.GPU))
	case !gpu.Match(q.GPU, gpu.Canonical(o.GPU)):
		return nil, nil
	}
	return []choice{{name: gpu.Canonical(o.GPU)}}, nil
}

func firstOf(name string) string {
	if name == gpu.Any {
		return "A100"
	}
	return name
}

// unreadable reports whether the user's rights do not go so far.
func unreadable(err error) bool {
	var r refusal
	return errors.As(err, &r) && r.status == 403 && r.reason == "Forbidden"
}

func (c cluster) nodes(ctx context.Context) ([]node, error) {
	nodes, _, err := all[node](ctx, c, call{doing: "listing the nodes", path: "/api/v1/nodes"})
	return nodes, err
}

// countTime is how long it may take to count what is in use. A cluster may have more pods than that.
const countTime = 8 * time.Second

// used are the requests of the pods of all namespaces, by node.
func (c cluster) used(ctx context.Context) (map[string]amounts, error) {
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	pods, _, err := all[pod](ctx, c, call{doing: "listing the pods of all namespaces", path: "/api/v1/pods",
		query: map[string][]string{"fieldSelector": {"spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"}}})
	used := map[string]amounts{}
	for _, p := range pods {
		at := used[p.Spec.NodeName]
		if at == nil {
			at = amounts{}
			used[p.Spec.NodeName] = at
		}
		at.add(p.Spec.requests())
		at["pods"]++
	}
	return used, err
}

// gpu is the product that the node's labels tell. The user's option is for nodes that do not.
func (n node) gpu(o options) (ch choice, name string) {
	labels := gpuLabels
	if o.GPULabel != "" {
		labels = []string{o.GPULabel}
	}
	for _, label := range labels {
		if product := n.Metadata.Labels[label]; product != "" && labelValue.MatchString(product) {
			mib, _ := quantity(n.Metadata.Labels[labelGPUMemory]) // 0 = not told
			return choice{label: label, product: product, gpuMemoryGB: max(0, mib) / 1024}, gpu.Canonical(strings.TrimSuffix(product, "-SHARED"))
		}
	}
	if o.GPU != "" {
		return choice{}, gpu.Canonical(o.GPU)
	}
	return choice{}, ""
}

func (n node) ready() bool {
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True" && !n.Spec.Unschedulable
		}
	}
	return false
}

// takes reports whether a pod of these options may run there.
func (n node) takes(o options, withGPU bool) bool {
	for key, value := range o.NodeSelector {
		if n.Metadata.Labels[key] != value {
			return false
		}
	}
	tolerations := o.Tolerations
	if withGPU {
		tolerations = append(slices.Clone(tolerations), toleration{Key: o.GPUResource, Operator: "Exists"})
	}
	for _, t := range n.Spec.Taints {
		passing := strings.HasPrefix(t.Key, "node.kubernetes.io/") // not ready, under pressure, cordoned
		if t.Effect == "PreferNoSchedule" || passing {
			continue
		}
		if !slices.ContainsFunc(tolerations, func(have toleration) bool { return have.covers(t) }) {
			return false
		}
	}
	return true
}

func (t toleration) covers(of taint) bool {
	if t.Effect != "" && t.Effect != of.Effect {
		return false
	}
	if t.Operator == "Exists" {
		return t.Key == "" || t.Key == of.Key
	}
	return t.Key == of.Key && t.Value == of.Value
}

// queue says what waits in Kueue's queue, where there is one that the user may read.
func (c cluster) queue(ctx context.Context, o options) string {
	if o.Queue == "" {
		return ""
	}
	var q localQueue
	if _, err := c.do(ctx, call{doing: "looking at the queue " + o.Queue, path: c.group(kueue, "localqueues", o.Queue)}, &q); err != nil {
		return "" // Check says why
	}
	if n := q.Status.PendingWorkloads; n != 1 {
		return fmt.Sprintf("%d workloads wait in the queue %s", n, o.Queue)
	}
	return "1 workload waits in the queue " + o.Queue
}
