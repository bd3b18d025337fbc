package kubernetes

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/plugins/internal/oneline"
	"github.com/seer-engine/seer/sdk"
)

// close makes the NetworkPolicy that lets nothing into the pod and nothing out. Requests of exec,
// by which Seer reaches the machine, come through the kubelet and not through the network.
func (c cluster) close(ctx context.Context, of meta) error {
	wanted := networkPolicy{
		APIVersion: networking, Kind: "NetworkPolicy",
		Metadata: meta{Name: of.Name, Namespace: c.namespace, Labels: of.Labels, Annotations: map[string]string{}},
		Spec: networkPolicySpec{
			PodSelector: labelSelector{map[string]string{managedBy: manager, labelKeyOf: of.Labels[labelKeyOf]}},
			PolicyTypes: []string{"Ingress", "Egress"},
		},
	}
	if end := of.Annotations[notedEnd]; end != "" {
		wanted.Metadata.Annotations[notedEnd] = end
	}
	_, err := c.do(ctx, call{doing: "making the NetworkPolicy " + of.Name, method: "POST", path: c.policies(), body: wanted}, nil)
	if exists(err) {
		return nil
	}
	return err
}

// own lets the cluster remove the policy with its pod.
func (c cluster) own(ctx context.Context, p pod) error {
	patch := map[string]any{"metadata": meta{OwnerReferences: []ownerReference{{APIVersion: "v1", Kind: "Pod", Name: p.Metadata.Name, UID: p.Metadata.UID}}}}
	_, err := c.do(ctx, call{doing: "giving the NetworkPolicy to its pod " + p.Metadata.Name, method: "PATCH", path: c.policies(p.Metadata.Name), body: patch, patch: true}, nil)
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

//go:embed probe.py
var probeScript string

const (
	proofClosed = "closed"
	proofOpen   = "open: " // and what was reached

	// lateness is how long a policy may take until it counts. Policies are carried to the nodes
	// by programs of their own.
	lateness    = 20 * time.Second
	probeWait   = 2               // seconds between two tries
	probeTime   = 8 * time.Second // of one try
	unprovenMax = 2 * time.Minute // without any answer of the probe
)

// probed is what probe.py prints.
type probed struct {
	Tried   []string `json:"tried"`
	Reached []string `json:"reached"`
	Self    bool     `json:"self"` // the machine's own port was reached: the probe works
}

// prove tries from inside of a running pod whether its network is closed, and notes the result. An
// Observation other than nil stands in the place of the pod's own.
func (c cluster) prove(ctx context.Context, p pod, now time.Time) *sdk.Observation {
	switch proof := p.Metadata.Annotations[notedProof]; {
	case p.Metadata.Annotations[notedNetwork] != closedNetwork || proof == proofClosed:
		return nil
	case strings.HasPrefix(proof, proofOpen):
		return notClosed(strings.TrimPrefix(proof, proofOpen))
	}
	result, err := c.probe(ctx, p)
	since := running(p, now)
	switch {
	case err != nil && since > unprovenMax:
		return &sdk.Observation{State: sdk.Failed, Code: sdk.Unavailable, Message: "the start is refused: nothing proves that the network is closed (network: none): " + err.Error()}
	case err != nil:
		return proving("the proof that the network is closed has not run yet: " + err.Error())
	case len(result.Reached) == 0:
		if err := c.note(ctx, p, proofClosed, false); err != nil {
			return proving("the network is closed, which could not be noted: " + err.Error())
		}
		return nil
	}
	reached := strings.Join(result.Reached, ", ")
	if since < lateness {
		return proving("the NetworkPolicy does not count yet: the pod has reached " + reached)
	}
	if err := c.note(ctx, p, proofOpen+reached, true); err != nil {
		return proving("the network is not closed, and the pod could not be ended: " + err.Error())
	}
	return notClosed(reached)
}

func proving(text string) *sdk.Observation {
	return &sdk.Observation{State: sdk.Starting, Message: text, AfterSeconds: probeWait}
}

func notClosed(reached string) *sdk.Observation {
	return &sdk.Observation{State: sdk.Failed, Code: sdk.Unsupported, Message: fmt.Sprintf(
		"the start is refused: the cluster does not keep the NetworkPolicy of network: none, as the pod has reached %s; use a cluster whose network plugin enforces policies, or set network: open", reached)}
}

// running is how long the machine's program runs, by the clock of the cluster. Without one it is
// as long as needed.
func running(p pod, now time.Time) time.Duration {
	s := p.Status.container().Running
	if s == nil || s.StartedAt == nil || now.IsZero() {
		return lateness
	}
	return now.Sub(*s.StartedAt)
}

// probe runs probe.py in the pod.
func (c cluster) probe(ctx context.Context, p pod) (result probed, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	argv := []string{"python3", "-I", "-S", "-c", probeScript}
	ports := p.ports()
	if len(ports) == 0 {
		return result, sdk.Errorf(sdk.Unavailable, "the pod has no port")
	}
	argv = append(append(argv, strconv.Itoa(ports[0])), strings.Fields(p.Metadata.Annotations[notedProbe])...)
	ended, err := c.api.Exec(ctx, c.context, sdk.KubeExec{Namespace: c.namespace, Pod: p.Metadata.Name, Container: containerName, Argv: argv})
	if err != nil {
		return result, err
	}
	if ended.Code != 0 || json.Unmarshal(ended.Stdout, &result) != nil {
		return result, sdk.Errorf(sdk.Unavailable, "python3 in the pod ended with exit code %d: %s", ended.Code, oneline.Tidy(lastLine(ended.Stderr), maxText))
	}
	if len(result.Reached) == 0 && (!result.Self || len(result.Tried) == 0) {
		return result, sdk.Errorf(sdk.Unavailable, "the probe did not reach the machine's own port, so that it proves nothing")
	}
	return result, nil
}

// note writes the result at the pod, and ends a pod whose network is open: by its deadline, so
// that the pod stays and says why.
func (c cluster) note(ctx context.Context, p pod, proof string, end bool) error {
	patch := map[string]any{"metadata": meta{Annotations: map[string]string{notedProof: proof}}}
	if end {
		patch["spec"] = map[string]any{"activeDeadlineSeconds": 1}
	}
	_, err := c.do(ctx, call{doing: "noting the proof of the network", method: "PATCH", path: c.core("pods", p.Metadata.Name), body: patch, patch: true}, nil)
	return err
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
