package fakerunpod

import (
	"maps"
	"slices"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/container"
)

// The states of a pod.
const (
	provisioning = "PROVISIONING"
	starting     = "STARTING"
	running      = "RUNNING"
	exited       = "EXITED"
	failed       = "ERROR"
	terminated   = "TERMINATED"
)

// Pod is what the cloud rents, or has rented, to the account.
type Pod struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Status      string    `json:"status"` // RUNNING …
	DataCenter  string    `json:"data_center"`
	CostPerHour float64   `json:"cost_per_hour"` // USD, now
	Billed      float64   `json:"billed"`        // USD, so far
	Restarts    int       `json:"restarts"`      // of its program, because it ended
	CreatedAt   time.Time `json:"created_at"`

	Command []string          `json:"command"` // as its args say it
	Env     map[string]string `json:"env"`
	Ports   []string          `json:"ports"` // 8888/http
}

// Live reports whether the pod costs money.
func (p Pod) Live() bool { return p.CostPerHour > 0 }

type gpuRequest struct {
	ID            string   `json:"id"`
	Count         int      `json:"count"`
	AllowedCuda   []string `json:"allowedCudaVersions"`
	MinCuda       string   `json:"minCudaVersion"`
	MinRAMPerGPU  int      `json:"minRamPerGpu"`
	MinVCPUPerGPU int      `json:"minVcpuCountPerGpu"`
}

type cpuRequest struct {
	ID        string `json:"id"`
	VCPUCount int    `json:"vcpuCount"`
}

type mounts struct {
	Persistent *persistentMount `json:"persistent,omitempty"`
	Network    []networkMount   `json:"network,omitempty"`
}

type persistentMount struct {
	Size int    `json:"size"`
	Path string `json:"path"`
}

type networkMount struct {
	VolumeID string `json:"volumeId"`
	Path     string `json:"path"`
}

// pod is guarded by the mutex of its cloud.
type pod struct {
	config
	id, key, name string
	hex           string // of the user name at the SSH proxy
	status        string
	cloud         string
	dataCenter    string
	mounts        mounts
	volume        *volume // the mounted one
	gpu           *gpuRequest
	cpu           *cpuRequest
	memory        int // GB, of CPU pods
	cuda          *string
	locked        bool
	global        bool
	publicKey     string // of startSsh
	jupyter       string // password of startJupyter

	rate      float64 // USD per hour while it bills
	spans     []span
	createdAt time.Time
	startedAt time.Time
	endedAt   time.Time // when it was terminated

	life     *life
	lives    int
	machine  *container.Container // nil while nothing runs
	upSince  time.Time            // of the machine
	restarts int
	log      *logs
}

// span is a time that was paid for; one without an end goes on.
type span struct {
	from, to time.Time
	rate     float64
}

func (p *pod) bills() bool { return p.status != exited && p.status != terminated }

// actions are the state transitions that are possible now.
func (p *pod) actions() []string {
	switch p.status {
	case provisioning, starting:
		return []string{"stop", "terminate"}
	case running:
		return []string{"stop", "restart", "terminate"}
	case exited, failed:
		return []string{"start", "terminate"}
	}
	return []string{}
}

// setStatus keeps the bill in step.
func (p *pod) setStatus(status string, now time.Time) {
	billed := len(p.spans) > 0 && p.spans[len(p.spans)-1].to.IsZero()
	p.status = status
	switch {
	case p.bills() && !billed:
		p.spans = append(p.spans, span{from: now, rate: p.rate})
	case !p.bills() && billed:
		p.spans[len(p.spans)-1].to = now
	}
}

// amount is what the pod has cost between two times, in USD.
func (p *pod) amount(from, to, now time.Time) float64 {
	sum := 0.0
	for _, s := range p.spans {
		end := s.to
		if end.IsZero() {
			end = now
		}
		if d := earlier(end, to).Sub(later(s.from, from)); d > 0 {
			sum += d.Hours() * s.rate
		}
	}
	return sum
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (p *pod) cost() float64 {
	if p.bills() {
		return p.rate
	}
	return 0
}

// Pods lists every pod that was ever made, the oldest first.
func (c *Cloud) Pods() []Pod {
	c.due()
	c.mu.Lock()
	defer c.mu.Unlock()
	out := []Pod{}
	now := c.now()
	for _, p := range c.pods {
		out = append(out, Pod{
			ID: p.id, Name: p.name, Status: p.status, DataCenter: p.dataCenter, CostPerHour: p.cost(),
			Billed: p.amount(time.Time{}, now, now), Restarts: p.restarts, CreatedAt: p.createdAt,
			Command: p.command(), Env: maps.Clone(p.Env), Ports: slices.Clone(p.Ports),
		})
	}
	return out
}

// Live lists the pods that cost money now.
func (c *Cloud) Live() []Pod {
	return slices.DeleteFunc(c.Pods(), func(p Pod) bool { return !p.Live() })
}
