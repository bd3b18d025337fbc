package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/plugins/internal/oneline"
	"github.com/seer-engine/seer/sdk"
)

// Observe implements [sdk.Provider]: each namespace is asked once, all at the same time. Of a pod
// of a cluster that does not answer nobody knows that it has ended.
func (p *Provider) Observe(given context.Context, handles []string) ([]sdk.Observation, error) {
	ctx, cancel := context.WithTimeout(given, callTime)
	defer cancel()
	asked := map[sdk.KubeContext][]string{} // names of pods
	var seen []sdk.Observation
	for _, text := range handles {
		h, ok := parseHandle(text)
		if !ok {
			seen = append(seen, sdk.Observation{Handle: text, State: sdk.Stopped, Message: "it is not a machine of the provider kubernetes"})
			continue
		}
		at := sdk.KubeContext{Name: h.context, Namespace: h.namespace}
		asked[at] = append(asked[at], h.pod)
	}
	places := slices.SortedFunc(maps.Keys(asked), func(a, b sdk.KubeContext) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
	})
	found := make([][]sdk.Observation, len(places))
	var work sync.WaitGroup
	for i, at := range places {
		work.Go(func() { found[i] = cluster{p.API, at.Name, at.Namespace}.observe(ctx, asked[at]) })
	}
	work.Wait()
	if err := given.Err(); err != nil {
		return nil, err
	}
	return append(seen, slices.Concat(found...)...), nil
}

// fewKeys is how many machines are asked for by name; a longer list would not fit into a URL.
const fewKeys = 40

// observe looks at pods of one namespace.
func (c cluster) observe(ctx context.Context, names []string) []sdk.Observation {
	selected := []string{managedBy + "=" + manager}
	if len(names) <= fewKeys {
		var keys []string
		for _, name := range names {
			if keyForm.MatchString(name) {
				keys = append(keys, name, strings.TrimPrefix(name, podPrefix)) // a key need not begin with the prefix
			}
		}
		selected = append(selected, labelKeyOf+" in ("+strings.Join(keys, ",")+")")
	}
	pods, now, err := all[pod](ctx, c, call{doing: "listing the pods", path: c.core("pods"), query: selector(selected...)})
	byName := map[string]pod{}
	for _, p := range pods {
		byName[p.Metadata.Name] = p
	}
	seen := make([]sdk.Observation, len(names))
	var work sync.WaitGroup
	for i, name := range names {
		work.Go(func() {
			if err != nil {
				seen[i] = sdk.Observation{State: sdk.Unreachable, Message: err.Error()}
			} else {
				p, listed := byName[name]
				seen[i] = c.look(ctx, name, p, listed, now)
			}
			seen[i].Handle = handle{c.context, c.namespace, name}.String()
		})
	}
	work.Wait()
	return seen
}

// look reports on one pod. One that is not in the list is asked for by its name: a machine that
// runs must not be taken for one that has ended.
func (c cluster) look(ctx context.Context, name string, p pod, listed bool, now time.Time) sdk.Observation {
	if !listed {
		var err error
		now, err = c.do(ctx, call{doing: "looking at the pod " + name, path: c.core("pods", name)}, &p)
		if is(err, 404) {
			return c.gone(ctx, name)
		}
		if err != nil {
			return sdk.Observation{State: sdk.Unreachable, Message: err.Error()}
		}
		if p.Metadata.Labels[managedBy] != manager {
			return c.gone(ctx, name) // somebody else's
		}
	}
	o := c.observation(p, now)
	switch {
	case o.State == sdk.Running:
		if instead := c.prove(ctx, &p, now); instead != nil {
			instead.Isolation = o.Isolation
			return *instead
		}
		o.Message += p.closedBy()
	case o.State == sdk.Pending && p.gated(kueueGate):
		o.Message = c.inQueue(ctx, p)
	case o.State == sdk.Starting && p.silent() && p.age(now) > slowStart:
		if why := c.warning(ctx, name); why != "" {
			o.Message += ": " + why
		}
	}
	return o
}

// slowStart is after how long the cluster's events are asked why a pod does not start.
const slowStart = 10 * time.Second

