package runpod

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// The states of a pod. One that is not among them is taken as alive.
const (
	provisioning = "PROVISIONING"
	starting     = "STARTING"
	running      = "RUNNING"
	exited       = "EXITED"
	failed       = "ERROR"
	terminated   = "TERMINATED"
)

// pod is what is used of RunPod's answers.
type pod struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Status     string          `json:"status"`
	Ports      []string        `json:"ports"`        // 8888/http
	DataCenter string          `json:"dataCenterId"` // empty until there is one
	Cost       float64         `json:"cost"`         // USD an hour
	Runtime    json.RawMessage `json:"runtime"`      // null, or empty, until the container runs
	CreatedAt  string          `json:"createdAt"`
}

// state is where the pod is in its life, and why, for people.
func (p pod) state() (sdk.State, string) {
	switch p.Status {
	case provisioning:
		return sdk.Starting, "RunPod is looking for a machine"
	case starting:
		return sdk.Starting, "RunPod is starting the container"
	case exited:
		return sdk.Stopped, "RunPod has stopped the pod: somebody ended it, or the credit is used up"
	case failed:
		return sdk.Failed, "RunPod could not run the container; its log is at https://console.runpod.io/pods"
	case terminated:
		return sdk.Stopped, "the pod was terminated"
	}
	if !p.up() {
		return sdk.Starting, "the image is being pulled"
	}
	return sdk.Running, ""
}

// up reports whether the container runs: only then does RunPod measure it.
func (p pod) up() bool {
	var measured struct {
		Uptime, GPUs, CPU, Memory, Ports json.RawMessage
	}
	if json.Unmarshal(p.Runtime, &measured) != nil {
		return false
	}
	for _, m := range []json.RawMessage{measured.Uptime, measured.GPUs, measured.CPU, measured.Memory, measured.Ports} {
		if len(m) > 0 && string(m) != "null" {
			return true
		}
	}
	return false
}

// httpPorts are those to which the proxy leads.
func (p pod) httpPorts() []int {
	var ports []int
	for _, text := range p.Ports {
		number, kind, _ := strings.Cut(text, "/")
		if n, err := strconv.Atoi(number); err == nil && kind == "http" && n > 0 {
			ports = append(ports, n)
		}
	}
	return ports
}

// describe says what was rented, for people.
func (p pod) describe(what choice) string {
	text := what.ID
	if dataCenterForm.MatchString(p.DataCenter) {
		text += " in " + p.DataCenter
	}
	if p.Cost > 0 {
		text += fmt.Sprintf(", $%.2f an hour", p.Cost)
	}
	return text
}

func (p pod) dead() bool {
	state, _ := p.state()
	return !state.Live()
}

// older orders pods of one name: one that lives before one that does not, then by
// age. All who look at the same pods find the same order.
func older(a, b pod) int {
	if a.dead() != b.dead() {
		if b.dead() {
			return -1
		}
		return 1
	}
	return cmp.Or(a.created().Compare(b.created()), strings.Compare(a.ID, b.ID))
}

// created is the zero time where RunPod does not tell.
func (p pod) created() time.Time {
	t, err := time.Parse(time.RFC3339Nano, p.CreatedAt)
	if err != nil {
		return time.Time{}
	}
	return t
}

const podPages = 100 // more is a server that never comes to an end

// podPage is a list of pods, or a part of it. RunPod's specification has no pages, and its
// users have seen a cursor: each of the usual names of it is read.
type podPage struct {
	Pods       []pod  `json:"pods"`
	NextCursor string `json:"nextCursor"`
	Snake      string `json:"next_cursor"`
	Cursor     string `json:"cursor"`
	Pagination struct {
		NextCursor string `json:"nextCursor"`
	} `json:"pagination"`
}

// pods are all of the account's. A server that takes no cursor gives the same page again,
// which ends the list.
func (c *client) pods(ctx context.Context) ([]pod, error) {
	var all []pod
	seen, asked := map[string]bool{}, map[string]bool{}
	query := url.Values{}
	for range podPages {
		var page podPage
		if err := c.do(ctx, call{doing: "asking for the pods", method: "GET", path: "/pods", query: query}, &page); err != nil {
			return nil, err
		}
		fresh := false
		for _, p := range page.Pods {
			if !seen[p.ID] {
				seen[p.ID], fresh = true, true
				all = append(all, p)
			}
		}
		next := cmp.Or(page.NextCursor, page.Snake, page.Pagination.NextCursor, page.Cursor)
		if next == "" || !fresh || asked[next] {
			return all, nil
		}
		asked[next] = true
		query.Set("cursor", next)
	}
	return nil, sdk.Errorf(sdk.Internal, "asking for the pods: RunPod's list did not end after %d pages", podPages)
}

func (c *client) pod(ctx context.Context, id string) (pod, error) {
	var p pod
	err := c.do(ctx, call{doing: "asking for the pod " + id, method: "GET", path: "/pods/" + url.PathEscape(id)}, &p)
	return p, err
}

// terminate ends a pod; one that is not there has ended.
func (c *client) terminate(ctx context.Context, id string) error {
	err := c.do(ctx, call{doing: "ending the pod " + id, method: "DELETE", path: "/pods/" + url.PathEscape(id)}, nil)
	if sdk.CodeOf(err) == sdk.NotFound {
		return nil
	}
	return err
}
