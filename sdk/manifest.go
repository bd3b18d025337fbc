package sdk

// Manifest is plugin.yaml: what a plugin is and what it asks for. It is stored
// beside the .wasm and embedded in it as the custom section [ManifestSection],
// so that it can be read without running code.
type Manifest struct {
	ID          string       `json:"id" yaml:"id"`           // provider-modal, fetch-folder, expose-mcp …
	Version     string       `json:"version" yaml:"version"` // semantic version of the plugin
	Description string       `json:"description,omitempty" yaml:"description,omitempty"`
	Implements  []string     `json:"implements" yaml:"implements"`                       // provider/1, fetcher/1, expose/1
	Provides    []string     `json:"provides" yaml:"provides"`                           // the values of `provider:`, model scheme or `expose_as:`
	DefaultFor  []string     `json:"default_for,omitempty" yaml:"default_for,omitempty"` // of a provider: gpu, machines with a GPU that the user's computer lacks, where an experiment names no provider
	Permissions Permissions  `json:"permissions,omitzero" yaml:"permissions,omitempty"`
	Profile     *Profile     `json:"profile,omitempty" yaml:"profile,omitempty"`
	Settings    []Setting    `json:"settings,omitempty" yaml:"settings,omitempty"`
	Secrets     []Secret     `json:"secrets,omitempty" yaml:"secrets,omitempty"`
	Captures    []Capture    `json:"captures,omitempty" yaml:"captures,omitempty"`
	Limits      PluginLimits `json:"limits,omitzero" yaml:"limits,omitempty"`
}

// DefaultForGPU is a value of [Manifest].DefaultFor.
const DefaultForGPU = "gpu"

// ManifestSection is the name of the Wasm custom section with the manifest.
const ManifestSection = "seer.manifest"

// Permissions lists what a plugin asks for. The host denies everything else.
//
// A destination, wherever one is named, is an origin, https://host[:port], or
// {setting}: the value of one of the plugin's [Setting]s. Addresses of private
// networks and of this computer, and http://, are refused unless the user has
// configured them: a setting that has its default is not the user's.
//
// A fetcher may also name [DestinationModel].
type Permissions struct {
	// Folders lets a fetcher list and read the folders that the user names as
	// models in the experiment, and no others.
	Folders bool `json:"folders,omitempty" yaml:"folders,omitempty"`

	HTTP []HTTPPermission `json:"http,omitempty" yaml:"http,omitempty"`
	GRPC []GRPCPermission `json:"grpc,omitempty" yaml:"grpc,omitempty"`
	SSH  []SSHPermission  `json:"ssh,omitempty" yaml:"ssh,omitempty"`
	Kube []KubePermission `json:"kube,omitempty" yaml:"kube,omitempty"`

	// Of expose modes: what a surface may contain beyond plain files, text and MCP
	// servers that are Seer's own program.
	Commands []CommandPermission `json:"commands,omitempty" yaml:"commands,omitempty"`
	Env      []EnvPermission     `json:"env,omitempty" yaml:"env,omitempty"`
	Files    []FilePermission    `json:"files,omitempty" yaml:"files,omitempty"`
}

// DestinationModel is the host that the name of the model names which a call is about:
// the name is a URL, or begins with a host. No credential can be bound to it. The user may
// allow private addresses and http:// by the setting [SettingModelOrigins].
const DestinationModel = "{model}"

// SettingModelOrigins is the name of the setting that lists, separated by commas, origins
// that [DestinationModel] may be although they are in a private network or have no TLS.
const SettingModelOrigins = "model_origins"

// HTTPPermission lets a plugin make requests.
type HTTPPermission struct {
	Destination string   `json:"destination" yaml:"destination"`
	Methods     []string `json:"methods" yaml:"methods"` // GET, POST, …
	Paths       []string `json:"paths" yaml:"paths"`     // patterns of path.Match; a last segment ** matches the rest
	Reason      string   `json:"reason" yaml:"reason"`   // for the user: why
}

// GRPCPermission lets a plugin call methods.
type GRPCPermission struct {
	Destination string   `json:"destination" yaml:"destination"`
	Methods     []string `json:"methods" yaml:"methods"` // /package.Service/Method; the last part may be a pattern of path.Match
	Reason      string   `json:"reason" yaml:"reason"`
}

// SSHPermission lets a plugin use hosts that the user reaches by SSH, with the user's own
// OpenSSH. The plugin sees no key.
type SSHPermission struct {
	// Hosts are patterns of path.Match for the names as ssh takes them, or {setting}: the
	// hosts that a setting lists, separated by commas or white space.
	Hosts  []string `json:"hosts" yaml:"hosts"`
	Use    []string `json:"use" yaml:"use"`       // of [SSHExec] and [SSHForward]
	Reason string   `json:"reason" yaml:"reason"` // for the user: why
}

// The values of [SSHPermission].Use.
const (
	SSHExec    = "exec"    // run commands there
	SSHForward = "forward" // have the engine carry ports and sockets of the host to this computer
)

// CommandPermission lets a surface name a program as an MCP server.
type CommandPermission struct {
	Command string `json:"command" yaml:"command"` // exactly what [MCPServer].Command may be
	Reason  string `json:"reason" yaml:"reason"`
}

