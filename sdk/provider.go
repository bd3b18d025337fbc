package sdk

import (
	"context"
	"encoding/json"
	"fmt"
)

// Provider rents machines and nothing else. A provider only makes a machine run Spec.Command
// with Spec.Env and makes its Spec.Port reachable; the runtime does everything else on the
// machine.
//
// Calls are short and may come from several goroutines at once. A cancelled
// context ends a call early; the engine then repeats it or terminates.
type Provider interface {
	// Describe says what the backend can do. It has no side effect and needs no
	// credential.
	Describe(ctx context.Context) (ProviderInfo, error)

	// Offers lists what can be rented, cheapest first. An empty list means that
	// nothing fits; it is not an error. It notices a bad credential, and options
	// that the backend does not have.
	Offers(ctx context.Context, q OfferQuery) ([]Offer, error)

	// Create makes progress towards a machine for spec. The first call has a nil cursor; the
	// engine repeats the call with the returned cursor until there is a handle. However often
	// it is called with one spec.Key, there is at most one machine. NoCapacity means that the
	// engine may try another choice. If the backend cannot do a part of spec, Create fails as
	// Unsupported; it never ignores the part.
	Create(ctx context.Context, spec MachineSpec, cursor json.RawMessage) (CreateStep, error)

	// Observe reports the present state of the given handles in one go. A handle
	// that the backend does not know is reported as [Stopped]; the result has one
	// entry for each handle, in any order.
	Observe(ctx context.Context, handles []string) ([]Observation, error)

	// List finds the machines of owner that still exist, whatever their state: also
	// ended ones that the backend still shows. It is how the engine finds a machine
	// whose creation it did not see end. It fails if the list cannot be complete. A provider
	// of machines on several hosts names those that do not answer, each by an entry without
	// a key whose state is [Unreachable], and fails if none answers.
	List(ctx context.Context, owner string) ([]Listed, error)

	// Terminate ends a machine and everything it bills for. It is idempotent:
	// an unknown handle is done.
	Terminate(ctx context.Context, handle string) error
}

// Snapshotter is implemented by a provider with [FeatureSnapshot].
type Snapshotter interface {
	// Snapshot makes progress towards a copy of a machine's file system that
	// [Image].Snapshot can start from. It is repeated like Create; however often it
	// is called with one key, there is at most one copy.
	Snapshot(ctx context.Context, handle, key string, cursor json.RawMessage) (SnapshotStep, error)
}

// Accounter is implemented by a provider that knows the owner of each machine that it lists.
type Accounter interface {
	// Account asks the backend. The error has the code unauthorized or unsupported where
	// these credentials may not ask.
	Account(ctx context.Context) (Account, error)
}

// Account names whose machines a provider sees with the credentials and settings that it
// has now. A new key of the same account, or a setting that does not change what is
// listed, gives the same ID.
type Account struct {
	ID string `json:"id"`
}

// Router is implemented by a provider with [FeatureRoutes].
type Router interface {
	// Route says how a port of a machine is reached for which Observe has given an [Endpoint]
	// with [RouteURL]. It is a short call that moves no data: the engine makes the connection,
	// and makes it anew when it breaks. It is asked once for each port, so that a route must
	// stay valid while the machine lives.
	Route(ctx context.Context, handle string, port int) (Route, error)
}

// RouteURL is the URL of an [Endpoint] that is reached by a [Route].
const RouteURL = "route:"

// Route is how a port of a machine is reached. One of the fields is set.
type Route struct {
	SSH  *SSHRoute  `json:"ssh,omitempty"`
	Kube *KubeRoute `json:"kube,omitempty"`
}

// SSHRoute leads through a host that the user reaches by SSH. It needs a permission of the
// manifest: [SSHForward], and with a Command [SSHExec].
type SSHRoute struct {
	Host string `json:"host"` // as ssh takes it

	// Command runs on the host, and carries connections between its standard streams and
	// Target; empty = the command pipe of [SSHProgram].
	Command []string `json:"command,omitempty"`
	Target  string   `json:"target"` // where the port is on that host: unix:/absolute/path or tcp:PORT of its loopback
}

