package sdk

// Manifest is plugin.yaml: what a plugin is and what it asks for. It is stored
// beside the .wasm and embedded in it as the custom section [ManifestSection],
// so that it can be read without running code.
type Manifest struct {
	ID          string       `json:"id" yaml:"id"`           // provider-modal, fetch-folder, expose-mcp …
	Version     string       `json:"version" yaml:"version"` // semantic version of the plugin
	Description string       `json:"description,omitempty" yaml:"description,omitempty"`
	Implements  []string     `json:"implements" yaml:"implements"` // provider/1, fetcher/1, expose/1
	Provides    []string     `json:"provides" yaml:"provides"`     // the values of `provider:`, model scheme or `expose_as:`
	Permissions Permissions  `json:"permissions,omitzero" yaml:"permissions,omitempty"`
	Limits      PluginLimits `json:"limits,omitzero" yaml:"limits,omitempty"`
}

// ManifestSection is the name of the Wasm custom section with the manifest.
const ManifestSection = "seer.manifest"

// Permissions is what a plugin asks for. What is not listed is denied.
type Permissions struct {
	// Folders lets a fetcher list and read the folders that the user names as
	// models in the experiment, and no others.
	Folders bool `json:"folders,omitempty" yaml:"folders,omitempty"`
}

// PluginLimits lowers the host's limits for this plugin. Zero means the host's
// own; a higher value than the host's is refused.
type PluginLimits struct {
	MemoryMB    int     `json:"memory_mb,omitempty" yaml:"memory_mb,omitempty"`
	CallSeconds float64 `json:"call_seconds,omitempty" yaml:"call_seconds,omitempty"`
}
