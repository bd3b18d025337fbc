package sdk

import (
	"context"
	"encoding/json"
)

// Provider rents machines and nothing else. What happens on a machine is the
// runtime's: a provider only makes a machine run Spec.Command with Spec.Env and
// makes Spec.Port of it reachable.
//
// Calls are short and may come from several goroutines at once. A cancelled
// context ends a call early; the engine then repeats it or terminates.
type Provider interface {
	// Describe says what the backend can do. It has no side effect and needs no
	// credential.
	Describe(ctx context.Context) (ProviderInfo, error)

	// Offers lists what can be rented, cheapest first. An empty list means that
	// nothing fits; it is not an error.
	Offers(ctx context.Context, q OfferQuery) ([]Offer, error)

	// Create makes progress towards a machine for spec. The first call has a nil
	// cursor; the engine repeats the call with the returned cursor until there is
	// a handle. However often it is called with one spec.Key, there is at most one
	// machine. NoCapacity means that the engine may try another choice.
	Create(ctx context.Context, spec MachineSpec, cursor json.RawMessage) (CreateStep, error)

	// Observe reports the present state of the given handles in one go. A handle
	// that the backend does not know is reported as [Stopped]; the result has one
	// entry for each handle, in any order.
	Observe(ctx context.Context, handles []string) ([]Observation, error)

	// List finds the machines of owner that still exist, whatever their state.
	// It is how the engine finds a machine whose creation it did not see end.
	List(ctx context.Context, owner string) ([]Listed, error)

	// Terminate ends a machine and everything it bills for. It is idempotent:
	// an unknown handle is done.
	Terminate(ctx context.Context, handle string) error
}

// Feature is an optional ability of a provider.
type Feature string

// The features known to this version. An unknown one is ignored.
const (
	FeatureBuild       Feature = "build"        // builds images from Spec.Image
	FeatureTags        Feature = "tags"         // stores Spec.Labels
	FeatureVolumes     Feature = "volumes"      // keeps files between machines
	FeatureSnapshot    Feature = "snapshot"     // saves a machine's file system
	FeatureSelfEnd     Feature = "self_end"     // a machine whose command exits stops billing
	FeatureIdleTimeout Feature = "idle_timeout" // ends an idle machine by itself
	FeatureHostMounts  Feature = "host_mounts"  // mounts folders of this computer (Spec.Mounts)
)

// ProviderInfo describes a backend.
type ProviderInfo struct {
	Name       string      `json:"name"`  // the value of `provider:` in an experiment
	Title      string      `json:"title"` // for people
	Features   []Feature   `json:"features,omitempty"`
	GPUs       []string    `json:"gpus,omitempty"`       // accepted GPU names, canonical spelling
	Isolations []Isolation `json:"isolations,omitempty"` // best first; empty where the backend has only one
}

// Has reports whether the backend has the feature.
func (p ProviderInfo) Has(f Feature) bool {
	for _, have := range p.Features {
		if have == f {
			return true
		}
	}
	return false
}

// Isolation is one way of keeping a machine apart from its neighbours.
type Isolation struct {
	Name   string `json:"name"`
	Usable bool   `json:"usable"`
	Reason string `json:"reason,omitempty"` // why it is not usable, and what to do
}

// OfferQuery narrows [Provider.Offers]. Zero fields do not narrow.
type OfferQuery struct {
	GPU      string `json:"gpu,omitempty"`
	GPUCount int    `json:"gpu_count,omitempty"`
}

// Offer is something that can be rented now.
type Offer struct {
	ID          string  `json:"id"`
	GPU         string  `json:"gpu,omitempty"`
	GPUCount    int     `json:"gpu_count,omitempty"`
	MemoryGB    float64 `json:"memory_gb,omitempty"`
	Region      string  `json:"region,omitempty"`
	CostPerHour float64 `json:"cost_per_hour"`   // USD
	Stock       string  `json:"stock,omitempty"` // none, low, medium, high; empty = unknown
}

// MachineSpec is what to rent. It carries no secret: secrets travel from the
// engine to the runtime after boot.
type MachineSpec struct {
	Key            string            `json:"key"`   // one key, one machine
	Owner          string            `json:"owner"` // who will look for it with List
	Name           string            `json:"name"`
	Labels         map[string]string `json:"labels,omitempty"`
	Command        []string          `json:"command"` // the machine's only program: argv
	Env            map[string]string `json:"env,omitempty"`
	Port           int               `json:"port"`            // the runtime's port, to be made reachable
	Ports          []int             `json:"ports,omitempty"` // further ports asked for by the user
	GPU            string            `json:"gpu,omitempty"`
	GPUCount       int               `json:"gpu_count,omitempty"`
	Image          *Image            `json:"image,omitempty"`
	Isolation      string            `json:"isolation,omitempty"` // auto or a name from ProviderInfo.Isolations
	Network        string            `json:"network,omitempty"`   // open, none or hosts
	NetworkHosts   []string          `json:"network_hosts,omitempty"`
	Mounts         []Mount           `json:"mounts,omitempty"` // only with FeatureHostMounts
	TimeoutSeconds int64             `json:"timeout_seconds"`  // hard end of the machine's life
	Options        json.RawMessage   `json:"options,omitempty"`
}

// Image is the file system a machine starts from.
type Image struct {
	Base           string   `json:"base,omitempty"`
	PythonVersion  string   `json:"python_version,omitempty"`
	SystemPackages []string `json:"system_packages,omitempty"`
	PythonPackages []string `json:"python_packages,omitempty"`
	Commands       []string `json:"commands,omitempty"`
}

// Mount shows a folder or file of this computer inside a machine.
type Mount struct {
	Source   string `json:"source"` // absolute, on this computer
	Target   string `json:"target"` // absolute, in the machine
	Writable bool   `json:"writable,omitempty"`
}

// CreateStep is the outcome of one [Provider.Create]: either a handle, or a
// cursor to come back with.
type CreateStep struct {
	Handle       string          `json:"handle,omitempty"`
	Cursor       json.RawMessage `json:"cursor,omitempty"`
	Log          []string        `json:"log,omitempty"`           // lines for the user, in order, each once
	AfterSeconds float64         `json:"after_seconds,omitempty"` // earliest useful next call
}

// State is where a machine is in its life.
type State string

// The states of a machine.
const (
	Pending  State = "pending"  // accepted, waiting for capacity
	Building State = "building" // its image is being made
	Starting State = "starting" // rented, not yet reachable
	Running  State = "running"
	Stopped  State = "stopped" // ended, or never known
	Failed   State = "failed"
)

// Live reports whether a machine in this state may still cost money.
func (s State) Live() bool { return s != Stopped && s != Failed }

// Observation is the present state of one machine.
type Observation struct {
	Handle      string     `json:"handle"`
	State       State      `json:"state"`
	Message     string     `json:"message,omitempty"`
	Endpoints   []Endpoint `json:"endpoints,omitempty"`
	CostPerHour float64    `json:"cost_per_hour,omitempty"` // USD
	Isolation   string     `json:"isolation,omitempty"`     // what it really got
}

// Endpoint is where a port of a machine is reached from this computer. URL is
// unix:/absolute/path, http://host:port or https://host[:port].
type Endpoint struct {
	Port int    `json:"port"`
	URL  string `json:"url"`
}

// Listed is a machine found by [Provider.List].
type Listed struct {
	Handle string `json:"handle"`
	Key    string `json:"key"`
	Owner  string `json:"owner"`
	State  State  `json:"state"`
}
