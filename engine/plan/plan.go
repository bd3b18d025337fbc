// Package plan says what an experiment will make, where and at what cost,
// before anything is made. It is pure: the same experiment and report give the
// same plan.
package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/modelinfo"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/sdk"
)

// Version is the version of the plan's JSON.
const Version = 1

// Plan is what will happen.
type Plan struct {
	Version       int              `json:"version"`
	Experiment    string           `json:"experiment"`
	Provider      string           `json:"provider"`
	Isolation     string           `json:"isolation,omitempty"`
	Nested        bool             `json:"nested_sandbox,omitempty"`
	Network       string           `json:"network"`
	NetworkHosts  []string         `json:"network_hosts,omitempty"`
	HostPorts     []int            `json:"host_ports,omitempty"` // of this computer, reached from inside
	GPU           string           `json:"gpu,omitempty"`
	GPUCount      int              `json:"gpu_count,omitempty"`
	GPUShare      *sdk.GPUShare    `json:"gpu_share,omitempty"` // of each GPU; nil = whole GPUs
	GPUs          []GPUUse         `json:"gpus,omitempty"`      // of this computer, that the experiment may get
	Choices       []Choice         `json:"choices"`             // in the order in which they are tried; what is above is of the first
	CPU           float64          `json:"cpu,omitempty"`
	MemoryGB      float64          `json:"memory_gb,omitempty"`
	DiskGB        int              `json:"disk_gb,omitempty"`
	Regions       []string         `json:"regions,omitempty"`
	Volumes       []Volume         `json:"volumes,omitempty"`
	Image         *Image           `json:"image,omitempty"`
	MaxPrice      float64          `json:"max_price,omitempty"` // USD per hour
	Budget        float64          `json:"budget,omitempty"`    // USD
	Models        []Model          `json:"models"`
	ModelBytes    int64            `json:"model_bytes,omitempty"`   // of all files of models that were looked at
	DatasetBytes  int64            `json:"dataset_bytes,omitempty"` // of all files of datasets that were looked at
	GPUsThatFit   []FittingGPU     `json:"gpus_that_fit,omitempty"` // what the providers have now, the cheapest first
	NotChecked    []string         `json:"not_checked,omitempty"`   // because nobody was to be asked
	Datasets      []Dataset        `json:"datasets"`
	Uploads       []Upload         `json:"uploads"`
	Packages      []string         `json:"packages"`
	Present       []string         `json:"present,omitempty"` // of Packages, what the Python of this computer has
	Python        string           `json:"python,omitempty"`  // interpreter of this computer that was chosen; empty = the usual one
	Repos         []preflight.Repo `json:"repos,omitempty"`
	Layer         *Layer           `json:"layer,omitempty"` // what a machine of this computer is shown of packages and repos
	ExecutionMode string           `json:"execution_mode,omitempty"`
	Env           []string         `json:"env"`     // names
	Secrets       []string         `json:"secrets"` // names
	Ports         []int            `json:"ports"`
	Services      []Service        `json:"services"`
	Workspace     Workspace        `json:"workspace"`
	Agent         *Agent           `json:"agent,omitempty"`
	Outputs       string           `json:"outputs"`         // of the agent; empty = in the folder of the run
	Runs          string           `json:"runs"`            // folder of the folders of runs
	Timeout       float64          `json:"timeout_seconds"` // of the first choice
	IdleTimeout   float64          `json:"idle_timeout_seconds,omitempty"`
	MaxWait       float64          `json:"max_wait_seconds,omitempty"` // in the queue of each provider; 0 = not said
	CostPerHour   *float64         `json:"cost_per_hour"`              // USD, of the first choice; null = not known
	MaxCost       *float64         `json:"max_cost"`                   // USD, of the dearest choice at its timeout; null = not known
	Warnings      []string         `json:"warnings"`
	Remedies      []remedy.Remedy  `json:"remedies,omitempty"` // of the warnings, for programs
	Accounts      []trust.Account  `json:"accounts,omitempty"` // who pays for rented machines
	Effects       *trust.Effects   `json:"effects,omitempty"`  // nil for an experiment that was built in code
}

// Layer is what was or will be installed once for the machines of this computer.
type Layer struct {
	Key    string `json:"key"`
	Folder string `json:"folder"`
	Cached bool   `json:"cached"` // it is there; else the first start builds it
}

// Model is a model and where its path will be found.
type Model struct {
	Name    string `json:"name"`
	Source  string `json:"source"`
	From    string `json:"from"` // folder on this computer, or the name at the source
	Path    string `json:"path"` // in the sandbox
	Env     string `json:"env"`  // variable that holds Path
	VarName string `json:"var_name"`
	Hidden  bool   `json:"hidden,omitempty"`

	Facts *ModelFacts `json:"facts,omitempty"` // nil = nobody has looked at it
}

