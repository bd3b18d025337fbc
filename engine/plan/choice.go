package plan

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/sdk"
)

// Choice is a machine that may be rented.
type Choice struct {
	Provider    string    `json:"provider"`
	Offer       string    `json:"offer,omitempty"` // the provider's own name for it
	GPU         string    `json:"gpu,omitempty"`
	GPUCount    int       `json:"gpu_count,omitempty"`
	GPUMemoryGB float64   `json:"gpu_memory_gb,omitempty"` // GiB of each; 0 = not known
	Region      string    `json:"region,omitempty"`
	Isolation   string    `json:"isolation,omitempty"`
	Stock       sdk.Stock `json:"stock,omitempty"`
	WaitSeconds float64   `json:"wait_seconds,omitempty"` // in the queue, as its provider expects now; 0 = none, or not known
	Queue       string    `json:"queue,omitempty"`        // what its provider says of the queue
	CostPerHour *float64  `json:"cost_per_hour"`          // USD; null = not known
	Timeout     float64   `json:"timeout_seconds"`        // shortened to what the budget pays for
	PollSeconds float64   `json:"poll_seconds,omitempty"`

	Options json.RawMessage `json:"options,omitempty"` // of its provider, as the user wrote them

	Own         bool `json:"own,omitempty"`          // a machine of the user's elsewhere, which costs nothing; Region names it
	Queues      bool `json:"queues,omitempty"`       // its time begins when it leaves the queue
	HostMounts  bool `json:"host_mounts,omitempty"`  // it is this computer: folders are shown, not copied
	BuildsImage bool `json:"builds_image,omitempty"` // its provider installs the packages; otherwise Seer does, on the machine
}

// Layered reports whether the machine is shown layers of packages and repositories: one of
// this computer with a file tree of its own. Others install for themselves.
func (c Choice) Layered() bool {
	return c.HostMounts && !c.BuildsImage && c.Isolation != "none"
}

// Volume is a disk that outlives the sandbox.
type Volume struct {
	Name     string `json:"name"`
	Path     string `json:"path"`
	SizeGB   int    `json:"size_gb,omitempty"`
	ReadOnly bool   `json:"read_only,omitempty"`
	Models   bool   `json:"models,omitempty"` // keeps models of the Hub for the next rented machine
}

// Image is the file system to start from.
type Image struct {
	Base           string   `json:"base,omitempty"`
	Snapshot       string   `json:"snapshot,omitempty"`
	PythonVersion  string   `json:"python_version,omitempty"`
	SystemPackages []string `json:"system_packages,omitempty"`
	Commands       []string `json:"commands,omitempty"`
}

func (i Image) empty() bool {
	return i.Base == "" && i.Snapshot == "" && i.PythonVersion == "" && len(i.SystemPackages)+len(i.Commands) == 0
}

// Install is what the engine installs on a machine whose provider builds no images.
type Install struct {
	SystemPackages []string
	PythonPackages []string
	Commands       []string
}

// choices are those of the report, each with the time and money that it may take.
func (p *Plan) choices(s experiment.Sandbox, from []preflight.Choice) {
	p.Choices = make([]Choice, 0, len(from))
	known, worst := len(from) > 0, 0.0
	for _, c := range from {
		choice := Choice{
			Provider: c.Provider.Name, Offer: c.Offer.ID, GPU: c.GPU, GPUCount: c.GPUCount, GPUMemoryGB: c.Offer.GPUMemoryGB, Region: c.Offer.Region, Isolation: c.Isolation,
			Stock: c.Offer.Stock, WaitSeconds: c.Offer.WaitSeconds, Queue: c.Offer.Queue, Queues: c.Provider.Has(sdk.FeatureQueue), Timeout: s.Timeout.Seconds(), PollSeconds: c.Provider.PollSeconds, Options: s.Options(c.Provider.Name),
			Own:        c.Provider.Has(sdk.FeatureFree) && !c.Provider.Has(sdk.FeatureHostMounts),
			HostMounts: c.Provider.Has(sdk.FeatureHostMounts), BuildsImage: c.Provider.Has(sdk.FeatureBuild),
		}
		price, ok := c.CostPerHour()
		if ok {
			choice.CostPerHour = &price
			choice.Timeout = affordable(s, price)
			worst = max(worst, price*choice.Timeout/3600)
		}
		known = known && ok
		p.Choices = append(p.Choices, choice)
	}
	if known {
		p.MaxCost = &worst
	}
	if len(p.Choices) > 0 {
		p.CostPerHour, p.Timeout = p.Choices[0].CostPerHour, p.Choices[0].Timeout
	}
}