// silent reports whether the pod itself does not say why it does not start.
func (p pod) silent() bool {
	w := p.Status.container().Waiting
	return w == nil || w.Message == ""
}

// age is how long the pod has had a node, by the clock of the cluster.
func (p pod) age(now time.Time) time.Duration {
	if p.Status.StartTime == nil || now.IsZero() {
		return 0
	}
	return now.Sub(*p.Status.StartTime)
}

// observation is what the state of a pod means for its machine.
func (c cluster) observation(p pod, now time.Time) sdk.Observation {
	o := c.state(p, now)
	o.Message = oneline.Tidy(o.Message, maxText)
	if o.State == sdk.Pending && p.Metadata.CreationTimestamp != nil && !now.IsZero() {
		o.AfterSeconds = min(max(now.Sub(*p.Metadata.CreationTimestamp).Seconds()/5, 0), longestLook)
	}
	o.Isolation = "pod"
	if p.Spec.RuntimeClassName != "" {
		o.Isolation += ", runtime class " + p.Spec.RuntimeClassName
	}
	if o.State != sdk.Running {
		return o
	}
	for _, port := range p.ports() {
		o.Endpoints = append(o.Endpoints, sdk.Endpoint{Port: port, URL: sdk.RouteURL})
	}
	return o
}

// longestLook is the time between two looks at a pod that has waited long, in seconds.
const longestLook = 15

func say(state sdk.State, format string, args ...any) sdk.Observation {
	return sdk.Observation{State: state, Message: fmt.Sprintf(format, args...)}
}

func fail(code sdk.Code, format string, args ...any) sdk.Observation {
	return sdk.Observation{State: sdk.Failed, Code: code, Message: fmt.Sprintf(format, args...)}
}

func (c cluster) state(p pod, now time.Time) sdk.Observation {
	if refused := p.refused(); refused != nil {
		return *refused
	}
	machine := p.Status.container()
	phase := p.Status.Phase
	if phase == "Failed" || phase == "Succeeded" || machine.Terminated != nil {
		return p.ended()
	}
	if why, disrupted := p.disrupted(); disrupted && !p.onLostNode() {
		return why
	}
	switch {
	case p.onLostNode():
		return say(sdk.Unreachable, "the node %s of the pod does not answer", p.Spec.NodeName)
	case p.overdue(now):
		return say(sdk.Unreachable, "the pod was deleted, and its node %s does not say that it has ended", p.Spec.NodeName)
	case p.Metadata.DeletionTimestamp != nil:
		return say(sdk.Unreachable, "the pod is being deleted")
	case machine.Running != nil:
		return say(sdk.Running, "pod on the node %s", p.Spec.NodeName)
	case p.Spec.NodeName == "":
		return p.pending()
	case machine.Waiting != nil:
		return p.waiting(*machine.Waiting, now)
	}
	return say(sdk.Starting, "the pod starts on the node %s", p.Spec.NodeName)
}

const kueueGate = "kueue.x-k8s.io/admission"

func (p pod) gated(name string) bool {
	return slices.Contains(p.Spec.SchedulingGates, named{name})
}

// pending says why the pod has no node.
func (p pod) pending() sdk.Observation {
	s := p.Status.condition("PodScheduled")
	switch {
	case p.gated(kueueGate):
		return say(sdk.Pending, "the pod waits in the queue %s", p.Metadata.Labels[labelQueue])
	case len(p.Spec.SchedulingGates) > 0:
		return say(sdk.Pending, "the pod waits for its scheduling gate %s", p.Spec.SchedulingGates[0].Name)
	case s.Status == "False" && s.Message != "":
		return say(sdk.Pending, "the pod cannot be scheduled: %s", unscheduled(s.Message))
	case s.Status == "False":
		return say(sdk.Pending, "the pod cannot be scheduled: %s", s.Reason)
	}
	return say(sdk.Pending, "the pod waits for the scheduler")
}

// unscheduled is the scheduler's reason without what it says of preemption.
func unscheduled(text string) string {
	text, _, _ = strings.Cut(text, " preemption: ")
	return strings.TrimSpace(text)
}