// Facts are what is known of a model or dataset before it is fetched.
type Facts struct {
	Repo     string `json:"repo,omitempty"`     // its name at the Hub, as the Hub has it now
	Revision string `json:"revision,omitempty"` // commit; empty = a folder as it is
	// Files have the hashes that the source promises. Those of a folder have none: nobody has read it.
	Files        []sdk.ModelFile `json:"files"`
	Bytes        int64           `json:"bytes"`                   // of the files
	OmittedBytes int64           `json:"omitted_bytes,omitempty"` // of copies in other formats, which are left out
	License      string          `json:"license,omitempty"`       // as the source names it
	Gate         string          `json:"gate,omitempty"`          // how the source restricts access
	Download     *Download       `json:"download,omitempty"`      // nil = nothing, or nobody knows
}

// AssumedRate is the rate of a download in bytes per second that a plan assumes where none was
// measured: most of a link of 1 Gbit/s.
const AssumedRate = 100e6

// Download is how long it will take to bring the files to where they are needed.
type Download struct {
	Bytes          int64     `json:"bytes"` // without what this computer has; a volume may have more of it
	Seconds        float64   `json:"seconds"`
	BytesPerSecond float64   `json:"bytes_per_second"`
	Host           string    `json:"host"`              // of the source
	Assumed        bool      `json:"assumed,omitempty"` // the rate is [AssumedRate], as none is known
	Rented         bool      `json:"rented,omitempty"`  // a rented machine downloads: what this computer has measured says nothing
	Measured       time.Time `json:"measured,omitzero"` // when the rate was measured, on this computer
}

// ModelFacts are what is known of a model before it is fetched.
type ModelFacts struct {
	Facts
	modelinfo.Info
}

// FittingGPU is a GPU, or several in one machine, whose memory is enough for the models.
type FittingGPU struct {
	Provider    string  `json:"provider"`
	GPU         string  `json:"gpu"`
	GPUCount    int     `json:"gpu_count"`
	GPUMemoryGB float64 `json:"gpu_memory_gb"` // GiB of each
	CostPerHour float64 `json:"cost_per_hour"` // USD, of the machine
}

// GPUNames are GPUs in words.
func GPUNames(gpus []FittingGPU) string {
	var names []string
	for _, g := range gpus {
		count := ""
		if g.GPUCount > 1 {
			count = fmt.Sprintf("%d × ", g.GPUCount)
		}
		names = append(names, fmt.Sprintf("%s%s at %s (%s an hour)", count, g.GPU, g.Provider, preflight.USD(g.CostPerHour)))
	}
	return strings.Join(names, ", ")
}

// GPUUse is a GPU of this computer as it is when the plan is made.
type GPUUse struct {
	Label       string  `json:"label"`        // GPU 0 (H100-SXM)
	UUID        string  `json:"uuid"`         //
	Taken       bool    `json:"taken"`        // the experiment would get it now
	UsedBy      string  `json:"used_by"`      // who uses it, in words; empty = nobody
	FreeMemory  float64 `json:"free_memory"`  // GiB that others do not have
	TotalMemory float64 `json:"total_memory"` // GiB
}

// Dataset is a dataset and where its path will be found.
type Dataset struct {
	Name   string `json:"name"`
	Source string `json:"source"`
	From   string `json:"from"` // folder on this computer, or the name at the source
	Path   string `json:"path"` // in the sandbox
	Env    string `json:"env"`  // variable that holds Path

	Facts *Facts `json:"facts,omitempty"` // nil = nobody has looked at it
}

// Upload is a file or folder that is put into the sandbox.
type Upload struct {
	Local  string `json:"local"`
	Remote string `json:"remote"`
	Folder bool   `json:"folder,omitempty"`
	Mount  bool   `json:"mount,omitempty"` // shown read-only instead: the place cannot be written to
}

// Service is an interface that will be served.
type Service struct {
	Name     string `json:"name"`
	File     string `json:"file"`
	ExposeAs string `json:"expose_as"`
}

// Workspace is the agent's folder.
type Workspace struct {
	Dir       string   `json:"dir"`
	Libraries []string `json:"libraries"`
	Files     []string `json:"files"`
}

// Agent is the program that will be run.
type Agent struct {
	Provider  string   `json:"provider"`
	Command   []string `json:"command,omitempty"`
	Isolation string   `json:"isolation"`
	Network   string   `json:"network"`
	MemoryGB  float64  `json:"memory_gb,omitempty"` // 0 = half of this computer's
	CPU       float64  `json:"cpu,omitempty"`       // 0 = all of this computer's
	Processes int      `json:"processes,omitempty"`
	Nested    bool     `json:"nested_sandbox,omitempty"`
}

