// Package registry finds what machines, models and surfaces come from: Go values of the
// program, and plugins with what they may do and whose credentials they use.
package registry

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/paths"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/store"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// Local is the name of the provider of this computer.
const Local = "local"

// Options say what a [Registry] works with. Unless a comment says otherwise, the fields
// must be set.
type Options struct {
	State     *state.Store
	Paths     paths.Paths
	LookupEnv func(string) (string, bool)
	Now       func() time.Time
	Logger    hclog.Logger

	LockDir        string                                                 // folder that may have a seer.lock; empty = none
	ConfigFile     string                                                 // the user's configuration; empty = in the user's folder
	Version        string                                                 // of this program; may be empty
	BuiltinPlugins map[string]string                                      // digests of the plugins that come with this program, by id
	PluginAccess   func(context.Context, host.Plugin) (host.Grant, error) // what all others may do; nil = what the user has granted
	PluginAudit    func(host.Audit)                                       // nil = the audit in the state folder

	// Go values, which win over plugins of the same name.
	Providers map[string]sdk.Provider
	Fetchers  map[string]sdk.Fetcher
	Exposers  map[string]sdk.Exposer

	SSH     host.SSH                         // runs commands of plugins on hosts; nil = none can be reached
	Kube    host.Kube                        // reaches clusters for plugins; nil = none can be reached
	Local   func() (sdk.Provider, error)     // the provider of this computer
	Records func() ([]machine.Record, error) // the sandboxes, whose experiments may have credentials
}

// Registry finds providers, fetchers and expose modes. It opens the plugins on first use.
// It is safe for concurrent use.
type Registry struct {
	o           Options
	credentials credentials
	host        func() (*host.Host, error)
	store       func() (*store.Store, error)

	used   sync.Mutex // guards the fields below
	closed bool
	hosted *host.Host
	audit  *store.Recorder
}

// New makes a registry. It starts nothing.
func New(o Options) *Registry {
	r := &Registry{o: o}
	r.credentials.ledger = o.Records
	r.host = sync.OnceValues(r.openHost)
	r.store = sync.OnceValues(r.openStore)
	return r
}

// Close lets go of the plugins. [Registry.Usable] is an error from then on.
func (r *Registry) Close() error {
	r.used.Lock()
	defer r.used.Unlock()
	r.closed = true
	if r.hosted == nil {
		return nil
	}
	err := r.hosted.Close(context.Background())
	r.hosted = nil
	if r.audit != nil {
		r.audit.Close()
	}
	return err
}

// Usable is an error once the registry has been closed.
func (r *Registry) Usable() error {
	r.used.Lock()
	defer r.used.Unlock()
	if r.closed {
		return &errdefs.Error{Kind: errdefs.KindInternal, Err: fmt.Errorf("the engine: %w", os.ErrClosed)}
	}
	return nil
}

// Open opens the plugins, which all else does on first use.
func (r *Registry) Open() error {
	_, err := r.host()
	return err
}

func (r *Registry) getenv(name string) string {
	v, _ := r.o.LookupEnv(name)
	return v
}

func (r *Registry) environment(name string) (value, where string, ok bool) {
	value, ok = r.o.LookupEnv(name)
	return value, "environment", ok
}

func (r *Registry) openHost() (*host.Host, error) {
	cache, err := r.o.State.Cache("wasm")
	if err != nil {
		return nil, err
	}
	dirs, broken, err := r.searched()
	if err != nil {
		return nil, err
	}
	audit, recorder, err := r.pluginAudit()
	if err != nil {
		return nil, err
	}
	h, err := host.New(host.Options{
		Dirs: dirs, Optional: r.o.Paths.WellKnown, Broken: broken, CacheDir: cache, Remember: true, Logger: r.o.Logger.Named("plugin"),
		Env: r.environment, SecretEnv: r.credentials.find, Home: r.getenv("HOME"),
		Access: r.pluginAccess, Audit: audit, Version: r.o.Version,
		SSH: r.o.SSH, SSHHosts: sshHosts{used{r.o.State.Dir, r.o.Now, "hosts"}},
		Kube: r.o.Kube, KubeContexts: kubeContexts{used{r.o.State.Dir, r.o.Now, "clusters"}},
	})
	if err != nil {
		return nil, err
	}
	r.used.Lock()
	defer r.used.Unlock()
	r.hosted, r.audit = h, recorder
	return h, nil
}