// Feature is an optional ability of a provider.
type Feature string

// The features known to this version. An unknown one is ignored.
const (
	FeatureBuild       Feature = "build"        // builds images from Spec.Image
	FeatureTags        Feature = "tags"         // stores Spec.Labels
	FeatureVolumes     Feature = "volumes"      // keeps files between machines
	FeatureSnapshot    Feature = "snapshot"     // saves a machine's file system
	FeatureSelfEnd     Feature = "self_end"     // a machine can stop its own billing; see [SelfEndVariable]
	FeatureIdleTimeout Feature = "idle_timeout" // ends an idle machine by itself
	FeatureHostMounts  Feature = "host_mounts"  // mounts folders of this computer (Spec.Mounts)
	FeatureGPUShare    Feature = "gpu_share"    // several machines share a GPU (Spec.GPUShare)
	FeatureFree        Feature = "free"         // machines cost nothing: a price of 0 is known
	FeatureRoutes      Feature = "routes"       // its endpoints may be reached by routes; see [Router]
	FeatureNoNetwork   Feature = "no_network"   // without Isolations: cuts a machine off the network (Spec.Network: none)
	FeatureCheck       Feature = "check"        // looks before a machine is asked for; see [Checker]
	FeatureQueue       Feature = "queue"        // a machine waits as Pending for what it needs, and its TimeoutSeconds count from the end of the wait
	FeatureClean       Feature = "clean"        // removes what it keeps for later machines; see [Cleaner]
	FeatureImageFiles  Feature = "image_files"  // Image.Base may be the absolute path of an image on the computer of the machine
)

// ProviderInfo describes a backend.
type ProviderInfo struct {
	Name       string      `json:"name"`  // the value of `provider:` in an experiment; one of the manifest's provides
	Title      string      `json:"title"` // for people
	Features   []Feature   `json:"features,omitempty"`
	GPUs       []string    `json:"gpus,omitempty"`       // accepted GPU names, canonical spelling; empty = ask for offers
	Isolations []Isolation `json:"isolations,omitempty"` // best first; empty where the backend has only one

	PollSeconds       float64 `json:"poll_seconds,omitempty"`        // shortest useful time between two Observe; 0 = any
	MaxTimeoutSeconds int64   `json:"max_timeout_seconds,omitempty"` // longest life of a machine; 0 = no limit
}

// SelfEndVariable is an environment variable that a provider adds to a machine whose
// billing does not stop when its command exits: JSON of a [SelfEnd]. The machine's
// first program makes the request when its lease has ended, before it exits, and
// keeps the variables that it names from everything else on the machine.
const SelfEndVariable = "SEER_SELF_END"

// SelfEnd is a request that ends the machine that makes it. In URL, Headers and Body
// {NAME} stands for an environment variable of the machine.
type SelfEnd struct {
	Method    string            `json:"method"`
	URL       string            `json:"url"`
	Headers   map[string]string `json:"headers,omitempty"`
	Body      string            `json:"body,omitempty"`
	Otherwise []SelfEndRequest  `json:"otherwise,omitempty"` // tried in order where the one before fails
}

// SelfEndRequest is another way to the end of a [SelfEnd], with the same headers.
type SelfEndRequest struct {
	Method string `json:"method"`
	URL    string `json:"url"`
	Body   string `json:"body,omitempty"`
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

	// Missing says that the program that it needs is not installed here, or too old.
	Missing bool `json:"missing,omitempty"`
}

