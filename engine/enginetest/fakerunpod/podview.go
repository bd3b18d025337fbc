package fakerunpod

import (
	"fmt"
	"net"
	"strconv"
	"time"
)

// podView is a pod in an answer.
type podView struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Status  string   `json:"status"`
	Actions []string `json:"actions"`
	config
	Mounts       mounts       `json:"mounts"`
	GPU          *gpuView     `json:"gpu,omitempty"`
	CPU          *cpuView     `json:"cpu,omitempty"`
	Cloud        string       `json:"cloud"`
	DataCenterID string       `json:"dataCenterId"`
	CudaVersion  *string      `json:"cudaVersion"`
	SSH          sshView      `json:"ssh"`
	Template     *string      `json:"template"`
	Cost         float64      `json:"cost"`
	Locked       bool         `json:"locked"`
	Global       globalView   `json:"globalNetworking"`
	Runtime      *runtimeView `json:"runtime"`
	CreatedAt    time.Time    `json:"createdAt"`
	StartedAt    *time.Time   `json:"startedAt"`
}

type gpuView struct {
	ID    string `json:"id"`
	Count int    `json:"count"`
}

type cpuView struct {
	ID        string `json:"id"`
	VCPUCount int    `json:"vcpuCount"`
	Memory    int    `json:"memory"`
}

type sshView struct {
	Proxy  *sshEndpoint `json:"proxy"`
	Direct *sshEndpoint `json:"direct"` // always null: nothing here speaks SSH
}

type sshEndpoint struct {
	Host     string `json:"host"`
	Port     int    `json:"port"`
	Username string `json:"username"`
	Command  string `json:"command"`
}

type globalView struct {
	Enabled     bool   `json:"enabled"`
	IP          string `json:"ip,omitempty"`
	InternalDNS string `json:"internalDns,omitempty"`
}

type runtimeView struct {
	Uptime int        `json:"uptime"` // seconds
	GPUs   []gpuUse   `json:"gpus,omitempty"`
	CPU    use        `json:"cpu"`
	Memory use        `json:"memory"`
	Ports  []openPort `json:"ports"`
}

type use struct {
	Util int `json:"util"`
}

type gpuUse struct {
	Util       int `json:"util"`
	MemoryUtil int `json:"memoryUtil"`
}

type openPort struct {
	Private int     `json:"private"`
	Public  *int    `json:"public"`
	Type    string  `json:"type"`
	IP      *string `json:"ip"`
}

func (c *Cloud) view(p *pod) podView {
	v := podView{
		ID: p.id, Name: p.name, Status: p.status, Actions: p.actions(), config: p.settings(),
		Mounts: p.mounts, Cloud: p.cloud, DataCenterID: p.dataCenter, CudaVersion: p.cuda,
		Cost: p.cost(), Locked: p.locked, CreatedAt: p.createdAt, Runtime: c.runtime(p),
	}
	user := p.id + "-" + p.hex
	v.SSH.Proxy = &sshEndpoint{"ssh.runpod.io", 22, user, fmt.Sprintf("ssh %s@ssh.runpod.io", user)}
	if p.gpu != nil {
		v.GPU = &gpuView{p.gpu.ID, p.gpu.Count}
	}
	if p.cpu != nil {
		v.CPU = &cpuView{p.cpu.ID, p.cpu.VCPUCount, p.memory}
	}
	if p.global {
		v.Global = globalView{true, "10.65.1.42", p.id + ".runpod.internal"}
	}
	if !p.startedAt.IsZero() {
		v.StartedAt = &p.startedAt
	}
	return v
}

// runtime is null until a program runs.
func (c *Cloud) runtime(p *pod) *runtimeView {
	if p.machine == nil || p.status != running {
		return nil
	}
	v := &runtimeView{Uptime: max(0, int(c.now().Sub(p.upSince).Seconds())), Ports: []openPort{}}
	if p.gpu != nil {
		v.GPUs = make([]gpuUse, p.gpu.Count)
	}
	for _, text := range p.Ports {
		port, kind, err := parsePort(text)
		if err != nil {
			continue // it was checked
		}
		open := openPort{Private: port, Type: kind}
		if host, text, err := net.SplitHostPort(p.machine.Address(port)); err == nil && kind == "tcp" {
			public, _ := strconv.Atoi(text) // of an address
			open.Public, open.IP = &public, &host
		}
		v.Ports = append(v.Ports, open)
	}
	return v
}
