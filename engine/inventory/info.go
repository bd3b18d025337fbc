package inventory

import (
	"encoding/json"
	"time"

	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/sdk"
)

// Info is what is known of a sandbox.
type Info struct {
	ID          string         `json:"id"`
	Name        string         `json:"name,omitempty"`
	Builds      string         `json:"builds,omitempty"` // a layer or system for other sandboxes; empty for a sandbox
	State       sdk.State      `json:"state"`
	Message     string         `json:"message,omitempty"`
	Provider    string         `json:"provider"`
	Isolation   string         `json:"isolation,omitempty"`
	Network     string         `json:"network,omitempty"`
	Created     time.Time      `json:"created"`
	Ended       *time.Time     `json:"ended,omitempty"`
	Lease       Lease          `json:"lease"`
	Endpoints   []sdk.Endpoint `json:"endpoints"`
	Models      []ModelInfo    `json:"models"`
	Datasets    []DatasetInfo  `json:"datasets"`
	Services    []ServiceInfo  `json:"services"`
	GPU         string         `json:"gpu,omitempty"`
	GPUCount    int            `json:"gpu_count,omitempty"`
	GPUShare    string         `json:"gpu_share,omitempty"` // of each GPU: 1/4, 20 GB; empty = whole GPUs
	GPUUse      *GPUUse        `json:"gpu_use,omitempty"`   // only [Inventory.Show] tells it, of sandboxes of this computer
	GPUUsers    []string       `json:"gpu_users,omitempty"` // of each GPU that it has: the free memory, and who uses it; only [Inventory.Show] tells it
	Region      string         `json:"region,omitempty"`
	CostPerHour float64        `json:"cost_per_hour"` // USD
	Cost        float64        `json:"cost"`          // USD, until now
	Budget      float64        `json:"budget,omitempty"`
	Experiment  string         `json:"experiment,omitempty"`

	ExecutionMode string `json:"execution_mode,omitempty"` // empty = scoped
	// Environment is how programs use the sandbox. It has its keys, so only
	// [Inventory.Show] tells it.
	Environment *session.Handle `json:"environment,omitempty"`
}

// GPUUse is what a sandbox uses of its GPUs, as seen from outside.
type GPUUse struct {
	Memory  int64   `json:"memory_bytes"`      // of its processes, on all its GPUs, now
	Peak    int64   `json:"memory_peak_bytes"` // the most that was seen; measured every 10 s, of shared GPUs every 2 s
	Seconds float64 `json:"gpu_seconds"`       // how long it has had its GPUs, times their number
}

// Lease is until when a sandbox lives.
type Lease struct {
	Kind        machine.LeaseKind `json:"kind"`
	Ends        time.Time         `json:"ends"`         // unless it is extended
	HardEnd     time.Time         `json:"hard_end"`     // at the latest
	Overdue     bool              `json:"overdue"`      // the hard end has passed, and the machine has not ended by itself
	IdleSeconds int64             `json:"idle_seconds"` // 0 = no idle end
}

// ModelInfo is a model of a sandbox, for its user: also a hidden one has its name here.
type ModelInfo struct {
	Name      string `json:"name"` // as the user wrote it
	Path      string `json:"path"` // in the sandbox
	Source    string `json:"source"`
	Revision  string `json:"revision"`
	EnvName   string `json:"env_name"`
	VarName   string `json:"var_name"` // empty for a base model that is there only for its adapter
	Hidden    bool   `json:"hidden"`
	IsPEFT    bool   `json:"is_peft"`
	BaseModel string `json:"base_model,omitempty"` // of an adapter
	Provenance
}

// Provenance says where a model or dataset is from, and of which bytes it consists.
type Provenance struct {
	Repo     string `json:"repo,omitempty"`     // its name at the Hub, as the Hub has it now
	Ref      string `json:"ref,omitempty"`      // revision as the user wrote it
	License  string `json:"license,omitempty"`  // as the source names it
	Gate     string `json:"gate,omitempty"`     // how the source restricts access; empty = it does not
	Manifest string `json:"manifest,omitempty"` // digest of the list of the files: sha256: and hex
	// Files are those with their hashes. Only [Inventory.Show] tells them.
	Files []sdk.ModelFile `json:"files,omitempty"`
}

func provenanceOf(m machine.Model) Provenance {
	return Provenance{Repo: m.Repo, Ref: m.Ref, License: m.License, Gate: m.Gate, Manifest: m.Manifest}
}

// DatasetInfo is a dataset of a sandbox.
type DatasetInfo struct {
	Name     string `json:"name"` // as the user wrote it
	Path     string `json:"path"` // in the sandbox
	Source   string `json:"source"`
	Revision string `json:"revision"`
	EnvName  string `json:"env_name"`
	Provenance
}

// ServiceInfo is an interface that a sandbox serves. State is only known after
// [Inventory.Show], which asks the runtime.
type ServiceInfo struct {
	Name      string   `json:"name"`
	File      string   `json:"file"`
	State     string   `json:"state,omitempty"`
	Functions []string `json:"functions"`
}

func infoOf(r machine.Record, now time.Time) Info {
	info := Info{
		ID: r.ID, Name: r.Name, Builds: r.Builds, State: r.State, Message: r.Message, Provider: r.Provider,
		Isolation: r.Isolation, Network: r.Network, Created: r.CreatedAt,
		Lease:     Lease{Kind: r.Lease.Kind, Ends: r.Lease.End, HardEnd: r.HardEnd, Overdue: r.Overdue(now), IdleSeconds: r.Lease.IdleSeconds},
		Endpoints: append([]sdk.Endpoint{}, r.Endpoints...),
		Models:    []ModelInfo{},
		Datasets:  []DatasetInfo{},
		Services:  []ServiceInfo{},
		GPU:       r.GPU, GPUCount: r.GPUCount, GPUShare: r.GPUShare, Region: r.Region, Budget: r.Budget,
		CostPerHour: r.CostPerHour, Cost: r.Cost(now), Experiment: r.ExperimentFile, ExecutionMode: session.StateOf(r).Mode,
	}
	if !r.EndedAt.IsZero() {
		info.Ended = &r.EndedAt
	}
	for _, m := range r.Models {
		if m.Dataset {
			info.Datasets = append(info.Datasets, DatasetInfo{Name: m.Name, Path: m.Path, Source: m.Source, Revision: m.Revision, EnvName: m.EnvName, Provenance: provenanceOf(m)})
			continue
		}
		info.Models = append(info.Models, ModelInfo{Name: m.Name, Path: m.Path, Source: m.Source, Revision: m.Revision, EnvName: m.EnvName,
			VarName: m.VarName, Hidden: m.Hidden, IsPEFT: m.IsPEFT, BaseModel: m.Base, Provenance: provenanceOf(m)})
	}
	for _, s := range r.Services {
		info.Services = append(info.Services, ServiceInfo{Name: s.Name, File: s.File, Functions: functionNames(s.Interface)})
	}
	return info
}

func functionNames(raw json.RawMessage) []string {
	var i sdk.Interface
	names := []string{}
	if json.Unmarshal(raw, &i) != nil {
		return names
	}
	for _, f := range i.Functions {
		names = append(names, f.Name)
	}
	return names
}