// affordable is the timeout, or the whole seconds that the budget pays for.
func affordable(s experiment.Sandbox, price float64) float64 {
	timeout := s.Timeout.Seconds()
	if s.Budget == 0 || price == 0 {
		return timeout
	}
	return min(timeout, math.Floor(s.Budget/price*3600))
}

// Spec is the machine of a choice, without what belongs to a single start: key,
// owner, name, command and environment.
func (p Plan) Spec(c Choice) sdk.MachineSpec {
	image, _ := p.ImageOf(c)
	spec := sdk.MachineSpec{
		Ports: p.Ports, Offer: c.Offer, GPU: c.GPU, GPUCount: c.GPUCount, GPUShare: p.GPUShare, CPU: p.CPU, MemoryGB: p.MemoryGB, DiskGB: p.DiskGB, Regions: p.Regions,
		Image: image, Isolation: c.Isolation, NestedSandbox: p.Nested, Network: p.Network, NetworkHosts: p.NetworkHosts, TimeoutSeconds: int64(c.Timeout), Options: c.Options,
	}
	for _, v := range p.Volumes {
		if !v.Models || !c.HostMounts { // this computer has a cache of its own
			spec.Volumes = append(spec.Volumes, sdk.Volume{Name: v.Name, Path: v.Path, SizeGB: v.SizeGB, ReadOnly: v.ReadOnly})
		}
	}
	return spec
}

// ImageOf says what the machine of a choice starts from, nil for the provider's own,
// and what is left to install on it once it has booted.
func (p Plan) ImageOf(c Choice) (*sdk.Image, Install) {
	var image Image
	if p.Image != nil {
		image = *p.Image
	}
	if c.HostMounts && !c.BuildsImage {
		return p.imageHere(image)
	}
	if c.BuildsImage && len(p.Repos) > 0 { // they are cloned on the machine
		image.SystemPackages = with(image.SystemPackages, "git", "ca-certificates")
	}
	from := sdk.Image{Base: image.Base, Snapshot: image.Snapshot, PythonVersion: image.PythonVersion}
	install := Install{SystemPackages: image.SystemPackages, PythonPackages: p.Packages, Commands: image.Commands}
	if c.BuildsImage {
		from.SystemPackages, from.PythonPackages, from.Commands = install.SystemPackages, install.PythonPackages, install.Commands
		install = Install{}
	}
	if image.empty() && len(from.PythonPackages) == 0 {
		return nil, install
	}
	return &from, install
}

// BaseImages are the images of registries that machines of this computer start from.
func (p Plan) BaseImages() []string {
	var refs []string
	for _, c := range p.Choices {
		if from, _ := p.ImageOf(c); c.HostMounts && !c.BuildsImage && from != nil && from.Base != "" && !slices.Contains(refs, from.Base) {
			refs = append(refs, from.Base)
		}
	}
	return refs
}

// imageHere is the image of a machine of this computer, which has this computer's Python
// and file system unless it starts from an image.
func (p Plan) imageHere(image Image) (*sdk.Image, Install) {
	install := Install{SystemPackages: image.SystemPackages, PythonPackages: p.Packages, Commands: image.Commands}
	if image.Base != "" || image.Snapshot != "" {
		return &sdk.Image{Base: image.Base, Snapshot: image.Snapshot, PythonVersion: image.PythonVersion}, install
	}
	if len(p.Present) == len(p.Packages) {
		install.PythonPackages = nil // they are there already
	}
	return nil, install
}

// with adds what is not in a list.
func with(list []string, more ...string) []string {
	list = slices.Clone(list)
	for _, m := range more {
		if !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// UploadsOf are the uploads of a choice: what this computer can show, it does not
// copy.
func (p Plan) UploadsOf(c Choice) []Upload {
	uploads := list(p.Uploads)
	for i := range uploads {
		uploads[i].Mount = c.HostMounts && mounted(uploads[i].Remote, c.Isolation)
	}
	return uploads
}