// EnvPermission lets a surface set variables for the agent. Names that begin with SEER_
// need none.
type EnvPermission struct {
	Names  []string `json:"names" yaml:"names"`
	Reason string   `json:"reason" yaml:"reason"`
}

// FilePermission lets a surface write files that programs obey wherever they find them:
// those whose path has a part that begins with a dot, and AGENTS.md, Makefile,
// sitecustomize.py and the like; docs/plugins/trust.md has the list.
type FilePermission struct {
	Paths  []string `json:"paths" yaml:"paths"` // patterns as of [HTTPPermission], relative: .claude/skills/**
	Reason string   `json:"reason" yaml:"reason"`
}

// Profile is a TOML file of the user's, in the form that the backend's own tools
// keep, with one section for each profile. The host reads it; a plugin sees only
// the settings that it names.
type Profile struct {
	// Key makes the file a plain text whose content, without white space around it, is the
	// value of this key; the fields from NameEnv on are empty then.
	Key string `json:"key,omitempty" yaml:"key,omitempty"`

	File    string `json:"file" yaml:"file"`                             // below the home folder: ~/.modal.toml
	FileEnv string `json:"file_env,omitempty" yaml:"file_env,omitempty"` // variable that names another file
	// Folders are variables that name folders with the file, for tools whose own folder can be
	// moved. The first that is set counts, after FileEnv and before File.
	Folders []ProfileFolder `json:"folders,omitempty" yaml:"folders,omitempty"`

	NameEnv string `json:"name_env,omitempty" yaml:"name_env,omitempty"` // variable that names the section
	Active  string `json:"active,omitempty" yaml:"active,omitempty"`     // else the section in which this key is true
	Section string `json:"section,omitempty" yaml:"section,omitempty"`   // else this section
}

// ProfileFolder is a place of a [Profile].
type ProfileFolder struct {
	Env  string `json:"env" yaml:"env"`   // variable that names the folder: ACME_HOME
	File string `json:"file" yaml:"file"` // slash-separated, inside: credentials.toml
}

// Setting is a value that the user may set and the plugin may read. The first of
// these counts: a variable that is not empty, the profile, the default. It never comes
// from a .env file.
type Setting struct {
	Name    string   `json:"name" yaml:"name"`
	Doc     string   `json:"doc" yaml:"doc"`
	Env     []string `json:"env,omitempty" yaml:"env,omitempty"`
	Profile string   `json:"profile,omitempty" yaml:"profile,omitempty"` // key in the profile
	Default string   `json:"default,omitempty" yaml:"default,omitempty"`
}

// Secret is a credential of the user's that the host adds to requests. The plugin never sees
// it. Values come from the environment, a .env file beside the experiment, or the profile.
// Without a value, a request that needs it fails as [Unauthorized] with Doc, unless the
// secret is Optional.
type Secret struct {
	Name     string    `json:"name" yaml:"name"`
	Doc      string    `json:"doc" yaml:"doc"` // how to get one; shown when it is missing
	Env      []string  `json:"env,omitempty" yaml:"env,omitempty"`
	Profile  string    `json:"profile,omitempty" yaml:"profile,omitempty"` // key in the profile
	Optional bool      `json:"optional,omitempty" yaml:"optional,omitempty"`
	Bind     []Binding `json:"bind" yaml:"bind"`
}

// Binding names the only place to which the host sends a credential. The host replaces a
// value that the plugin puts there.
type Binding struct {
	Destination string `json:"destination,omitempty" yaml:"destination,omitempty"` // of a capture with a URLField: leave empty
	Header      string `json:"header" yaml:"header"`                               // of HTTP, or key of gRPC metadata
	Format      string `json:"format,omitempty" yaml:"format,omitempty"`           // "Bearer {}"; default "{}"
}

// Capture is a credential that a backend gives in an answer to a gRPC call. The host keeps it
// and puts a placeholder into the answer; if the plugin sends the placeholder in a bound
// header, the host replaces it by the credential.
type Capture struct {
	Name     string `json:"name" yaml:"name"`
	Method   string `json:"method" yaml:"method"`                           // /package.Service/Method
	Field    string `json:"field" yaml:"field"`                             // protobuf field numbers down to the string: "1", "3.1"
	JWT      bool   `json:"jwt,omitempty" yaml:"jwt,omitempty"`             // the placeholder is an unsigned token with the same exp
	URLField string `json:"url_field,omitempty" yaml:"url_field,omitempty"` // the field with the URL for which this one is good; it may then be called

	// GRPC are the methods that may be called at the URL of URLField.
	GRPC []string  `json:"grpc,omitempty" yaml:"grpc,omitempty"`
	Bind []Binding `json:"bind" yaml:"bind"`
}

// PluginLimits changes the host's limits for this plugin. Zero means the host's own.
// CallSeconds can only be lowered. MemoryMB may also be raised, for a guest whose code
// alone is large, up to the host's maximum (1024 unless its embedder says otherwise);
// more is refused. StepSeconds is for one step of provider_create or provider_snapshot
// of a backend that answers only when the machine or the copy is there, and for one
// provider_check or provider_clean.
type PluginLimits struct {
	MemoryMB    int     `json:"memory_mb,omitempty" yaml:"memory_mb,omitempty"`
	CallSeconds float64 `json:"call_seconds,omitempty" yaml:"call_seconds,omitempty"`
	StepSeconds float64 `json:"step_seconds,omitempty" yaml:"step_seconds,omitempty"`
}
