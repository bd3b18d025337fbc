package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/image/registry"
)

// app is one invocation of seer: its streams, its global flags and the engine,
// which is only made when a command needs it.
type app struct {
	build build
	ui    *term.Terminal
	stop  *stopper

	jsonOut    bool
	quiet      bool
	verbose    bool
	noColor    bool
	logLevel   string
	stateDir   string
	pluginDirs []string
	lockDir    string // folder of the experiment, once that is known
	trust      trustFlags

	started bool // past the parsing of the command line
	make    func() (*engine.Engine, error)
	opened  *engine.Engine

	urlInArguments bool // for tests of attacks: the browser is given the URL itself
}

// build is what the linker has put into the program.
type build struct {
	version  string
	builtins string // digests of the plugins that come with it: id=sha256:…,…
}

func newApp(in, out, err *os.File, b build) *app {
	a := &app{build: b, ui: term.New(in, out, err), logLevel: "warn"}
	a.stop = newStopper(a.ui)
	a.make = sync.OnceValues(a.openEngine)
	return a
}

// run is the whole program, whose commands newRoot makes. It returns the exit code.
func (a *app) run(ctx context.Context, args []string, newRoot func(*app) *cobra.Command) int {
	ctx, release := a.stop.watch(ctx)
	defer release()
	root := newRoot(a)
	root.SetArgs(args)
	a.jsonOut = slices.Contains(beforeDash(args), "--json") // also for what cannot be parsed
	cmd, err := root.ExecuteContextC(ctx)
	if a.opened != nil {
		_ = a.opened.Close() // plugins only; there is nothing to save
	}
	a.ui.Finish()
	if err != nil && !a.started {
		err = asUsage(cmd, err)
	}
	if err == nil {
		err = a.ui.Lost()
	}
	err = inDeletedFolder(err)
	stopped := a.stop.signal()
	code := exitCode(err, stopped)
	if stopped != nil && kindOf(err) == engine.KindCancelled {
		err = &codeError{code: code, kind: string(engine.KindCancelled), err: errors.New(stopped.String())}
	}
	a.report(err, code)
	return code
}

// inDeletedFolder explains why nothing is found in a folder that somebody has removed.
func inDeletedFolder(err error) error {
	if !errors.Is(err, syscall.ENOENT) {
		return err
	}
	if _, gone := os.Getwd(); !errors.Is(gone, syscall.ENOENT) {
		return err
	}
	return &engine.Error{Kind: engine.KindNotFound, Err: errors.New("the folder in which you are no longer exists; go to another one")}
}

// beforeDash are the arguments that are seer's own.
func beforeDash(args []string) []string {
	if i := slices.Index(args, "--"); i >= 0 {
		return args[:i]
	}
	return args
}

// version is the program's.
func (a *app) version() string { return a.build.version }

// engine is made when a command first needs it.
func (a *app) engine() (*engine.Engine, error) { return a.make() }

func (a *app) openEngine() (*engine.Engine, error) {
	e, err := engine.New(engine.Options{
		StateDir: a.stateDir, PluginDirs: a.pluginDirs, LockDir: a.lockDir, BuiltinPlugins: parseBuiltins(a.build.builtins), Version: a.version(), Logger: a.logger(),
		Registry: registry.Open, Trust: a.askTrust,
	})
	a.opened = e
	if err == nil {
		a.endOverdue(e)
	}
	return e, err
}

// overdueTime is what a command gives to machines that should have ended long ago.
const overdueTime = 20 * time.Second

// endOverdue ends what goes on costing money past its end, whichever command is run.
func (a *app) endOverdue(e *engine.Engine) {
	ctx, cancel := context.WithTimeout(context.Background(), overdueTime)
	defer cancel()
	ended, err := e.EndOverdue(ctx)
	for _, i := range ended {
		a.ui.Tell("The sandbox %s was overdue: its machine at %s had not ended by itself. It has been ended.", i.ID, i.Provider)
	}
	if err != nil {
		a.logger().Warn("an overdue machine could not be ended", "error", err)
	}
}

// logger writes to stderr only: stdout is for results.
func (a *app) logger() hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name: "seer", Level: hclog.LevelFromString(a.logLevel), Output: a.ui.Stderr(),
		JSONFormat: a.jsonOut, DisableTime: !a.jsonOut,
	})
}

// globalFlags are those of every command. They must be parsed before [app.setUp].
func (a *app) globalFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.SortFlags = false
	f.BoolVar(&a.jsonOut, "json", false, "print one JSON value, or JSON lines where output streams")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "no progress; warnings and results only")
	f.BoolVar(&a.verbose, "verbose", false, "at a terminal, too, print each line of what installers say")
	f.BoolVar(&a.noColor, "no-color", false, "no colours (also: NO_COLOR in the environment)")
	f.StringVar(&a.logLevel, "log-level", "warn", "trace, debug, info, warn, error or off; logs go to stderr")
	f.StringVar(&a.stateDir, "state-dir", "", "`folder` of Seer's records (default $XDG_STATE_HOME/seer)")
	f.StringArrayVar(&a.pluginDirs, "plugin-dir", nil, "`folder` to look for plugins in first; may be repeated")
	_ = root.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions(
		[]string{"trace", "debug", "info", "warn", "error", "off"}, cobra.ShellCompDirectiveNoFileComp))
}

// setUp settles what the global flags say, before any command runs.
func (a *app) setUp() error {
	if hclog.LevelFromString(a.logLevel) == hclog.NoLevel {
		return usagef("--log-level %q is not known; use trace, debug, info, warn, error or off", a.logLevel)
	}
	for _, dir := range a.pluginDirs {
		if strings.TrimSpace(dir) == "" {
			return usagef("--plugin-dir needs a folder")
		}
	}
	a.ui.Configure(term.Options{JSON: a.jsonOut, Quiet: a.quiet, Verbose: a.verbose, NoColor: a.noColor})
	a.started = true
	return nil
}

// open finds a live sandbox.
func (a *app) open(ctx context.Context, ref string) (*engine.Sandbox, error) {
	e, err := a.engine()
	if err != nil {
		return nil, err
	}
	return e.Open(ctx, ref)
}

// declined ends the program after somebody was asked and said no. That is no error, but
// what was to be done was not.
func (a *app) declined(text string) error {
	a.ui.Tell("%s", text)
	return &codeError{code: exitPlugin, kind: string(engine.KindPlugin)}
}

// parseBuiltins reads the digests of plugins, by their IDs. What is no pair is nobody's plugin.
func parseBuiltins(list string) map[string]string {
	known := map[string]string{}
	for _, pair := range strings.Split(list, ",") {
		if id, digest, ok := strings.Cut(pair, "="); ok && id != "" && digest != "" {
			known[id] = digest
		}
	}
	return known
}
