package experiment

import (
	"fmt"
	"math"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/v2"
)

// input is the file as it is written; [Experiment] is what it means.
type input struct {
	Name      string         `koanf:"name"`
	Sandbox   inputSandbox   `koanf:"sandbox"`
	Serve     []inputServe   `koanf:"serve"`
	Workspace inputWorkspace `koanf:"workspace"`
	Agent     *inputAgent    `koanf:"agent"`
	Outputs   string         `koanf:"outputs"`
	Runs      string         `koanf:"runs"`
	Record    *bool          `koanf:"record"`
}

type inputSandbox struct {
	Provider        []string                  `koanf:"provider"`
	GPU             []string                  `koanf:"gpu"`
	GPUCount        int                       `koanf:"gpu_count"`
	GPUShare        string                    `koanf:"gpu_share"`
	CPU             float64                   `koanf:"cpu"`
	Memory          float64                   `koanf:"memory"`
	Disk            float64                   `koanf:"disk"`
	Region          []string                  `koanf:"region"`
	Volumes         []inputVolume             `koanf:"volumes"`
	MaxPrice        float64                   `koanf:"max_price"`
	Budget          float64                   `koanf:"budget"`
	ProviderOptions map[string]map[string]any `koanf:"provider_options"`
	ExecutionMode   string                    `koanf:"execution_mode"`
	Models          []inputModel              `koanf:"models"`
	Datasets        []inputDataset            `koanf:"datasets"`
	Repos           []inputRepo               `koanf:"repos"`
	PythonPackages  []string                  `koanf:"python_packages"`
	SystemPackages  []string                  `koanf:"system_packages"`
	PythonVersion   string                    `koanf:"python_version"`
	Image           *inputImage               `koanf:"image"`
	Secrets         []string                  `koanf:"secrets"`
	Env             map[string]string         `koanf:"env"`
	Timeout         time.Duration             `koanf:"timeout"`
	IdleTimeout     time.Duration             `koanf:"idle_timeout"`
	MaxWait         time.Duration             `koanf:"max_wait"`
	LocalFiles      []inputPair               `koanf:"local_files"`
	LocalDirs       []inputPair               `koanf:"local_dirs"`
	Ports           []int                     `koanf:"ports"`
	HostPorts       []int                     `koanf:"host_ports"`
	JupyterPort     int                       `koanf:"jupyter_port"`
	Debug           bool                      `koanf:"debug"`
	DebugPort       int                       `koanf:"debug_port"`
	Isolation       string                    `koanf:"isolation"`
	Nested          bool                      `koanf:"nested_sandbox"`
	Network         []string                  `koanf:"network"`
}

type inputModel struct {
	Name       string   `koanf:"name"`
	Revision   string   `koanf:"revision"`
	Include    []string `koanf:"include"`
	Exclude    []string `koanf:"exclude"`
	VarName    string   `koanf:"var_name"`
	Hidden     bool     `koanf:"hidden"`
	IsPEFT     bool     `koanf:"is_peft"`
	BaseModel  string   `koanf:"base_model"`
	LoadAsPEFT bool     `koanf:"load_as_peft"`
	DType      string   `koanf:"dtype"`
	Device     string   `koanf:"device"`
}

type inputDataset struct {
	Name     string   `koanf:"name"`
	Revision string   `koanf:"revision"`
	Include  []string `koanf:"include"`
	Exclude  []string `koanf:"exclude"`
}

type inputRepo struct {
	URL     string `koanf:"url"`
	Ref     string `koanf:"ref"`
	Install string `koanf:"install"`
}

type inputImage struct {
	Base     string   `koanf:"base"`
	Snapshot string   `koanf:"snapshot"`
	Commands []string `koanf:"commands"`
}

type inputVolume struct {
	Name     string  `koanf:"name"`
	Path     string  `koanf:"path"`
	Size     float64 `koanf:"size"`
	Models   bool    `koanf:"models"`
	ReadOnly bool    `koanf:"read_only"`
}

type inputPair struct {
	Local  string `koanf:"local"`
	Remote string `koanf:"remote"`
}

type inputServe struct {
	File     string         `koanf:"file"`
	ExposeAs string         `koanf:"expose_as"`
	Name     string         `koanf:"name"`
	Options  map[string]any `koanf:"options"`
	Limits   inputLimits    `koanf:"limits"`
	Access   *inputAccess   `koanf:"access"`
}

type inputLimits struct {
	Keep       time.Duration `koanf:"keep"`
	KeepCalls  int           `koanf:"keep_calls"`
	KeepSize   float64       `koanf:"keep_size"`
	HandleKeep time.Duration `koanf:"handle_keep"`
	Handles    int           `koanf:"handles"`
	HandleSize float64       `koanf:"handle_size"`
	Queue      int           `koanf:"queue"`
}

type inputAccess struct {
	Functions []string                  `koanf:"functions"`
	Calls     int                       `koanf:"calls"`
	Rate      string                    `koanf:"rate"`
	Expires   time.Duration             `koanf:"expires"`
	Spend     float64                   `koanf:"spend"`
	Arguments map[string]map[string]any `koanf:"arguments"`
}

type inputWorkspace struct {
	Dir       string   `koanf:"dir"`
	Libraries []string `koanf:"libraries"`
	Skills    []string `koanf:"skills"`
	SkillDirs []string `koanf:"skill_dirs"`
	Files     []string `koanf:"files"`
	Dirs      []string `koanf:"dirs"`
	Init      string   `koanf:"init"`
	Preload   *bool    `koanf:"preload_models"`
	Hidden    *bool    `koanf:"hidden_model_loading"`
}

