package engine

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/blinding"
	"github.com/seer-engine/seer/engine/build"
	"github.com/seer-engine/seer/engine/cleanup"
	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/inventory"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/paths"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/registry"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/pyenv"
	"github.com/seer-engine/seer/engine/start"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/engine/trust/effects"
	"github.com/seer-engine/seer/sdk"
)

// Options configure an [Engine]. The zero value works for a program that is
// installed with its artifacts beside it.
type Options struct {
	StateDir   string // what must survive; default $XDG_STATE_HOME/seer
	CacheDir   string // what can be made again; default $XDG_CACHE_HOME/seer
	DataDir    string // installed plugins; default $XDG_DATA_HOME/seer
	ConfigFile string // the user's configuration, with the policy for plugins; default $XDG_CONFIG_HOME/seer/config.yaml
	RuntimeDir string // sockets, a short path; default $XDG_RUNTIME_DIR/seer or /tmp/seer-UID

	// ArtifactsDir holds seer-runtime-<os>-<arch>; default $SEER_ARTIFACTS_DIR, or
	// else the folder "runtime" beside the executable.
	ArtifactsDir string
	// ToolDirs are searched first for gVisor's runsc. Then come the executable's folder, the
	// one into which [Engine.Fix] installs it (DataDir/tools) and the system's.
	ToolDirs []string
	// PluginDirs are searched first, in order. Then come $SEER_PLUGIN_DIR, the plugins
	// that are installed, $XDG_DATA_HOME/seer/plugins and the folder "plugins" beside
	// the executable.
	PluginDirs []string
	// LockDir is the folder of an experiment. If it has a seer.lock, the plugins that it
	// names are searched before all others, and what else is installed is not.
	LockDir string
	// BuiltinPlugins are the digests ("sha256:…") of the plugins that come with this
	// program, by id: such a file may do what its manifest says. One of that id with
	// another digest is a stranger's.
	BuiltinPlugins map[string]string
	// PluginAccess says what all other plugins may do; nil = what the user has granted.
	// [host.GrantAll] is for programs that bring their own plugins.
	PluginAccess func(context.Context, host.Plugin) (host.Grant, error)
	// PluginAudit is told of every request of a plugin when it has ended; nil = the audit
	// in StateDir. Calls may overlap.
	PluginAudit func(host.Audit)
	// Version is that of this program, to tell a plugin that needs a newer one.
	Version string

	// Trust is asked to confirm the effects of an experiment file that reach beyond its
	// folder and its confinement, unless the user has confirmed them before. nil = such an
	// experiment is refused with [KindUntrusted]. [trust.All] is for programs that run
	// nothing but their own experiments.
	Trust trust.Asker

	// Registry is the client of registries for image.base on this computer:
	// registry.Open of engine/image/registry. nil = no images there.
	Registry image.Opener

	// Python is the interpreter of local sandboxes; default $SEER_PYTHON,
	// /usr/bin/python3 or python3 in the PATH.
	Python string

	LookupEnv func(string) (string, bool) // nil = os.LookupEnv
	Now       func() time.Time            // nil = time.Now
	Logger    hclog.Logger                // nil = silent

	// Native implementations win over plugins of the same name.
	Providers map[string]sdk.Provider
	Fetchers  map[string]sdk.Fetcher
	Exposers  map[string]sdk.Exposer
}

// Engine makes and finds sandboxes. It is safe for concurrent use, and several
// engines, in one process or in several, may share one state folder.
type Engine struct {
	opts    Options
	log     hclog.Logger
	now     func() time.Time
	store   *state.Store
	ledger  *machine.Ledger
	driver  *machine.Driver
	copies  blinding.Copies    // of models, without what tells their names
	plugins *registry.Registry // providers, fetchers and expose modes, also those that are no plugins
	paths   paths.Paths

	python  *pyenv.Finder
	builder *build.Builder
	guard   *effects.Guard
	local   func() (sdk.Provider, error)
	logins  image.Logins
	starter *start.Starter

	observer  provision.Observer
	connect   func(machine.Record) (provision.Machine, error)
	inventory *inventory.Inventory
	cleaner   *cleanup.Cleaner
}

