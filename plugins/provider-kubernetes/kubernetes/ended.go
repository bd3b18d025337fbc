package kubernetes

import (
	"context"
	"fmt"
	"strings"

	"github.com/seer-engine/seer/plugins/internal/oneline"
	"github.com/seer-engine/seer/sdk"
)

// ended says why a pod has ended.
func (p pod) ended() sdk.Observation {
	s := p.Status
	switch text := oneline.Tidy(s.Message, maxText); {
	case s.Reason == "DeadlineExceeded":
		return say(sdk.Stopped, "its time is over: the pod has reached its deadline")
	case s.Reason == "Evicted":
		return fail(sdk.Unavailable, "the pod was evicted from the node %s: %s%s", p.Spec.NodeName, text, evictionHint(text))
	case s.Reason == "Preempting":
		return fail(sdk.NoCapacity, "the pod was preempted on the node %s: %s", p.Spec.NodeName, text)
	case s.Reason == "NodeLost":
		return p.lost()
	case s.Reason == "Terminated" || s.Reason == "NodeShutdown" || s.Reason == "Shutdown":
		return fail(sdk.Unavailable, "the node %s was shut down: %s", p.Spec.NodeName, text)
	case rejections[s.Reason] || strings.HasPrefix(s.Reason, "OutOf"):
		return fail(sdk.NoCapacity, "the node %s has refused the pod: %s", p.Spec.NodeName, orReason(text, s.Reason))
	}
	if o, disrupted := p.disrupted(); disrupted {
		return o
	}
	if t := s.container().Terminated; t != nil {
		return p.exited(*t)
	}
	if why := s.added(); why != "" {
		return fail(sdk.Invalid, "the pod cannot start: %s", why)
	}
	if s.Phase == "Succeeded" {
		return say(sdk.Stopped, itself)
	}
	return fail(sdk.Unavailable, "the pod has failed: %s", orReason(oneline.Tidy(s.Message, maxText), orReason(s.Reason, "the cluster does not say why")))
}

// itself is how a machine ends that nobody ends.
const itself = "its program has ended by itself, as it does at the end of its time or when nobody uses it"

// rejections are reasons with which a kubelet does not take a pod that the scheduler gave it.
var rejections = map[string]bool{
	"UnexpectedAdmissionError": true, "NodeAffinity": true, "TopologyAffinityError": true, "NodePorts": true, "NodeName": true, "TaintToleration": true, "InvalidNodeInfo": true,
}

func orReason(text, reason string) string {
	if text == "" {
		return reason
	}
	return text
}

func evictionHint(text string) string {
	if strings.Contains(text, "ephemeral") {
		return "; raise sandbox.disk"
	}
	return ""
}

func (p pod) lost() sdk.Observation {
	return fail(sdk.Unavailable, "the pod has lost its node %s, which does not answer", p.Spec.NodeName)
}

// disrupted says why the cluster itself ends or has ended the pod, as its condition
// DisruptionTarget tells.
func (p pod) disrupted() (o sdk.Observation, ok bool) {
	d := p.Status.condition("DisruptionTarget")
	if d.Status != "True" {
		d = p.Status.condition("TerminationTarget") // Kueue's
	}
	if d.Status != "True" {
		return o, false
	}
	text := oneline.Tidy(d.Message, maxText)
	switch d.Reason {
	case "PreemptionByScheduler":
		return fail(sdk.NoCapacity, "the pod was preempted: the scheduler has given its place to one of higher priority"), true
	case "DeletionByTaintManager", "DeletionByPodGC":
		return p.lost(), true
	case "EvictionByEvictionAPI":
		return fail(sdk.Unavailable, "the pod was evicted, as its node %s is drained: %s", p.Spec.NodeName, text), true
	case "TerminationByKubelet":
		return fail(sdk.Unavailable, "the node %s has ended the pod: %s", p.Spec.NodeName, text), true
	}
	if strings.HasPrefix(d.Reason, "WorkloadEvicted") || strings.Contains(d.Reason, "Preempt") {
		return fail(sdk.NoCapacity, "the pod was preempted (%s): %s", d.Reason, text), true
	}
	return fail(sdk.Unavailable, "the cluster has ended the pod (%s): %s", d.Reason, text), true
}

// The signals with which kernels and kubelets end programs, as exit codes.
const (
	killed     = 128 + 9
	terminated = 128 + 15
)

// exited says how the machine's program has ended.
func (p pod) exited(t terminatedState) sdk.Observation {
	said := oneline.Tidy(lastLine(t.Message), maxText)
	if said != "" {
		said = ": " + said
	}
	switch {
	case t.Reason == "OOMKilled":
		limit := p.Spec.container().Resources.Limits["memory"]
		if limit == "" {
			return fail(sdk.Unavailable, "the machine was killed as its node %s had no memory left (OOMKilled); set sandbox.memory", p.Spec.NodeName)
		}
		return fail(sdk.Unavailable, "the machine was killed as it used more than its %s of memory (OOMKilled); raise sandbox.memory", limit)
	case t.Reason == "StartError" || t.Reason == "ContainerCannotRun":
		return fail(sdk.Invalid, "the program of the machine cannot start%s; the image %s needs python3", said, p.Spec.container().Image)
	case t.Reason == "ContainerStatusUnknown":
		return fail(sdk.Unavailable, "the pod has lost its node %s: nobody knows how it has ended", p.Spec.NodeName)
	case p.Metadata.DeletionTimestamp != nil:
		return say(sdk.Stopped, "the pod was deleted")
	case t.ExitCode == 0:
		return say(sdk.Stopped, itself)
	case t.ExitCode == killed:
		return fail(sdk.Unavailable, "the program of the machine was killed (SIGKILL)%s", said)
	case t.ExitCode == terminated:
		return fail(sdk.Unavailable, "the program of the machine was ended (SIGTERM)%s", said)
	}
	return fail("", "it ended with exit code %d%s", t.ExitCode, said)
}

// added says what is wrong with a container that the cluster has added before that of the machine,
// as service meshes do; empty = nothing.
func (s podStatus) added() string {
	for _, c := range s.InitContainerStatuses {
		w, t := c.State.Waiting, c.State.Terminated
		switch {
		case w != nil && w.Message != "":
			return "the container " + c.Name + ", which the cluster has added, does not start: " + oneline.Tidy(w.Message, maxText)
		case t != nil && t.ExitCode != 0:
			return fmt.Sprintf("the container %s, which the cluster has added, ended with exit code %d: %s", c.Name, t.ExitCode, orReason(oneline.Tidy(lastLine(t.Message), maxText), t.Reason))
		}
	}
	return ""
}

// gone says what is known of a pod that is no longer there: the cluster keeps its events for a
// while.
func (c cluster) gone(ctx context.Context, name string) sdk.Observation {
	o := say(sdk.Stopped, "the pod is gone: it was deleted")
	for _, e := range c.events(ctx, name) {
		text := oneline.Tidy(e.Message, maxText)
		switch e.Reason {
		case "Stopped": // by Kueue
			o = fail(sdk.NoCapacity, "Kueue has ended the pod: %s", text)
		case "Preempted":
			o = fail(sdk.NoCapacity, "the pod was preempted: %s", text)
		case "TaintManagerEviction":
			if !strings.HasPrefix(e.Message, "Cancelling") {
				o = fail(sdk.Unavailable, "the pod has lost its node: %s", text)
			}
		case "Evicted":
			o = fail(sdk.Unavailable, "the pod was evicted: %s", text)
		}
	}
	return o
}