type inputAgent struct {
	Provider   string                    `koanf:"provider"`
	Command    []string                  `koanf:"command"`
	Args       []string                  `koanf:"args"`
	Model      string                    `koanf:"model"`
	Task       string                    `koanf:"task"`
	Prompt     string                    `koanf:"prompt"`
	PromptFile string                    `koanf:"prompt_file"`
	Prompts    []string                  `koanf:"prompts"`
	MaxTurns   int                       `koanf:"max_turns"`
	Timeout    time.Duration             `koanf:"timeout"`
	Budget     float64                   `koanf:"budget"`
	BaseURL    string                    `koanf:"base_url"`
	Secrets    []string                  `koanf:"secrets"`
	Tools      []string                  `koanf:"tools"`
	Servers    map[string]map[string]any `koanf:"mcp_servers"`
	Skills     []string                  `koanf:"skills"`
	Isolation  string                    `koanf:"isolation"`
	MemoryGB   float64                   `koanf:"memory"`
	CPU        float64                   `koanf:"cpu"`
	Processes  int                       `koanf:"processes"`
	Nested     bool                      `koanf:"nested_sandbox"`
	Network    string                    `koanf:"network"`
	Env        map[string]string         `koanf:"env"`
}

// decodeInput fills the structs from checked values. A value without a struct
// field is a defect of this package, not of the file.
func decodeInput(values map[string]any) (input, error) {
	config := koanf.New(delim)
	if err := config.Load(tree(values), nil); err != nil {
		return input{}, fmt.Errorf("experiment: %w", err)
	}
	var in input
	conf := koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{ErrorUnused: true}}
	if err := config.UnmarshalWithConf("", &in, conf); err != nil {
		return input{}, fmt.Errorf("experiment: the field table and the types differ: %w", err)
	}
	return in, nil
}

// experiment is the file's meaning, before defaults that depend on the folder.
func (in input) experiment() *Experiment {
	e := &Experiment{
		Name: in.Name, Outputs: in.Outputs, Runs: in.Runs, NoRecord: in.Record != nil && !*in.Record, Sandbox: in.Sandbox.sandbox(),
		Workspace: in.Workspace.workspace(),
	}
	for _, s := range in.Serve {
		e.Serve = append(e.Serve, Serve{File: s.File, ExposeAs: s.ExposeAs, Name: s.Name, Options: s.Options,
			Limits: ServiceLimits(s.Limits), Access: (*Access)(s.Access)})
	}
	if in.Agent != nil {
		agent := Agent(*in.Agent)
		e.Agent = &agent
	}
	return e
}

func (in inputWorkspace) workspace() Workspace {
	no := func(b *bool) bool { return b != nil && !*b }
	return Workspace{Dir: in.Dir, Libraries: in.Libraries, Skills: in.Skills, SkillDirs: in.SkillDirs, Files: in.Files, Dirs: in.Dirs, Init: in.Init,
		NoPreload: no(in.Preload), ShowsLoading: no(in.Hidden)}
}

func (in inputSandbox) sandbox() Sandbox {
	s := Sandbox{
		Providers: in.Provider, GPU: in.GPU, GPUCount: in.GPUCount, CPU: in.CPU, MemoryGB: in.Memory, DiskGB: wholeGB(in.Disk),
		Regions: in.Region, MaxPrice: in.MaxPrice, Budget: in.Budget, ProviderOptions: in.ProviderOptions, ExecutionMode: in.ExecutionMode,
		PythonPackages: in.PythonPackages, SystemPackages: in.SystemPackages, PythonVersion: in.PythonVersion,
		Image: (*Image)(in.Image), Secrets: in.Secrets, Env: in.Env, Timeout: in.Timeout, IdleTimeout: in.IdleTimeout, MaxWait: in.MaxWait,
		Ports: in.Ports, HostPorts: in.HostPorts, JupyterPort: in.JupyterPort, Debug: in.Debug, DebugPort: in.DebugPort, Isolation: in.Isolation, Nested: in.Nested,
	}
	s.Network, s.NetworkHosts = networkOf(in.Network)
	if share, ok := shareOf(in.GPUShare); ok {
		s.GPUShare = &share
	}
	for _, m := range in.Models {
		s.Models = append(s.Models, Model{Name: m.Name, Revision: m.Revision, Include: m.Include, Exclude: m.Exclude, VarName: m.VarName, Hidden: m.Hidden,
			IsPEFT: m.IsPEFT, BaseModel: m.BaseModel, LoadAsPEFT: m.LoadAsPEFT, DType: notAuto(m.DType), Device: notAuto(m.Device)})
	}
	for _, d := range in.Datasets {
		s.Datasets = append(s.Datasets, Dataset{Name: d.Name, Revision: d.Revision, Include: d.Include, Exclude: d.Exclude})
	}
	for _, v := range in.Volumes {
		s.Volumes = append(s.Volumes, Volume{Name: v.Name, Path: v.Path, SizeGB: wholeGB(v.Size), ReadOnly: v.ReadOnly, Models: v.Models})
	}
	for _, r := range in.Repos {
		s.Repos = append(s.Repos, Repo(r))
	}
	for _, p := range in.LocalFiles {
		s.LocalFiles = append(s.LocalFiles, Pair(p))
	}
	for _, p := range in.LocalDirs {
		s.LocalDirs = append(s.LocalDirs, Pair(p))
	}
	return s
}

// networkOf tells open, none and host from a list of hosts.
func networkOf(words []string) (mode string, hosts []string) {
	if len(words) == 0 {
		return "", nil
	}
	if len(words) == 1 && (words[0] == "open" || words[0] == "none" || words[0] == "host") {
		return words[0], nil
	}
	return "hosts", words
}

// wholeGB is a size as it can be rented.
func wholeGB(size float64) int { return int(math.Ceil(size)) }

func notAuto(word string) string {
	if word == "auto" {
		return ""
	}
	return word
}