// imageTime is how long a pull may fail for reasons that may pass, such as a registry that does
// not answer. quickImageTime is for those that do not.
const (
	imageTime      = 5 * time.Minute
	quickImageTime = 10 * time.Second
	startTime      = time.Minute // for a container that cannot be made
)

// lasting are words of registries with which no later pull succeeds.
var lasting = []string{"not found", "manifest unknown", "denied", "unauthorized", "authorization failed", "forbidden", "no match for platform", "invalid reference"}

// pullHint says what a registry's refusal needs, if it is one. Registries also deny images that
// they do not have.
func pullHint(said string) string {
	for _, word := range []string{"denied", "unauthorized", "authorization", "forbidden"} {
		if strings.Contains(said, word) {
			return "; see that the name is right; a private image needs provider_options.kubernetes.image_pull_secrets"
		}
	}
	return ""
}

// waiting says why a container does not run on its node.
func (p pod) waiting(w waitingState, now time.Time) sdk.Observation {
	image, age := p.Spec.container().Image, p.age(now)
	text := cmp.Or(oneline.Tidy(strings.TrimPrefix(w.Message, fmt.Sprintf("Back-off pulling image %q: ErrImagePull: ", image)), maxText), w.Reason)
	starting := say(sdk.Starting, "the pod starts on the node %s: %s", p.Spec.NodeName, text)
	switch w.Reason {
	case "InvalidImageName", "ErrImageNeverPull":
		return fail(sdk.Invalid, "the image %s cannot be used: %s", image, text)
	case "ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable":
		lower := strings.ToLower(text)
		sure := slices.ContainsFunc(lasting, func(word string) bool { return strings.Contains(lower, word) })
		if age > imageTime || sure && (age > quickImageTime || w.Reason == "ImagePullBackOff") {
			return fail(sdk.Invalid, "the image %s cannot be pulled: %s%s", image, text, pullHint(lower))
		}
		return say(sdk.Starting, "the image %s is not there yet: %s", image, text)
	case "CreateContainerConfigError":
		return fail(sdk.Invalid, "the container cannot be made: %s", text)
	case "CreateContainerError", "RunContainerError":
		if age > startTime {
			return fail(sdk.Invalid, "the container cannot be made: %s", text)
		}
		return starting
	case "CrashLoopBackOff":
		return fail(sdk.Unavailable, "the program of the pod ends again and again: %s", text)
	case "", "ContainerCreating", "PodInitializing":
		if why := p.Status.added(); why != "" {
			return say(sdk.Starting, "the pod starts on the node %s: %s", p.Spec.NodeName, why)
		}
		return say(sdk.Starting, "the pod starts on the node %s", p.Spec.NodeName)
	}
	return starting
}

// inQueue says why Kueue has not admitted a pod.
func (c cluster) inQueue(ctx context.Context, p pod) string {
	text := "the pod waits in the queue " + p.Metadata.Labels[labelQueue]
	workloads, _, err := all[workload](ctx, c, call{doing: "listing the workloads", path: c.group(kueue, "workloads")})
	if err != nil {
		return text // the user may not read them
	}
	for _, w := range workloads {
		if !slices.ContainsFunc(w.Metadata.OwnerReferences, func(r ownerReference) bool { return r.UID == p.Metadata.UID }) {
			continue
		}
		for _, cond := range w.Status.Conditions {
			if (cond.Type == "QuotaReserved" || cond.Type == "Admitted") && cond.Status == "False" && cond.Message != "" {
				return text + ": " + oneline.Tidy(cond.Message, maxText)
			}
		}
	}
	return text
}

// events are those of a pod, the oldest first; none where the user may not read them.
func (c cluster) events(ctx context.Context, name string) []podEvent {
	events, _, err := all[podEvent](ctx, c, call{doing: "listing the events", path: c.core("events"),
		query: map[string][]string{"fieldSelector": {"involvedObject.kind=Pod,involvedObject.name=" + name}}})
	if err != nil {
		return nil
	}
	return events
}

// warning is the last one of a pod.
func (c cluster) warning(ctx context.Context, name string) string {
	text := ""
	for _, e := range c.events(ctx, name) {
		if e.Type == "Warning" {
			text = oneline.Tidy(e.Reason+": "+e.Message, maxText)
		}
	}
	return text
}
