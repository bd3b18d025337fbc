// Package cli has what all commands of seer share: the application with its streams, flags
// and engine, exit codes and errors, completions, and how results are printed.
package cli

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

// App is one invocation of seer: its streams, its global flags and the engine,
// which is only made when a command needs it.
type App struct {
	UI   *term.Terminal
	Stop *Stopper

	JSON     bool // print JSON, and nothing else on stdout
	Quiet    bool
	StateDir string
	LockDir  string // folder of the experiment, once that is known

	build      Build
	verbose    bool
	noColor    bool
	logLevel   string
	pluginDirs []string
	trust      trustFlags

	started bool // past the parsing of the command line
	make    func() (*engine.Engine, error)
	opened  *engine.Engine
}

// Build is what the linker has put into the program.
type Build struct {
	Version  string
	Builtins string // digests of the plugins that come with it: id=sha256:…,…
}

// New makes the application for these streams.
func New(in, out, err *os.File, b Build) *App {
	a := &App{build: b, UI: term.New(in, out, err), logLevel: "warn"}
	a.Stop = newStopper(a.UI)
	a.make = sync.OnceValues(func() (*engine.Engine, error) { return a.openEngine(func(*engine.Options) {}) })
	return a
}

// Run is the whole program, whose commands newRoot makes. It returns the exit code.
func (a *App) Run(ctx context.Context, args []string, newRoot func(*App) *cobra.Command) int {
	ctx, release := a.Stop.watch(ctx)
	defer release()
	root := newRoot(a)
	root.SetArgs(args)
	a.JSON = slices.Contains(ownArguments(args), "--json") // also for what cannot be parsed
	cmd, err := root.ExecuteContextC(ctx)
	if a.opened != nil {
		_ = a.opened.Close() // plugins only; there is nothing to save
	}
	a.UI.Finish()
	if err != nil && !a.started {
		err = asUsage(cmd, err)
	}
	if err == nil {
		err = a.UI.WriteError()
	}
	err = explainDeletedFolder(err)
	stopped := a.Stop.Signal()
	code := ExitCode(err, stopped)
	if stopped != nil && KindOf(err) == engine.KindCancelled {
		err = &ExitError{Code: code, Kind: string(engine.KindCancelled), Err: errors.New(stopped.String())}
	}
	a.Report(err, code)
	return code
}

// explainDeletedFolder explains why nothing is found in a folder that somebody has removed.
func explainDeletedFolder(err error) error {
	if !errors.Is(err, syscall.ENOENT) {
		return err
	}
	if _, gone := os.Getwd(); !errors.Is(gone, syscall.ENOENT) {
		return err
	}
	return &engine.Error{Kind: engine.KindNotFound, Err: errors.New("the current folder no longer exists; change to another one")}
}

// ownArguments are the arguments that are seer's own.
func ownArguments(args []string) []string {
	if i := slices.Index(args, "--"); i >= 0 {
		return args[:i]
	}
	return args
}

// Version is the program's.
func (a *App) Version() string { return a.build.Version }

// Engine is made when a command first needs it.
func (a *App) Engine() (*engine.Engine, error) { return a.make() }

// EngineWith makes an engine for one command, with other options. It takes the place of that of
// [App.Engine], which the command must not use.
func (a *App) EngineWith(change func(*engine.Options)) (*engine.Engine, error) {
	a.make = sync.OnceValues(func() (*engine.Engine, error) { return a.openEngine(change) })
	return a.make()
}

func (a *App) openEngine(change func(*engine.Options)) (*engine.Engine, error) {
	o := engine.Options{
		StateDir: a.StateDir, PluginDirs: a.pluginDirs, LockDir: a.LockDir, BuiltinPlugins: parseBuiltins(a.build.Builtins), Version: a.Version(), Logger: a.Logger(),
		Registry: registry.Open, Trust: a.askTrust, Interactive: a.UI.CanAsk(),
	}
	change(&o)
	e, err := engine.New(o)
	a.opened = e
	if err == nil {
		a.endOverdue(e)
	}
	return e, err
}