// OfferQuery narrows [Provider.Offers]. Zero fields, but GPU, do not narrow.
type OfferQuery struct {
	GPU            string          `json:"gpu,omitempty"`             // as the user wrote it, or * for every GPU; empty = machines without one; see package sdk/gpu
	GPUCount       int             `json:"gpu_count,omitempty"`       //
	CPU            float64         `json:"cpu,omitempty"`             // cores
	MemoryGB       float64         `json:"memory_gb,omitempty"`       // GiB of RAM
	DiskGB         int             `json:"disk_gb,omitempty"`         // only for the price, where disks are billed
	Regions        []string        `json:"regions,omitempty"`         // any of them
	TimeoutSeconds int64           `json:"timeout_seconds,omitempty"` // as in [MachineSpec], for estimates of queues
	Options        json.RawMessage `json:"options,omitempty"`         // as in [MachineSpec]
}

// Offer is something that can be rented now.
type Offer struct {
	ID          string  `json:"id"`                  // the backend's own name for it
	GPU         string  `json:"gpu,omitempty"`       // canonical name; see package sdk/gpu
	GPUCount    int     `json:"gpu_count,omitempty"` //
	GPUMemoryGB float64 `json:"gpu_memory_gb,omitempty"`
	MemoryGB    float64 `json:"memory_gb,omitempty"` // GiB of RAM
	Region      string  `json:"region,omitempty"`    // empty = any
	CostPerHour float64 `json:"cost_per_hour"`       // USD, of the whole machine
	Stock       Stock   `json:"stock,omitempty"`

	// Where machines wait in a queue: how long one would wait now, in seconds, and what is
	// known of the queue in words, such as "12 jobs wait before it". 0 = at once, or not known.
	WaitSeconds float64 `json:"wait_seconds,omitempty"`
	Queue       string  `json:"queue,omitempty"`
}

// Stock is how much of an offer is free.
type Stock string

// The values of [Stock].
const (
	StockUnknown Stock = ""
	StockNone    Stock = "none"
	StockLow     Stock = "low"
	StockMedium  Stock = "medium"
	StockHigh    Stock = "high"
)

// MachineSpec is what to rent. It carries no secret: secrets travel from the
// engine to the runtime after boot. Command is about 10 KB and listens at
// 0.0.0.0:Port; Env is added to what the image has. Key and Owner are short: small
// letters, digits and one hyphen.
type MachineSpec struct {
	Key            string            `json:"key"`   // one key, one machine
	Owner          string            `json:"owner"` // who will look for it with List
	Name           string            `json:"name"`
	Labels         map[string]string `json:"labels,omitempty"`
	Command        []string          `json:"command"` // the machine's only program: argv
	Env            map[string]string `json:"env,omitempty"`
	Port           int               `json:"port"`               // the runtime's port, to be made reachable
	Ports          []int             `json:"ports,omitempty"`    // further ports asked for by the user
	AnyPort        []int             `json:"any_port,omitempty"` // those of Ports that may be another one outside; the [Endpoint] says which
	Offer          string            `json:"offer,omitempty"`    // ID of the [Offer] to take; empty = whatever fits
	GPU            string            `json:"gpu,omitempty"`      // canonical name, or as the user wrote it without an Offer
	GPUCount       int               `json:"gpu_count,omitempty"`
	GPUShare       *GPUShare         `json:"gpu_share,omitempty"` // only with FeatureGPUShare; nil = whole GPUs
	CPU            float64           `json:"cpu,omitempty"`       // cores; 0 = the backend's default
	MemoryGB       float64           `json:"memory_gb,omitempty"` // GiB of RAM
	DiskGB         int               `json:"disk_gb,omitempty"`
	Regions        []string          `json:"regions,omitempty"`        // any of them; empty = anywhere
	Volumes        []Volume          `json:"volumes,omitempty"`        // only with FeatureVolumes
	Image          *Image            `json:"image,omitempty"`          // nil = a plain Linux with Python 3
	Isolation      string            `json:"isolation,omitempty"`      // auto or a name from ProviderInfo.Isolations
	NestedSandbox  bool              `json:"nested_sandbox,omitempty"` // programs may make sandboxes of their own; only with Isolations
	Network        string            `json:"network,omitempty"`        // open, none or hosts
	NetworkHosts   []string          `json:"network_hosts,omitempty"`
	Mounts         []Mount           `json:"mounts,omitempty"`   // only with FeatureHostMounts
	Folders        []string          `json:"folders,omitempty"`  // only with FeatureFree: absolute, to be there and writable, as files will be put there
	TimeoutSeconds int64             `json:"timeout_seconds"`    // hard end of the machine's life, from its start
	EndUnix        int64             `json:"end_unix,omitempty"` // the same as a time, 0 with FeatureQueue; List must give it back
	Options        json.RawMessage   `json:"options,omitempty"`  // the user's provider_options, a JSON object
}