// Make turns a checked experiment into a plan. The error is that of the
// report, where it found something that stops the experiment.
func Make(exp *experiment.Experiment, report preflight.Report) (Plan, error) {
	if err := report.Err(); err != nil {
		return Plan{}, err
	}
	s := exp.Sandbox
	p := Plan{
		Version: Version, Experiment: exp.Name, Provider: report.Provider.Name, Isolation: report.Isolation,
		Nested: s.Nested, Network: s.Network, NetworkHosts: s.NetworkHosts, HostPorts: s.HostPorts, CPU: s.CPU, MemoryGB: s.MemoryGB, DiskGB: s.DiskGB, Regions: s.Regions,
		MaxPrice: s.MaxPrice, Budget: s.Budget, Packages: list(s.PythonPackages), Env: list(slices.Sorted(maps.Keys(s.Env))), Secrets: list(s.Secrets),
		Ports: list(s.Ports), Models: []Model{}, Datasets: []Dataset{}, Uploads: []Upload{}, Services: []Service{},
		Workspace: Workspace{Dir: exp.Workspace.Dir, Libraries: list(exp.Workspace.Libraries), Files: list(exp.Workspace.Files)},
		Outputs:   exp.Outputs, Runs: exp.Runs, Timeout: s.Timeout.Seconds(), IdleTimeout: s.IdleTimeout.Seconds(), MaxWait: s.MaxWait.Seconds(), Warnings: []string{},
	}
	if report.GPU != "" {
		p.GPU, p.GPUCount, p.GPUShare = report.GPU, s.GPUCount, s.GPUShare
	}
	p.Present, p.Python, p.Repos, p.ExecutionMode = report.Present, report.Python, report.Repos, s.ExecutionMode
	p.contents(exp, report)
	p.image(s)
	p.choices(s, report.Choices)
	if a := exp.Agent; a != nil {
		p.Agent = &Agent{Provider: a.Provider, Command: a.Command, Isolation: report.AgentIsolation, Network: a.Network,
			MemoryGB: a.MemoryGB, CPU: a.CPU, Processes: a.Processes, Nested: a.Nested}
	}
	for _, w := range report.Warnings() {
		p.Warnings = append(p.Warnings, w.Error.Error())
		p.Remedies = remedy.Add(p.Remedies, w.Remedies...)
	}
	return p, nil
}

// Withheld reports whether a secret opens repositories: the machine that clones is given
// it, and the sandbox is not.
func (p Plan) Withheld(secret string) bool {
	return slices.ContainsFunc(p.Repos, func(r preflight.Repo) bool { return r.Token == secret })
}

func (p *Plan) contents(exp *experiment.Experiment, report preflight.Report) {
	for _, m := range exp.Sandbox.Fetched() {
		if m.Dataset {
			p.Datasets = append(p.Datasets, Dataset{Name: m.Alias(), Source: m.Source, From: m.Ref().Name, Path: m.SandboxPath(), Env: m.EnvName()})
			continue
		}
		p.Models = append(p.Models, Model{Name: m.Alias(), Source: m.Source, From: m.Ref().Name, Path: m.SandboxPath(),
			Env: m.EnvName(), VarName: m.VarName, Hidden: m.Hidden})
	}
	mount := func(remote string) bool {
		return report.Provider.Has(sdk.FeatureHostMounts) && mounted(remote, report.Isolation)
	}
	for _, f := range exp.Sandbox.LocalFiles {
		p.Uploads = append(p.Uploads, Upload{Local: f.Local, Remote: f.Remote, Mount: mount(f.Remote)})
	}
	for _, d := range exp.Sandbox.LocalDirs {
		p.Uploads = append(p.Uploads, Upload{Local: d.Local, Remote: d.Remote, Folder: true, Mount: mount(d.Remote)})
	}
	for _, v := range exp.Sandbox.Volumes {
		p.Volumes = append(p.Volumes, Volume(v))
	}
	for _, s := range exp.Serve {
		p.Services = append(p.Services, Service{Name: s.Name, File: s.File, ExposeAs: s.ExposeAs})
	}
}

// mounted reports whether a local file is shown rather than copied: outside the
// folders of its own, the tree of an isolated sandbox on this computer is
// read-only.
func mounted(remote, isolation string) bool {
	return isolation != "none" && !strings.HasPrefix(remote+"/", "/workspace/") && !strings.HasPrefix(remote+"/", "/tmp/")
}

func (p *Plan) image(s experiment.Sandbox) {
	image := Image{PythonVersion: s.PythonVersion, SystemPackages: s.SystemPackages}
	if s.Image != nil {
		image.Base, image.Snapshot, image.Commands = s.Image.Base, s.Image.Snapshot, s.Image.Commands
	}
	if !image.empty() {
		p.Image = &image
	}
}

// list is items, never nil, so that the JSON has [] and not null.
func list[T any](items []T) []T { return append([]T{}, items...) }
