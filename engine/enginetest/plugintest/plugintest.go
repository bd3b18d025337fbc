// Package plugintest is the conformance kit on a finished plugin: the checks of package
// sdktest through the real host, what can be told of the module without running it, and
// what it needs of memory and time. seer plugin test is this package.
//
// The plugin's HTTP ends in a world that the kit makes before the simulator that
// conformance.yaml names; gRPC goes to the simulator as it is. Only with Live does
// anything reach the real backend. The credentials that the plugin uses are made up, and
// looked for in everything that it says and in its memory.
package plugintest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk/sdktest"
)

// Options say what is tried, and how.
type Options struct {
	Wasm   string  // the built module; the manifest is inside it, or beside it as ID.yaml
	Folder string  // of the source, with plugin.yaml and conformance.yaml; "" = that of Wasm
	Config *Config // nil = conformance.yaml of Folder, if there is one

	Quick  bool   // leave out what takes long
	Live   bool   // also on the real backend, within the limits that Config sets
	Record string // folder to write real traffic to, without credentials; needs Live
	Replay string // folder of recorded traffic, which answers in place of a simulator

	// Reach gives the plugin's host of Live the user's hosts and clusters; nil = it reaches none.
	Reach func(*host.Options)

	Env      func(name string) (value, where string, ok bool) // of Live: settings and secrets; nil = none
	Cache    string                                           // private folder for compiled code; "" = one that is removed at the end
	Seer     string                                           // version of the program, for the report
	Log      io.Writer                                        // what the plugin and the simulator say; nil = nobody listens
	Progress func(sdktest.Result)                             // is told of each check when it has ended; nil = nobody

	SimulatorLog io.Writer // what the simulator says; nil = Log
}

// Run makes all checks that apply. The error is of what keeps it from trying at all: no
// module, a wrong conformance.yaml, a simulator that does not start. What is wrong with
// the plugin is in the report. When ctx ends, so do the plugin and the simulator; what was
// not tried is reported as skipped.
func Run(ctx context.Context, o Options) (sdktest.Report, error) {
	if o.Wasm == "" {
		return sdktest.Report{}, errors.New("plugintest: Options.Wasm is empty; name a built module")
	}
	config, err := o.config()
	if err != nil {
		return sdktest.Report{}, err
	}
	if o.Cache == "" {
		if o.Cache, err = os.MkdirTemp("", "seer-plugin-test-"); err != nil {
			return sdktest.Report{}, err
		}
		defer os.RemoveAll(o.Cache)
	}
	r := &run{o: o, config: config, tell: o.Progress, report: sdktest.Report{Kit: sdktest.KitVersion, Seer: o.Seer, Time: time.Now().UTC().Truncate(time.Second)}}
	if r.tell == nil {
		r.tell = func(sdktest.Result) {}
	}
	err = r.all(ctx)
	return r.report, err
}

// run is one run of the kit.
type run struct {
	o      Options
	config Config
	tell   func(sdktest.Result)
	report sdktest.Report
	said   *listener

	answers *answers

	plugin  host.Plugin
	secrets map[string]string // name → value that was made up
	env     map[string]string
	world   *sdktest.World // nil = it needs none

	simulates bool // the simulator is also hosts and clusters
}

func (r *run) all(ctx context.Context) error {
	if !r.static() {
		return nil // nothing else can be tried
	}
	m := r.plugin.Manifest
	r.secrets = madeUp(m)
	r.said = newListener(r.o.Log, r.secrets)
	var err error
	if r.answers, err = newAnswers(); err != nil {
		return err
	}
	sim, err := r.backend(ctx)
	if err != nil {
		return err
	}
	defer sim.close()
	if r.env, err = r.config.values(m, sim.url, r.secrets); err != nil {
		return err
	}
	h, err := r.host(r.lookup)
	if err != nil {
		return err
	}
	defer h.Close(context.WithoutCancel(ctx))
	start := time.Now()
	if err := h.Compile(ctx, r.plugin); err != nil {
		if ctx.Err() == nil {
			r.add("static/compiles", start, err.Error(), nil)
		}
		return ctx.Err()
	}
	r.add("static/compiles", start, "", nil)
	r.contracts(ctx, h)
	r.scenarios(ctx)
	r.judge(r.answers, time.Now())
	r.resources(ctx)
	r.leaks("secrets/never-seen", h)
	if r.o.Live {
		return r.live(ctx)
	}
	return nil
}