// New makes an engine. It makes the private folders where they are missing and
// starts nothing.
func New(o Options) (*Engine, error) {
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	e := &Engine{opts: o, log: o.Logger, now: o.Now}
	var err error
	e.store, err = state.Open(state.Options{
		StateDir: o.StateDir, CacheDir: o.CacheDir, RuntimeDir: o.RuntimeDir, Getenv: e.getenv,
	})
	if err != nil {
		return nil, folderError(err)
	}
	dir, err := e.store.Dir("sandboxes")
	if err != nil {
		return nil, as(KindInternal, err)
	}
	e.copies = blinding.Copies{Store: e.store, Now: e.now}
	clock := machine.ClockOf(o.Now)
	if e.ledger, err = machine.OpenLedger(dir, clock); err != nil {
		return nil, as(KindInternal, err)
	}
	e.paths, err = paths.New(paths.Options{
		Getenv: e.getenv, ArtifactsDir: o.ArtifactsDir, DataDir: o.DataDir, ToolDirs: o.ToolDirs, PluginDirs: o.PluginDirs,
	})
	if err != nil {
		return nil, as(KindInternal, err)
	}
	e.local = sync.OnceValues(e.openLocal)
	e.plugins = registry.New(registry.Options{
		State: e.store, Paths: e.paths, LookupEnv: o.LookupEnv, Now: o.Now, Logger: o.Logger,
		LockDir: o.LockDir, ConfigFile: o.ConfigFile, Version: o.Version,
		BuiltinPlugins: o.BuiltinPlugins, PluginAccess: o.PluginAccess, PluginAudit: o.PluginAudit,
		Providers: o.Providers, Fetchers: o.Fetchers, Exposers: o.Exposers,
		Local: e.local, Records: e.ledger.List,
	})
	e.observer = provision.Observer{Provider: e.plugins.Provider, Record: e.ledger.Get}
	connector := provision.Connector{Ledger: e.ledger, Ended: e.observer.Ended, Local: e.local, Now: e.now, Logger: e.log}
	e.connect = connector.Connect
	e.driver = machine.NewDriver(machine.Options{
		Ledger: e.ledger, Providers: e.plugins.Provider, Account: e.plugins.Account, AskLease: connector.AskLease, Late: e.plugins.Late, Clock: clock,
		Logger: o.Logger.Named("machine"),
	})
	e.inventory = &inventory.Inventory{Ledger: e.ledger, Driver: e.driver, Plugins: e.plugins, Connect: e.connect, Store: e.store, Now: e.now}
	e.python = pyenv.New(pyenv.Options{Store: e.store, Getenv: e.getenv, Python: o.Python, Logger: o.Logger})
	e.builder = &build.Builder{Store: e.store, Now: e.now, Getenv: e.getenv, Python: e.python}
	e.guard = e.newGuard()
	e.cleaner = &cleanup.Cleaner{
		Store: e.store, Ledger: e.ledger, Driver: e.driver, Builder: e.builder, Copies: e.copies, Snapshots: e.Snapshots,
		CheckProviders: e.plugins.CheckProviders, Now: e.now, Logger: e.log,
	}
	e.starter = e.newStarter()
	return e, nil
}

// Close lets go of the plugins. Sandboxes live on as their leases say, and those of this
// computer can still be ended; a new one is refused with [os.ErrClosed].
func (e *Engine) Close() error { return e.plugins.Close() }

// newStarter makes what starts sandboxes.
func (e *Engine) newStarter() *start.Starter {
	s := &start.Starter{
		Plugins: e.plugins, Store: e.store, Paths: e.paths, Python: e.python, Ledger: e.ledger, Builder: e.builder, Guard: e.guard,
		Logins: &e.logins, Copies: e.copies, Offers: e.driver.Offers, Local: e.local, Snapshots: e.Snapshots,
		CodeServer: codeserver.Finder{Getenv: e.getenv, Tools: e.paths.Tools},
		Provisioner: provision.Provisioner{
			Driver: e.driver, Ledger: e.ledger, Connect: e.connect, Observer: e.observer, Native: e.plugins.Native,
			RuntimeBinary: e.paths.RuntimeBinary, Python: e.python.At, Bytecode: e.python.Notebook, Now: e.now,
		},
		PruneDaily: e.cleaner.PruneDaily,
		LookupEnv:  e.opts.LookupEnv, Now: e.now, Logger: e.log,
	}
	s.Checkpointer = e.checkpointer(s.CodeServer.Find)
	return s
}

func (e *Engine) getenv(name string) string {
	v, _ := e.opts.LookupEnv(name)
	return v
}

func (e *Engine) openLocal() (sdk.Provider, error) {
	dir, err := e.store.Dir("local")
	if err != nil {
		return nil, err
	}
	images, err := e.store.Cache("images")
	if err != nil {
		return nil, err
	}
	return local.New(local.Options{
		Dir: dir, ImagesDir: images, Registry: e.opts.Registry, Login: e.logins.Allowed, RuntimeDir: e.store.RuntimeDir(), ArtifactsDir: e.paths.Artifacts, Logger: e.log.Named("local"),
		Python: func(context.Context) (isolation.Interpreter, error) { return e.python.Default() },
		Cache:  e.python.Worker, Places: e.paths.ToolPlaces(),
	}), nil
}

const localName = registry.Local

// Expose asks an expose mode (library, mcp, prompt or a plugin's) for the surface of an
// interface. Nothing is written; see package surface.
func (e *Engine) Expose(ctx context.Context, mode string, req sdk.ExposeRequest) (sdk.Surface, error) {
	return e.plugins.Expose(ctx, mode, req)
}