// overdueTime is what a command gives to machines that should have ended long ago.
const overdueTime = 20 * time.Second

// endOverdue ends what goes on costing money past its end, whichever command is run.
func (a *App) endOverdue(e *engine.Engine) {
	ctx, cancel := context.WithTimeout(context.Background(), overdueTime)
	defer cancel()
	ended, err := e.EndOverdue(ctx)
	for _, i := range ended {
		a.UI.Tell("The sandbox %s was overdue: its machine at %s had not ended by itself. It has been ended.", i.ID, i.Provider)
	}
	if err != nil {
		a.Logger().Warn("an overdue machine could not be ended", "error", err)
	}
}

// Logger writes to stderr only: stdout is for results.
func (a *App) Logger() hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name: "seer", Level: hclog.LevelFromString(a.logLevel), Output: a.UI.Stderr(),
		JSONFormat: a.JSON, DisableTime: !a.JSON,
	})
}

// GlobalFlags are those of every command. They must be parsed before [App.SetUp].
func (a *App) GlobalFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.SortFlags = false
	f.BoolVar(&a.JSON, "json", false, "print one JSON value, or JSON lines if the output streams")
	f.BoolVarP(&a.Quiet, "quiet", "q", false, "no progress; warnings and results only")
	f.BoolVar(&a.verbose, "verbose", false, "print every line of installers, on a terminal, too")
	f.BoolVar(&a.noColor, "no-color", false, "no colours (also: NO_COLOR in the environment)")
	f.StringVar(&a.logLevel, "log-level", "warn", "trace, debug, info, warn, error or off; logs go to stderr")
	f.StringVar(&a.StateDir, "state-dir", "", "`folder` of Seer's records (default $XDG_STATE_HOME/seer)")
	f.StringArrayVar(&a.pluginDirs, "plugin-dir", nil, "look for plugins in this `folder` first; may be repeated")
	_ = root.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions(
		[]string{"trace", "debug", "info", "warn", "error", "off"}, cobra.ShellCompDirectiveNoFileComp))
}

// SetUp settles what the global flags say, before any command runs.
func (a *App) SetUp() error {
	if hclog.LevelFromString(a.logLevel) == hclog.NoLevel {
		return Usagef("--log-level %q is not known; use trace, debug, info, warn, error or off", a.logLevel)
	}
	for _, dir := range a.pluginDirs {
		if strings.TrimSpace(dir) == "" {
			return Usagef("--plugin-dir needs a folder")
		}
	}
	a.UI.Configure(term.Options{JSON: a.JSON, Quiet: a.Quiet, Verbose: a.verbose, NoColor: a.noColor, Hints: eventHints, Text: AsTyped})
	a.started = true
	return nil
}

// Open finds a live sandbox.
func (a *App) Open(ctx context.Context, ref string) (*engine.Sandbox, error) {
	e, err := a.Engine()
	if err != nil {
		return nil, err
	}
	return e.Open(ctx, ref)
}

// Declined ends the program after somebody was asked and said no. That is no error, but
// what was to be done was not.
func (a *App) Declined(text string) error {
	a.UI.Tell("%s", text)
	return &ExitError{Code: ExitPlugin, Kind: string(engine.KindPlugin)}
}

// ConfirmRemoval asks whether what was listed is to be removed. The program ends if the
// answer is no.
func (a *App) ConfirmRemoval(ctx context.Context) (bool, error) {
	agreed, err := a.UI.Confirm(ctx, "Remove this?")
	if errors.Is(err, term.ErrNotATerminal) {
		return false, Usagef("%w; add --yes to remove without a question", err)
	}
	if err == nil && !agreed {
		err = a.Declined("Nothing is removed.")
	}
	return agreed, err
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