// host is one with this plugin alone, and with everything that it asks for.
func (r *run) host(env func(string) (string, string, bool)) (*host.Host, error) {
	return r.hostWith(env, func(*host.Options) {})
}

func (r *run) hostWith(env func(string) (string, string, bool), change func(*host.Options)) (*host.Host, error) {
	dir, err := filepath.Abs(filepath.Dir(r.o.Wasm))
	if err != nil {
		return nil, err
	}
	options := host.Options{Dirs: []string{dir}, CacheDir: r.o.Cache, Logger: r.said.logger(), Env: env, Access: host.GrantAll, Version: r.o.Seer, Answer: r.answers.take}
	if r.world != nil {
		options.Transport = r.world
	}
	if r.simulates {
		s := simulated{&pretended{}, r.world}
		options.SSH, options.SSHHosts, options.Kube, options.KubeContexts = s, s, simulatedClusters{s}, usedContexts{s.pretended}
	}
	change(&options)
	return host.New(options)
}

// lookup gives the plugin the settings of the configuration and credentials that open
// nothing.
func (r *run) lookup(name string) (value, where string, ok bool) {
	value, ok = r.env[name]
	return value, ConfigFile, ok
}

// add notes a result: failed where there is something wrong.
func (r *run) add(check string, start time.Time, wrong string, note error) {
	result := sdktest.Result{Check: check, Status: sdktest.Passed, Detail: wrong, Seconds: time.Since(start).Seconds()}
	if wrong != "" {
		result.Status = sdktest.Failed
	} else if note != nil {
		result.Detail = note.Error()
	}
	r.note(result)
}

// note adds a result, unless its check was to be skipped.
func (r *run) note(result sdktest.Result) {
	if why, skip := r.config.skipped(result.Check); skip {
		result.Status, result.Detail = sdktest.Skipped, "not tried by "+ConfigFile+": "+why
	}
	r.report.Results = append(r.report.Results, result)
	r.tell(result)
}

func (r *run) skip(check, why string) {
	r.note(sdktest.Result{Check: check, Status: sdktest.Skipped, Detail: why})
}

// backend starts what the plugin speaks to.
func (r *run) backend(ctx context.Context) (*simulator, error) {
	if r.o.Replay != "" {
		recorded, err := sdktest.Replay(r.o.Replay, values(r.secrets)...)
		if err == nil {
			r.world = sdktest.NewWorld(recorded)
		}
		return &simulator{}, err
	}
	env := map[string]string{}
	for _, s := range r.plugin.Manifest.Secrets {
		for _, name := range s.Env {
			env[name] = r.secrets[s.Name]
		}
	}
	var log io.Writer = r.said
	if r.o.SimulatorLog != nil {
		log = r.o.SimulatorLog
	}
	sim, err := startSimulator(ctx, r.config.Simulator, r.o.folder(), env, log)
	if err != nil {
		return nil, err
	}
	p := r.plugin.Manifest.Permissions
	r.simulates = sim.url != "" && len(p.SSH)+len(p.Kube) > 0
	if sim.url == "" || len(p.HTTP) == 0 && !r.simulates {
		return sim, nil // gRPC goes past the world: there, nothing would go wrong
	}
	there, err := sdktest.Remote(sim.url)
	if err != nil {
		sim.close()
		return nil, fmt.Errorf("%s: %w", ConfigFile, err)
	}
	r.world = sdktest.NewWorld(there)
	return sim, nil
}
