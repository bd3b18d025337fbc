package kubernetes

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/plugins/internal/oneline"
	"github.com/seer-engine/seer/sdk"
)

//go:embed probe.py
var probeScript string

// What is noted at a pod of the proof that its network is closed.
const (
	proofClosed   = "closed"
	proofDenied   = "closed: "   // and the policies of the namespace that had closed it before
	proofOpen     = "open: "     // and what was reached
	proofUnproven = "unproven: " // and what was tried
)

const (
	// lateness is how long a policy may take until it counts. Policies are carried to the nodes
	// by programs of their own.
	lateness    = 20 * time.Second
	controlTime = 20 * time.Second // in which the network of a new pod begins to work
	probeWait   = 2                // seconds between two tries
	probeTime   = 8 * time.Second  // of one try
	unprovenMax = 2 * time.Minute  // without any answer of the probe
)

// probed is what probe.py prints.
type probed struct {
	Tried   []string `json:"tried"`
	Reached []string `json:"reached"`
	Self    bool     `json:"self"` // the machine's own port was reached: the probe works
}

// control is what the probe reached before the policy was made. Without it, a network in which
// nothing answers could not be told from one that is closed.
type control struct {
	Reached []string `json:"reached"`
	Unix    int64    `json:"unix,omitempty"`   // by the clock of the cluster; 0 = not known
	Denied  []string `json:"denied,omitempty"` // the policies of the namespace by which nothing was reached
}

// control is the one that is noted at the pod, nil if none is.
func (p pod) control() *control {
	var noted control
	if json.Unmarshal([]byte(p.Metadata.Annotations[notedControl]), &noted) != nil {
		return nil
	}
	return &noted
}

// age is how long ago the control was. Without a clock it is as long as needed.
func (r control) age(now time.Time) time.Duration {
	if r.Unix == 0 || now.IsZero() {
		return lateness
	}
	return now.Sub(time.Unix(r.Unix, 0))
}

// proof is the one of a running pod.
type proof struct {
	cluster cluster
	p       *pod // gets the notes
	now     time.Time
}

// prove closes the network of a running pod and tries from inside whether it is closed. Each step
// is noted at the pod, so that whoever looks next goes on from there. An Observation other than
// nil stands in the place of the pod's own.
func (c cluster) prove(ctx context.Context, p *pod, now time.Time) *sdk.Observation {
	if p.Metadata.Annotations[notedNetwork] != closedNetwork || strings.HasPrefix(p.Metadata.Annotations[notedProof], proofClosed) {
		return nil
	}
	before := p.control()
	if before == nil {
		var instead *sdk.Observation
		if before, instead = (proof{c, p, now}).tryOpen(ctx); instead != nil {
			return instead
		}
	}
	if err := c.close(ctx, *p); err != nil {
		if code := sdk.CodeOf(err); code != sdk.Unavailable && code != sdk.RateLimited {
			return &sdk.Observation{State: sdk.Failed, Code: code, Message: "the start is refused: the network cannot be closed (network: none): " + err.Error()}
		}
		return proving("the network is not closed yet: " + err.Error())
	}
	return proof{c, p, now}.tryClosed(ctx, *before)
}

// tryOpen makes the control: before the policy is made, the probe must reach something.
func (w proof) tryOpen(ctx context.Context) (*control, *sdk.Observation) {
	result, err := w.probe(ctx)
	if err != nil {
		return nil, unanswered(err, *w.p, w.now)
	}
	made := control{Reached: result.Reached}
	if !w.now.IsZero() {
		made.Unix = w.now.Unix()
	}
	if len(result.Reached) == 0 {
		if noted := w.noted(ctx); noted != nil {
			return noted, nil // somebody else has closed the network since
		}
		if made.Denied, err = w.cluster.denial(ctx, *w.p); err != nil {
			return nil, proving("whether the namespace closes the network is not known yet: " + err.Error())
		}
		switch tried := strings.Join(result.Tried, ", "); {
		case len(made.Denied) > 0:
		case running(*w.p, w.now) < controlTime:
			return nil, proving("the pod has reached nothing yet of what is to show that its network is open before it is closed: " + tried)
		default:
			return nil, w.refuse(ctx, proofUnproven+tried)
		}
	}
	text, err := json.Marshal(made)
	if err == nil {
		err = w.note(ctx, notedControl, string(text), false)
	}
	if err != nil {
		return nil, proving("what the pod reaches before its network is closed could not be noted: " + err.Error())
	}
	return &made, nil
}

// noted is the control that is noted at the pod now.
func (w proof) noted(ctx context.Context) *control {
	var fresh pod
	if _, err := w.cluster.do(ctx, call{doing: "looking at the pod " + w.p.Metadata.Name, path: w.cluster.core("pods", w.p.Metadata.Name)}, &fresh); err != nil {
		return nil
	}
	return fresh.control()
}

