package engine

import (
	"context"
	"sync"

	"github.com/seer-engine/seer/engine/agent"
	"github.com/seer-engine/seer/engine/blinding"
	"github.com/seer-engine/seer/engine/build"
	"github.com/seer-engine/seer/engine/checkpoint"
	"github.com/seer-engine/seer/engine/cleanup"
	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/doctor"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/hosts"
	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/inventory"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/models"
	"github.com/seer-engine/seer/engine/plugin/registry"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/pyenv"
	"github.com/seer-engine/seer/engine/start"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/engine/trust/effects"
	"github.com/seer-engine/seer/sdk"
)

// wire makes the parts of the engine, each from those before it.
func (e *Engine) wire(o Options) {
	e.python = pyenv.New(pyenv.Options{Store: e.store, Getenv: o.getenv, Python: o.Python, Logger: o.Logger})
	logins := &image.Logins{}
	thisComputer := sync.OnceValues(func() (sdk.Provider, error) {
		return local.Open(e.store, local.Options{
			Registry: o.Registry, Login: logins.Allowed, ArtifactsDir: e.paths.Artifacts, Logger: o.Logger.Named("local"),
			Python: func(context.Context) (isolation.Interpreter, error) { return e.python.Default() }, Cache: e.python.Worker, Places: e.paths.ToolPlaces(),
		})
	})
	remote := hosts.Open(e.store, e.paths.Artifacts, o.Interactive)
	e.plugins = registry.New(registry.Options{
		State: e.store, Paths: e.paths, LookupEnv: o.LookupEnv, Now: o.Now, Logger: o.Logger,
		LockDir: o.LockDir, ConfigFile: o.ConfigFile, Version: o.Version,
		BuiltinPlugins: o.BuiltinPlugins, PluginAccess: o.PluginAccess, PluginAudit: o.PluginAudit,
		Providers: o.Providers, Fetchers: o.Fetchers, Exposers: o.Exposers, Local: thisComputer, SSH: remote, Kube: remote.Kube(), Records: e.ledger.List,
	})
	observer := provision.Observer{Provider: e.plugins.Provider, Record: e.ledger.Get}
	connector := provision.Connector{Ledger: e.ledger, Ended: observer.Ended, Local: thisComputer, Routes: remote, Now: o.Now, Logger: o.Logger}
	e.driver = machine.NewDriver(machine.Options{
		Ledger: e.ledger, Providers: e.plugins.Provider, Account: e.plugins.Account, AskLease: connector.AskLease, Late: e.plugins.Late,
		Routes: remote, Clock: machine.ClockOf(o.Now), Logger: o.Logger.Named("machine"),
	})
	manifests := models.Manifests{Dir: func() (string, error) { return e.store.Dir("models") }}
	e.inventory = &inventory.Inventory{
		Ledger: e.ledger, Driver: e.driver, Plugins: e.plugins, Connect: connector.Connect, Store: e.store, Manifests: manifests, Now: o.Now,
	}
	builder := &build.Builder{Store: e.store, Now: o.Now, Getenv: o.getenv, Python: e.python}
	e.guard = &effects.Guard{
		Ask: o.Trust, Store: func() (trust.Store, error) { return trust.OpenStore(e.store, o.Now) },
		Finder: effects.Finder{
			Getenv: o.getenv, Plugins: e.plugins, PipSettings: builder.Settings, NeedsLogin: local.NeedsLogin(o.Registry),
			Agents: func(exp *experiment.Experiment) (agent.Sources, error) { return e.starter.Agents(exp) },
		},
	}
	e.starter = &start.Starter{
		Plugins: e.plugins, Store: e.store, Paths: e.paths, Python: e.python, Ledger: e.ledger, Builder: builder, Guard: e.guard,
		Logins: logins, Copies: blinding.Copies{Store: e.store, Now: o.Now}, Manifests: manifests, Offers: e.driver.Offers, Local: thisComputer, Snapshots: e.Snapshots,
		CodeServer: codeserver.Finder{Getenv: o.getenv, Tools: e.paths.Tools}, LookupEnv: o.LookupEnv, Now: o.Now, Logger: o.Logger,
		Provisioner: provision.Provisioner{
			Driver: e.driver, Ledger: e.ledger, Connect: connector.Connect, Observer: observer, Native: e.plugins.Native,
			RuntimeBinary: e.paths.RuntimeBinary, Python: e.python.At, Bytecode: e.python.Notebook, Now: o.Now,
		},
	}
	e.starter.Checkpointer = checkpoint.Checkpointer{
		Store: e.store, Local: thisComputer, LocalReplaced: e.plugins.LocalReplaced, Ledger: e.ledger, Driver: e.driver,
		Connect: connector.Connect, Terminate: e.inventory.Terminate, FindCodeServer: e.starter.CodeServer.Find, Now: o.Now,
	}
	e.wireUpkeep(o)
}

// wireUpkeep makes the parts for sandboxes that are there, and for what they leave.
func (e *Engine) wireUpkeep(o Options) {
	e.saver = &checkpoint.Saver{
		Processes: e.starter.Checkpointer, Snapshots: e.Snapshots, Open: e.inventory.Open, Observer: e.starter.Provisioner.Observer, Version: o.Version,
	}
	e.cleaner = &cleanup.Cleaner{
		Store: e.store, Ledger: e.ledger, Driver: e.driver, Builder: e.starter.Builder, Copies: e.starter.Copies, Snapshots: e.Snapshots,
		CheckProviders: e.plugins.CheckProviders, Now: o.Now, Logger: o.Logger,
	}
	e.starter.PruneDaily = e.cleaner.PruneDaily
	e.models = &models.Manager{
		Getter:  models.Getter{Fetcher: e.plugins.Fetcher, Cache: func() (string, error) { return e.store.Cache("models") }, Getenv: o.getenv},
		Records: e.ledger.List, References: e.cleaner.References, Manifests: e.inventory.Manifests, Now: o.Now,
	}
	e.doctor = &doctor.Doctor{
		Python: e.python, Paths: e.paths, Store: e.store, Getenv: o.getenv, Plugins: e.Plugins, PluginDirs: e.PluginDirs(), Now: o.Now,
		GPUs: isolation.GPUs, Local: e.starter.Local,
	}
}
