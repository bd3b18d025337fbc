package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Route implements [sdk.Router]: by a command in the pod.
func (p *Provider) Route(_ context.Context, text string, port int) (sdk.Route, error) {
	h, ok := parseHandle(text)
	if !ok || port < 1 || port > 65535 {
		return sdk.Route{}, sdk.Errorf(sdk.NotFound, "%q with the port %d is not a machine of the provider kubernetes", text, port)
	}
	return sdk.Route{Kube: &sdk.KubeRoute{
		Context: h.context, Namespace: h.namespace, Pod: h.pod, Container: containerName, Target: "tcp:" + strconv.Itoa(port),
	}}, nil
}

// List implements [sdk.Provider]. It asks the namespace of the current context and all that this
// plugin has used, for an experiment that named one may be gone. It fails if one of them does not
// answer. A context that the kubeconfig no longer has is left out: nobody can ask there.
func (p *Provider) List(ctx context.Context, owner string) ([]sdk.Listed, error) {
	if !keyForm.MatchString(owner) {
		return nil, nil // nobody else can have made anything
	}
	contexts, err := p.API.Contexts("")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	var found []sdk.Listed
	seen := map[sdk.KubeContext]bool{{}: true}
	for _, at := range append([]sdk.KubeContext{contexts.Current}, contexts.Used...) {
		if seen[at] || at.Namespace == "" {
			continue
		}
		seen[at] = true
		listed, err := cluster{p.API, at.Name, at.Namespace}.listed(ctx, owner)
		if errors.Is(err, &sdk.Error{Code: sdk.Invalid}) && !isAnswer(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, listed...)
	}
	slices.SortFunc(found, func(a, b sdk.Listed) int { return cmp.Compare(a.Handle, b.Handle) })
	return found, nil
}

// isAnswer reports whether the cluster has said it, and not the host that connects to it.
func isAnswer(err error) bool {
	var r refusal
	return errors.As(err, &r)
}

// listed are the pods of the owner, and the policies whose pods are not there.
func (c cluster) listed(ctx context.Context, owner string) (found []sdk.Listed, err error) {
	mine := selector(managedBy+"="+manager, labelOwner+"="+owner)
	pods, now, err := all[pod](ctx, c, call{doing: "listing the pods", path: c.core("pods"), query: mine})
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, p := range pods {
		key := p.Metadata.Labels[labelKeyOf]
		if p.Metadata.Labels[labelOwner] != owner || p.Metadata.Name != podName(key) {
			continue
		}
		there[p.Metadata.Name] = true
		entry := c.entry(p.Metadata, owner, c.observation(p, now).State)
		if start := p.Status.StartTime; entry.EndUnix == 0 && start != nil { // its time counts from there
			entry.EndUnix = start.Unix() + p.Spec.ActiveDeadlineSeconds
		}
		found = append(found, entry)
	}
	policies, _, err := all[networkPolicy](ctx, c, call{doing: "listing the NetworkPolicies", path: c.policies(), query: mine})
	if unreadable(err) || is(err, 404) {
		return found, nil // who may not read them has made none
	}
	for _, policy := range policies {
		if m := policy.Metadata; !there[m.Name] && m.Labels[labelOwner] == owner && m.Name == podName(m.Labels[labelKeyOf]) {
			found = append(found, c.entry(m, owner, sdk.Stopped))
		}
	}
	return found, err
}

func (c cluster) entry(m meta, owner string, state sdk.State) sdk.Listed {
	end, _ := strconv.ParseInt(m.Annotations[notedEnd], 10, 64) // 0 = unknown
	return sdk.Listed{Handle: handle{c.context, c.namespace, m.Name}.String(), Key: m.Labels[labelKeyOf], Owner: owner, State: state, EndUnix: end}
}

// Terminate implements [sdk.Provider]. The policy of a pod that lives stays as long as the pod:
// the cluster removes it then. A pod on a node that does not answer would stay for ever: it is
// removed by force when the time has passed in which it should have ended.
func (p *Provider) Terminate(ctx context.Context, text string) error {
	h, ok := parseHandle(text)
	if !ok {
		return nil // no such machine was ever made
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	c := cluster{p.API, h.context, h.namespace}
	var there pod
	now, err := c.do(ctx, call{doing: "ending the pod " + h.pod, path: c.core("pods", h.pod)}, &there)
	if is(err, 404) {
		return c.reopen(ctx, h.pod)
	}
	if err != nil {
		return err
	}
	if there.Metadata.Labels[managedBy] != manager {
		return nil // somebody else's
	}
	grace := int64(graceSeconds)
	lost := there.overdue(now)
	if lost {
		grace = 0
	}
	if err := c.delete(ctx, there, grace); err != nil {
		return err
	}
	if !lost && there.onLostNode() {
		return &sdk.Error{Code: sdk.Unavailable, Seconds: graceSeconds + 2, Message: "ending the pod " + h.pod + ": its node " + there.Spec.NodeName +
			" does not answer; the pod is removed by force after the grace of " + strconv.Itoa(graceSeconds) + " s, and what runs there ends with its deadline or when the node is back"}
	}
	return nil
}

func (c cluster) delete(ctx context.Context, p pod, grace int64) error {
	body := map[string]any{"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": grace, "propagationPolicy": "Background",
		"preconditions": map[string]string{"uid": p.Metadata.UID}}
	_, err := c.do(ctx, call{doing: "ending the pod " + p.Metadata.Name, method: "DELETE", path: c.core("pods", p.Metadata.Name), body: body}, nil)
	if is(err, 404) {
		return nil
	}
	return err
}

// overdueTime is how long after its grace a pod that was deleted should be gone.
const overdueTime = 5 * time.Second

// overdue reports whether a pod that was deleted should be gone. The API sets the time of the
// deletion to the end of the grace.
func (p pod) overdue(now time.Time) bool {
	at := p.Metadata.DeletionTimestamp
	return at != nil && !now.IsZero() && now.Sub(*at) > overdueTime
}

// onLostNode reports whether the pod's node has stopped to answer. The cluster then says that the
// pod is not ready, although its containers were when the node last spoke.
func (p pod) onLostNode() bool {
	if p.Spec.NodeName == "" {
		return false
	}
	ready, containers := p.Status.condition("Ready"), p.Status.condition("ContainersReady")
	return p.Status.Phase == "Unknown" || p.Status.Reason == "NodeLost" ||
		p.Status.Phase == "Running" && ready.Status == "False" && containers.Status == "True" && !strings.HasPrefix(ready.Reason, "ReadinessGates")
}
