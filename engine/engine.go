package engine

import (
	"context"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/checkpoint"
	"github.com/seer-engine/seer/engine/cleanup"
	"github.com/seer-engine/seer/engine/doctor"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/inventory"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/models"
	"github.com/seer-engine/seer/engine/paths"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/registry"
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
	// PluginAudit receives every request of a plugin when it has ended; nil = the audit in
	// StateDir. Calls may overlap.
	PluginAudit func(host.Audit)
	// Version is the version of this program, which plugins can require.
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

	Interactive bool // OpenSSH may ask on this program's terminal, once for each host; else logins that need a person fail

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
	now       func() time.Time
	store     *state.Store
	paths     paths.Paths
	ledger    *machine.Ledger
	driver    *machine.Driver
	plugins   *registry.Registry // providers, fetchers and expose modes, also those that are no plugins
	python    *pyenv.Finder
	guard     *effects.Guard
	starter   *start.Starter
	inventory *inventory.Inventory
	saver     *checkpoint.Saver
	cleaner   *cleanup.Cleaner
	doctor    *doctor.Doctor
	models    *models.Manager
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
	e := &Engine{now: o.Now}
	var err error
	e.store, err = state.Open(state.Options{
		StateDir: o.StateDir, CacheDir: o.CacheDir, RuntimeDir: o.RuntimeDir, Getenv: o.getenv,
	})
	if err != nil {
		return nil, errdefs.OfFolder(err)
	}
	dir, err := e.store.Dir("sandboxes")
	if err != nil {
		return nil, as(KindInternal, err)
	}
	if e.ledger, err = machine.OpenLedger(dir, machine.ClockOf(o.Now)); err != nil {
		return nil, as(KindInternal, err)
	}
	e.paths, err = paths.New(paths.Options{
		Getenv: o.getenv, ArtifactsDir: o.ArtifactsDir, DataDir: o.DataDir, ToolDirs: o.ToolDirs, PluginDirs: o.PluginDirs,
	})
	if err != nil {
		return nil, as(KindInternal, err)
	}
	e.wire(o)
	return e, nil
}

// Close lets go of the plugins. Sandboxes live on as their leases say, and those of this
// computer can still be ended; a new one is refused with [os.ErrClosed].
func (e *Engine) Close() error { return e.plugins.Close() }

func (o Options) getenv(name string) string {
	v, _ := o.LookupEnv(name)
	return v
}
