package plugincmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/enginetest/plugintest"
	"github.com/seer-engine/seer/engine/hosts"
	"github.com/seer-engine/seer/engine/paths"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/scaffold"
	"github.com/seer-engine/seer/engine/sanitize"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk/sdktest"
)

// trial is one `seer plugin test`.
type trial struct {
	plugintest.Options
	maxCost float64
	report  string // file for the report
	verbose bool

	simulator bool // of a finished module: its command may be run
}

func newPluginTest(a app) *cobra.Command {
	var t trial
	c := &cobra.Command{
		Use:   "test [DIR | FILE.wasm]",
		Short: "Test a plugin against its contract and hostile answers",
		Long: `Build the plugin in DIR (default: here), or take a built module, and test it in the
real host. The kit checks the files, the promises of the contract, answers that are
wrong, slow, endless or malicious, and the memory and time that the plugin needs. No
account is needed: conformance.yaml beside plugin.yaml names a simulator of the backend,
which Seer starts and ends. Seer asks before it runs one that is beside a built module.

The report goes to ID.conformance.json beside the module, and seer plugin push includes
it. With --live, the kit also uses the real backend. --max-cost is a hard limit, and
Seer ends every machine that it rented, even after Ctrl-C.`,
		Example: `  seer plugin test
  seer plugin test --quick ./provider-tiny
  seer plugin test --live --max-cost 0.50
  seer plugin test --live --max-cost 0.50 --record testdata/traffic
  seer plugin test --replay testdata/traffic`,
		Args: cli.Args(0, 1, "at most a folder or a module"),
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := t.check(); err != nil {
				return err
			}
			return a.pluginTest(cmd.Context(), folderArg(given), t)
		},
	}
	f := c.Flags()
	f.BoolVar(&t.Quick, "quick", false, "leave out long tests")
	f.BoolVar(&t.Live, "live", false, "also rent a machine of the real backend")
	f.Float64Var(&t.maxCost, "max-cost", 0, "with --live: spend at most this many `dollars`")
	f.StringVar(&t.Record, "record", "", "with --live: record the traffic in this `folder`, without credentials")
	f.StringVar(&t.Replay, "replay", "", "answer from the traffic in this `folder`")
	f.BoolVar(&t.simulator, "simulator", false, "with FILE.wasm: run the simulator that conformance.yaml beside it names, without asking")
	f.StringVar(&t.report, "report", "", "`file` for the report (default: beside the module)")
	f.BoolVar(&t.verbose, "verbose", false, "show the output of the plugin and the simulator")
	return c
}

func (t trial) check() error {
	switch {
	case t.Live && t.maxCost <= 0:
		return cli.Usagef("--live needs --max-cost: the most that the test may spend, in dollars")
	case !t.Live && (t.maxCost > 0 || t.Record != ""):
		return cli.Usagef("--max-cost and --record go with --live")
	case t.Live && t.Replay != "":
		return cli.Usagef("--live and --replay exclude each other")
	}
	return nil
}

func (a app) pluginTest(ctx context.Context, what string, t trial) error {
	if err := a.module(ctx, what, &t.Options); err != nil {
		return err
	}
	if err := a.confirmSimulator(ctx, t); err != nil {
		return err
	}
	if err := t.limit(); err != nil {
		return err
	}
	t.Seer, t.Env = a.Version(), environment
	if t.Live {
		remote, err := a.reach()
		if err != nil {
			return err
		}
		defer remote.Close()
		t.Reach = func(o *host.Options) { o.SSH, o.Kube = remote, remote.Kube() }
	}
	if t.verbose && !a.JSON {
		t.Log = a.UI.Screen(a.UI.Err)
		log := term.NewPrefixWriter(t.Log, "simulator: ")
		defer func() { _ = log.Flush() }() // the report is told either way
		t.SimulatorLog = log
	}
	t.Progress = func(r sdktest.Result) {
		if r.Status == sdktest.Failed || t.verbose { // what was left out stands in the report, once for each reason
			a.UI.Tell("%-8s%s", r.Status, r.Check)
		}
	}
	report, err := plugintest.Run(ctx, t.Options)
	if err != nil {
		return authorError(err)
	}
	if err := a.writeReport(t, report); err != nil {
		return err
	}
	if err := a.Print(report, func(w io.Writer) error { return plugintest.Text(w, report) }); err != nil {
		return err
	}
	if n := report.Count(sdktest.Failed); n > 0 {
		return &engine.Error{Kind: engine.KindPlugin, Err: fmt.Errorf("%s %s failed %d of %d checks", report.Plugin, report.Version, n, len(report.Results))}
	}
	return nil
}

