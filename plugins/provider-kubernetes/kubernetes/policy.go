package kubernetes

import (
	"context"
	"encoding/json"
	"slices"
)

// closing is the NetworkPolicy that lets nothing into the pod and nothing out. Requests of exec,
// by which Seer reaches the machine, come through the kubelet and not through the network. The
// cluster removes the policy with its pod.
func (c cluster) closing(of pod) networkPolicy {
	m := of.Metadata
	policy := networkPolicy{
		APIVersion: networking, Kind: "NetworkPolicy",
		Metadata: meta{Name: m.Name, Namespace: c.namespace, Labels: map[string]string{}, Annotations: map[string]string{}},
		Spec: networkPolicySpec{
			PodSelector: labelSelector{MatchLabels: map[string]string{managedBy: manager, labelKeyOf: m.Labels[labelKeyOf]}},
			PolicyTypes: []string{ingress, egress},
		},
	}
	for _, label := range []string{managedBy, labelKeyOf, labelOwner} {
		policy.Metadata.Labels[label] = m.Labels[label]
	}
	if m.UID != "" {
		policy.Metadata.OwnerReferences = []ownerReference{{APIVersion: "v1", Kind: "Pod", Name: m.Name, UID: m.UID}}
	}
	if end := m.Annotations[notedEnd]; end != "" {
		policy.Metadata.Annotations[notedEnd] = end
	}
	return policy
}

const ingress, egress = "Ingress", "Egress"

// mayClose asks the cluster whether it would take the policy of a pod that is still to be made: a
// missing right is better known before the pod waits for a node.
func (c cluster) mayClose(ctx context.Context, wanted pod) error {
	_, err := c.do(ctx, call{
		doing: "trying the NetworkPolicy " + wanted.Metadata.Name, method: "POST", path: c.policies(),
		query: map[string][]string{"dryRun": {"All"}}, body: c.closing(wanted),
	}, nil)
	if exists(err) {
		return nil
	}
	return err
}

// close makes the policy of a pod, unless it is there.
func (c cluster) close(ctx context.Context, p pod) error {
	_, err := c.do(ctx, call{doing: "making the NetworkPolicy " + p.Metadata.Name, method: "POST", path: c.policies(), body: c.closing(p)}, nil)
	if exists(err) {
		return nil
	}
	return err
}

// reopen removes the policy. One that is not there, or that the user may not touch, is no policy
// of this plugin.
func (c cluster) reopen(ctx context.Context, name string) error {
	_, err := c.do(ctx, call{doing: "removing the NetworkPolicy " + name, method: "DELETE", path: c.policies(name)}, nil)
	if is(err, 404) || is(err, 403) {
		return nil
	}
	return err
}

// denial names policies of the namespace that close the network of every pod in both directions.
// It is empty if there are none, or if another one allows the pod something: policies add up.
func (c cluster) denial(ctx context.Context, p pod) (names []string, err error) {
	policies, _, err := all[networkPolicy](ctx, c, call{doing: "listing the NetworkPolicies", path: c.policies()})
	if err != nil {
		return nil, err
	}
	closed := map[string]bool{}
	for _, policy := range policies {
		s := policy.Spec
		if len(s.Ingress)+len(s.Egress) > 0 && s.PodSelector.selects(p.Metadata.Labels) {
			return nil, nil
		}
		if len(s.PodSelector.MatchLabels)+len(s.PodSelector.MatchExpressions) > 0 {
			continue
		}
		names = append(names, policy.Metadata.Name)
		for _, direction := range s.PolicyTypes {
			closed[direction] = true
		}
	}
	if !closed[ingress] || !closed[egress] {
		return nil, nil
	}
	slices.Sort(names)
	return names, nil
}

// selects reports whether a pod with these labels is meant.
func (s labelSelector) selects(labels map[string]string) bool {
	for key, value := range s.MatchLabels {
		if have, there := labels[key]; !there || have != value {
			return false
		}
	}
	for _, e := range s.MatchExpressions {
		have, there := labels[e.Key]
		listed := there && slices.Contains(e.Values, have)
		switch e.Operator {
		case "In":
			there = listed
		case "NotIn":
			there = !listed
		case "DoesNotExist":
			there = !there
		}
		if !there {
			return false
		}
	}
	return true
}

// rule is one of a policy, of which only matters that it is there.
type rule = json.RawMessage
