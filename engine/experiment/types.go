// Package experiment reads the experiment file: strict, with defaults, every
// mistake reported at once with file and line.
package experiment

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Experiment is one experiment file, parsed, defaulted and validated. Relative
// paths have been made absolute, from the folder of the file.
type Experiment struct {
	File      string    // absolute path of the file; empty when built in code
	Name      string    // defaults to the name of the file's folder
	Sandbox   Sandbox   //
	Serve     []Serve   //
	Workspace Workspace //
	Agent     *Agent    // nil = nothing to run
	Outputs   string    // folder for the agent's results; empty = one in the folder of the run
	Runs      string    // folder of the folders of runs; default ./runs
	NoRecord  bool      // the calls of a run are not recorded

	values map[string]any // as checked, in the canonical form; nil when built in code
	shown  string         // the file as the user named it, for messages
	marks  marks          // where each value was written; nil when built in code

	mistakes  Errors
	shortened []string // lists that lack items, which were mistakes
}

// Sandbox is the machine and what is on it.
type Sandbox struct {
	Providers       []string                  // in order of preference; empty = choose (local unless a GPU is asked for that this machine lacks)
	GPU             []string                  // in order of preference; empty = CPU
	GPUCount        int                       // default 1
	GPUShare        *sdk.GPUShare             // of each GPU; nil = whole GPUs
	CPU             float64                   // cores; 0 = the provider's default
	MemoryGB        float64                   // GiB; 0 = the provider's default
	DiskGB          int                       // 0 = the provider's default
	Regions         []string                  // any of them; empty = anywhere
	Volumes         []Volume                  //
	MaxPrice        float64                   // USD per hour; 0 = any
	Budget          float64                   // USD; 0 = no limit
	ProviderOptions map[string]map[string]any // by provider
	ExecutionMode   string                    // "" (scoped), notebook, cli, local
	Models          []Model                   //
	Datasets        []Dataset                 //
	Repos           []Repo                    //
	PythonPackages  []string                  //
	Implied         int                       // how many of them, at the end, nobody asked for: the execution mode needs them
	SystemPackages  []string                  //
	PythonVersion   string                    //
	Image           *Image                    //
	Secrets         []string                  // names
	Env             map[string]string         //
	Timeout         time.Duration             // default 1h
	IdleTimeout     time.Duration             // 0 = none
	MaxWait         time.Duration             // in the queue of each provider; 0 = not said
	LocalFiles      []Pair                    //
	LocalDirs       []Pair                    //
	Ports           []int                     //
	JupyterPort     int                       // 0 = 8888, or on this computer a free one
	Debug           bool                      // VS Code in the browser
	DebugPort       int                       // 0 = 8443, or on this computer a free one
	Isolation       string                    // auto (default), gvisor, bubblewrap, none
	Nested          bool                      // programs may make sandboxes of their own
	Network         string                    // open (default), none, host, hosts
	HostPorts       []int                     // of this computer, reached at 127.0.0.1 inside
	NetworkHosts    []string                  // with Network hosts
}

// Options is what provider_options has for a provider, as a JSON object; nil
// where there is nothing.
func (s Sandbox) Options(provider string) json.RawMessage {
	options := s.ProviderOptions[provider]
	if len(options) == 0 {
		return nil
	}
	text, err := json.Marshal(options)
	if err != nil { // refused by the check
		return nil
	}
	return text
}

// Volume is a disk that outlives sandboxes. The provider makes it if no volume has the name.
type Volume struct {
	Name     string
	Path     string // absolute, in the sandbox
	SizeGB   int    // 0 = the provider's default
	ReadOnly bool
	Models   bool // it keeps models of the Hub, in the layout of the Hub's cache
}

// Model is a model the sandbox needs.
type Model struct {
	Name       string   // as written: org/name, scheme:name, ./folder
	Source     string   // hub, folder or the scheme
	Path       string   // for folder: absolute path on this computer
	Revision   string   // "" = the source's default
	Include    []string // patterns of files, see [sdk.ModelRef.Wants]; empty = the fetcher's choice
	Exclude    []string
	Label      string // the revision, if another one of the model is listed; see [Model.Alias]
	Dataset    bool   // of [Sandbox.Fetched]: a dataset, of which only the fields above mean something
	VarName    string // default model
	Hidden     bool
	IsPEFT     bool
	BaseModel  string
	BasePath   string // for a base model that is a folder: absolute path on this computer
	LoadAsPEFT bool
	DType      string // "" = auto
	Device     string // "" = auto
}

// Dataset is a dataset that the sandbox needs.
type Dataset struct {
	Name     string // as written: org/name, scheme:name, ./folder
	Source   string // hub, folder or the scheme
	Path     string // for folder: absolute path on this computer
	Revision string // "" = the source's default
	Include  []string
	Exclude  []string
	Label    string // as [Model.Label]
}

// Repo is a git repository to clone.
type Repo struct{ URL, Ref, Install string }

// Name is the folder of the clone under /workspace; empty where the URL has none.
func (r Repo) Name() string {
	name := strings.TrimSuffix(strings.TrimRight(r.URL, "/"), ".git")
	name = name[strings.LastIndexAny(name, "/:")+1:]
	if strings.Contains(r.URL, "://") {
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
	}
	if !validFolder(name) {
		return ""
	}
	return name
}

// Image is the file system to start from.
type Image struct {
	Base     string
	Snapshot string // instead of everything else: a saved file system
	Commands []string
}

// Pair is a local path and where it goes in the sandbox.
type Pair struct{ Local, Remote string }

// Serve is an interface to be served.
type Serve struct {
	File     string
	ExposeAs string         // default library
	Name     string         // default the file's stem
	Options  map[string]any // passed to the expose mode as they are
	Limits   ServiceLimits  //
	Access   *Access        // nil = the agent may do what the functions do, without limits
}

// Workspace is what the agent finds in its folder.
type Workspace struct {
	Dir       string   // default ./workspace
	Libraries []string // Python files, package folders, skill folders
	Skills    []string // skill folders
	SkillDirs []string // folders of skill folders
	Files     []string
	Dirs      []string
	Init      string // Python, run before the agent starts

	NoPreload    bool // models are not loaded before the agent starts
	ShowsLoading bool // the cells that load models are in the notebook
}

// Agent is the program that does the work.
type Agent struct {
	Provider   string   // command (default), acp, or the name of a profile
	Command    []string // of provider command and acp; of others, their program, where it is not to be looked for
	Args       []string // after those of the profile
	Model      string   // empty = the program's own choice
	Task       string
	Prompt     string                    // of an experiment that was read, also what is in PromptFile
	PromptFile string                    // with Prompt's text; empty = none
	Prompts    []string                  // after Prompt
	MaxTurns   int                       // 0 = no limit
	Timeout    time.Duration             // 0 = that of the sandbox
	Budget     float64                   // USD for the language model; 0 = no limit
	BaseURL    string                    // of the language model; empty = the provider's own
	Secrets    []string                  // that the agent gets as variables
	Tools      []string                  // of its own that it may use; nil = all
	Servers    map[string]map[string]any // of MCP, by name: command, args, env
	Skills     []string                  // skill folders
	Isolation  string                    // auto, gvisor, bubblewrap, none
	MemoryGB   float64                   // GiB; 0 = half of this computer's
	CPU        float64                   // cores; 0 = all of this computer's
	Processes  int                       // and threads; 0 = 4096
	Nested     bool                      // programs may make sandboxes of their own
	Network    string                    // none (default for command), open
	Env        map[string]string         //
}