// tryClosed makes the proof: after the policy was made, the probe reaches nothing any more.
func (w proof) tryClosed(ctx context.Context, before control) *sdk.Observation {
	result, err := w.probe(ctx)
	if err != nil {
		return unanswered(err, *w.p, w.now)
	}
	if len(result.Reached) > 0 {
		reached := strings.Join(result.Reached, ", ")
		if before.age(w.now) < lateness {
			return proving("the NetworkPolicy does not count yet: the pod has reached " + reached)
		}
		return w.refuse(ctx, proofOpen+reached)
	}
	// What was reached before must have been tried again: a place may have left the list.
	if lost := slices.DeleteFunc(slices.Clone(before.Reached), func(place string) bool { return slices.Contains(result.Tried, place) }); len(lost) > 0 {
		return unanswered(sdk.Errorf(sdk.Unavailable, "the probe has not tried %s again", strings.Join(lost, ", ")), *w.p, w.now)
	}
	resulting := proofClosed
	if len(before.Denied) > 0 {
		resulting = proofDenied + strings.Join(before.Denied, ", ")
	}
	if err := w.note(ctx, notedProof, resulting, false); err != nil {
		return proving("the network is closed, which could not be noted: " + err.Error())
	}
	return nil
}

// refuse notes why the start is refused, and ends the pod.
func (w proof) refuse(ctx context.Context, text string) *sdk.Observation {
	if err := w.note(ctx, notedProof, text, true); err != nil {
		return proving("the network is not proved to be closed, and the pod could not be ended: " + err.Error())
	}
	return w.p.refused()
}

// refused is what the noted proof means for a machine whose start was refused; nil for others.
func (p pod) refused() *sdk.Observation {
	proof := p.Metadata.Annotations[notedProof]
	if reached, open := strings.CutPrefix(proof, proofOpen); open {
		return refusedFor(sdk.Unsupported, "the cluster does not keep the NetworkPolicy of network: none, as the pod has reached %s; use a cluster whose network plugin enforces policies, or set network: open", reached)
	}
	if tried, unproven := strings.CutPrefix(proof, proofUnproven); unproven {
		return refusedFor(sdk.Invalid, "nothing would prove that the network is closed (network: none), as the pod reaches none of these places even without a NetworkPolicy: %s; name a HOST:PORT that your pods reach in provider_options.kubernetes.network_probe, or set network: open", tried)
	}
	return nil
}

func refusedFor(code sdk.Code, format, places string) *sdk.Observation {
	return &sdk.Observation{State: sdk.Failed, Code: code, Message: "the start is refused: " + fmt.Sprintf(format, places)}
}

// closedBy says of a pod without a control on what its proof rests.
func (p pod) closedBy() string {
	names, denied := strings.CutPrefix(p.Metadata.Annotations[notedProof], proofDenied)
	if !denied {
		return ""
	}
	return "; its network was closed before by policies of the namespace (" + names + "), so that nothing shows whether it was ever open"
}

func proving(text string) *sdk.Observation {
	return &sdk.Observation{State: sdk.Starting, Message: text, AfterSeconds: probeWait}
}

// unanswered is for a probe that has not run.
func unanswered(err error, p pod, now time.Time) *sdk.Observation {
	if running(p, now) > unprovenMax {
		return &sdk.Observation{State: sdk.Failed, Code: sdk.Unavailable, Message: "the start is refused: nothing proves that the network is closed (network: none): " + err.Error()}
	}
	return proving("the proof that the network is closed has not run yet: " + err.Error())
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
func (w proof) probe(ctx context.Context) (result probed, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	argv := []string{"python3", "-I", "-S", "-c", probeScript}
	ports := w.p.ports()
	if len(ports) == 0 {
		return result, sdk.Errorf(sdk.Unavailable, "the pod has no port")
	}
	argv = append(append(argv, strconv.Itoa(ports[0])), strings.Fields(w.p.Metadata.Annotations[notedProbe])...)
	ended, err := w.cluster.api.Exec(ctx, w.cluster.context, sdk.KubeExec{Namespace: w.cluster.namespace, Pod: w.p.Metadata.Name, Container: containerName, Argv: argv})
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

// note writes a step of the proof at the pod, and ends a pod whose start is refused: by its
// deadline, so that the pod stays and says why.
func (w proof) note(ctx context.Context, name, text string, end bool) error {
	patch := map[string]any{"metadata": meta{Annotations: map[string]string{name: text}}}
	if end {
		patch["spec"] = map[string]any{"activeDeadlineSeconds": 1}
	}
	_, err := w.cluster.do(ctx, call{doing: "noting the proof of the network", method: "PATCH", path: w.cluster.core("pods", w.p.Metadata.Name), body: patch, patch: true}, nil)
	if err == nil {
		w.p.Metadata.Annotations[name] = text
	}
	return err
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