// reach opens the hosts and clusters of the user.
func (a app) reach() (*hosts.Hosts, error) {
	store, err := state.Open(state.Options{StateDir: a.StateDir, Getenv: os.Getenv})
	if err != nil {
		return nil, err
	}
	where, err := paths.New(paths.Options{Getenv: os.Getenv})
	if err != nil {
		return nil, err
	}
	return hosts.Open(store, where.Artifacts, a.UI.CanAsk()), nil
}

// module is what is tried: a finished one, or one that is built now.
func (a app) module(ctx context.Context, what string, o *plugintest.Options) error {
	if strings.HasSuffix(what, ".wasm") {
		o.Wasm = what
		_, err := os.Stat(what)
		return authorError(err)
	}
	built, err := a.pluginBuild(ctx, scaffold.BuildOptions{Dir: what})
	o.Wasm, o.Folder = built.Wasm, what
	return err
}

// confirmSimulator asks before a program is run that came with somebody's module: trying a
// plugin should do no more than running it. In a source folder, the build runs programs
// of the folder's anyway.
func (a app) confirmSimulator(ctx context.Context, t trial) error {
	if t.Folder != "" || t.simulator || t.Replay != "" {
		return nil
	}
	config, err := t.config()
	if err != nil || len(config.Simulator.Command) == 0 {
		return err
	}
	if !a.JSON {
		fmt.Fprintf(a.UI.Stderr(), "%s beside the module names a simulator, a program of this computer: %s\n", plugintest.ConfigFile, sanitize.Line(fmt.Sprintf("%q", config.Simulator.Command)))
	}
	yes, err := a.UI.Confirm(ctx, "Run it?")
	if errors.Is(err, term.ErrNotATerminal) || err == nil && !yes {
		return cli.Usagef("the simulator beside the module was not run; --simulator runs it, or move the module away from its %s", plugintest.ConfigFile)
	}
	return err
}

// config is conformance.yaml, or the empty one.
func (t trial) config() (plugintest.Config, error) {
	folder := t.Folder
	if folder == "" {
		folder = filepath.Dir(t.Wasm)
	}
	file := filepath.Join(folder, plugintest.ConfigFile)
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return plugintest.Config{}, nil
	}
	if err != nil {
		return plugintest.Config{}, err
	}
	config, err := plugintest.ParseConfig(file, text)
	return config, authorError(err)
}

// limit lets the command line decide what may be spent.
func (t *trial) limit() error {
	if !t.Live {
		return nil
	}
	config, err := t.config()
	if err != nil {
		return err
	}
	config.Live.MaxCost = t.maxCost
	t.Config = &config
	return nil
}

// writeReport writes the report where it goes with the plugin. A quick one is no proof.
func (a app) writeReport(t trial, report sdktest.Report) error {
	file := t.report
	if file == "" {
		if t.Quick {
			return nil
		}
		file = strings.TrimSuffix(t.Wasm, ".wasm") + ".conformance.json"
	}
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return state.WriteFile(file, append(text, '\n'), 0o644) // a link in its place is replaced, not followed
}

func environment(name string) (value, where string, ok bool) {
	value, ok = os.LookupEnv(name)
	return value, "environment", ok
}