// Provider finds a provider: native, built in, or a plugin's.
func (r *Registry) Provider(ctx context.Context, name string) (sdk.Provider, error) {
	if p, ok := r.o.Providers[name]; ok {
		return p, nil
	}
	if name == Local {
		return r.o.Local()
	}
	h, err := r.host()
	if err != nil {
		return nil, err
	}
	return h.Provider(ctx, name)
}

// Fetcher finds a model source. The folders are the only ones it may look into.
func (r *Registry) Fetcher(ctx context.Context, source string, folders ...string) (sdk.Fetcher, error) {
	if f, ok := r.o.Fetchers[source]; ok {
		return f, nil
	}
	h, err := r.host()
	if err != nil {
		return nil, err
	}
	return h.Fetcher(ctx, source, folders...)
}

// Exposer finds an expose mode.
func (r *Registry) Exposer(ctx context.Context, mode string) (sdk.Exposer, error) {
	if x, ok := r.o.Exposers[mode]; ok {
		return x, nil
	}
	h, err := r.host()
	if err != nil {
		return nil, err
	}
	return h.Exposer(ctx, mode)
}

// Plugin is the plugin that serves a name of a kind; false where a part of this program does.
func (r *Registry) Plugin(ctx context.Context, kind sdk.Kind, name string) (host.Plugin, bool) {
	native := r.o.Fetchers[name] != nil
	switch kind {
	case sdk.KindProvider:
		native = r.Native(name)
	case sdk.KindExpose:
		native = r.o.Exposers[name] != nil
	}
	if native {
		return host.Plugin{}, false
	}
	_, p, ok := r.pluginOf(ctx, kind, name)
	return p, ok
}

// Native reports whether asking a provider starts no plugin and no network.
func (r *Registry) Native(provider string) bool {
	_, native := r.o.Providers[provider]
	return native || provider == Local
}

// LocalReplaced reports whether a provider of the program has taken the name of this
// computer's.
func (r *Registry) LocalReplaced() bool {
	_, replaced := r.o.Providers[Local]
	return replaced
}

// Providers names the providers of the program and of these plugins, without this
// computer's, in any order.
func (r *Registry) Providers(plugins []host.Plugin) []string {
	return append(slices.Collect(maps.Keys(r.o.Providers)), provided(plugins, "provider")...)
}

// GPUProviders names who rents a GPU that this computer lacks, where an experiment names no
// provider: the one of the user's configuration, or else those of the plugins that say so.
func (r *Registry) GPUProviders(plugins []host.Plugin) ([]string, error) {
	chosen, err := store.ReadDefaultGPU(r.configFile())
	if err != nil {
		return nil, errdefs.Wrap(errdefs.KindConfig, err)
	}
	if chosen != "" {
		return []string{chosen}, nil
	}
	plugins = slices.DeleteFunc(slices.Clone(plugins), func(p host.Plugin) bool {
		return !slices.Contains(p.Manifest.DefaultFor, sdk.DefaultForGPU)
	})
	names := provided(plugins, string(sdk.KindProvider))
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Sources names the sources of models, in any order.
func (r *Registry) Sources(plugins []host.Plugin) []string {
	return append(slices.Collect(maps.Keys(r.o.Fetchers)), provided(plugins, "fetcher")...)
}

// ExposeModes names the expose modes, in any order.
func (r *Registry) ExposeModes(plugins []host.Plugin) []string {
	return append(slices.Collect(maps.Keys(r.o.Exposers)), provided(plugins, "expose")...)
}