// GPUShare is how much of the memory of each GPU a machine gets, while others have the rest.
// One of the fields is set.
type GPUShare struct {
	Parts int     `json:"parts,omitempty"` // one of so many equal parts
	GB    float64 `json:"gb,omitempty"`    // GiB
}

// String is the share in words: 1/4, 20 GB.
func (s GPUShare) String() string {
	if s.Parts > 0 {
		return fmt.Sprintf("1/%d", s.Parts)
	}
	return fmt.Sprintf("%.4g GB", s.GB)
}

// Volume is a disk that outlives machines. The provider makes it if no volume has the name.
type Volume struct {
	Name     string `json:"name"`
	Path     string `json:"path"` // absolute, in the machine
	SizeGB   int    `json:"size_gb,omitempty"`
	ReadOnly bool   `json:"read_only,omitempty"`
}

// Image is the file system a machine starts from. A backend without [FeatureBuild]
// is only given Base or PythonVersion: the rest is then installed by the engine.
type Image struct {
	Base           string   `json:"base,omitempty"`     // name in a registry, or a path with FeatureImageFiles; has Python 3.8 or later
	Snapshot       string   `json:"snapshot,omitempty"` // instead of Base: what a [Snapshotter] gave
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

// SnapshotStep is the outcome of one [Snapshotter.Snapshot]: either an image, or a
// cursor to come back with.
type SnapshotStep struct {
	Image        string          `json:"image,omitempty"` // for [Image].Snapshot
	Cursor       json.RawMessage `json:"cursor,omitempty"`
	Log          []string        `json:"log,omitempty"`
	AfterSeconds float64         `json:"after_seconds,omitempty"`
}

// State is where a machine is in its life. One that the engine does not know counts
// as [State.Live], and is waited for.
type State string

// The states of a machine.
const (
	Pending  State = "pending"  // accepted, waiting for capacity
	Building State = "building" // its image is being made
	Starting State = "starting" // rented, not yet reachable
	Running  State = "running"
	Stopped  State = "stopped" // ended, or never known
	Failed   State = "failed"

	// Unreachable is a machine that nobody can be asked about now, such as one on a host that
	// does not answer. It may run.
	Unreachable State = "unreachable"
)

// Live reports whether a machine in this state may still cost money.
func (s State) Live() bool { return s != Stopped && s != Failed }

// Observation is the present state of one machine.
type Observation struct {
	Handle      string     `json:"handle"`
	State       State      `json:"state"`
	Message     string     `json:"message,omitempty"`
	Code        Code       `json:"code,omitempty"` // of one that failed: [NoCapacity] lets the engine take the next choice
	Endpoints   []Endpoint `json:"endpoints,omitempty"`
	CostPerHour float64    `json:"cost_per_hour,omitempty"` // USD; 0 = that of the offer
	Isolation   string     `json:"isolation,omitempty"`     // what it really got

	AfterSeconds float64 `json:"after_seconds,omitempty"` // earliest useful next look, of one that waits for capacity
}

// Endpoint is where a port of a machine is reached from this computer. URL is
// unix:/absolute/path, http://host:port, https://host[:port] or [RouteURL].
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

	EndUnix int64  `json:"end_unix,omitempty"` // of the spec; 0 = unknown. Past it, the machine is an orphan
	Message string `json:"message,omitempty"`  // of a host that does not answer: why, with its name
}
