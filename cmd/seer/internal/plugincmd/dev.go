package plugincmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine/enginetest/plugintest"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/scaffold"
	"github.com/seer-engine/seer/engine/plugin/store"
	"github.com/seer-engine/seer/sdk/sdktest"
)

func newPluginDev(a app) *cobra.Command {
	var o scaffold.BuildOptions
	var untested bool
	c := &cobra.Command{
		Use:   "dev [DIR]",
		Short: "Build and test a plugin at every save, and show its logs",
		Long: `Build the plugin in DIR (default: here) now and at every save, run the quick tests of
the conformance kit on each build, and show what the plugin logs, until Ctrl-C. Seer
asks once whether to grant what the manifest asks for. If a later build asks for more,
Seer shows it and does not use that build until you grant it.`,
		Example: "  seer plugin dev\n  seer plugin dev ./provider-tiny --no-test",
		Args:    cli.Args(0, 1, "at most a folder"),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.Dir = folderArg(given)
			return a.pluginDev(cmd.Context(), o, untested)
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	}
	c.Flags().StringVar(&o.Out, "out", "", "`folder` for the two files (default: dist in DIR)")
	c.Flags().BoolVar(&untested, "no-test", false, "build only")
	return c
}

// development is what lasts from one build to the next.
type development struct {
	app      app
	store    *store.Store
	folder   string // of the source
	untested bool
	asked    bool // the author was asked already
}

func (a app) pluginDev(ctx context.Context, o scaffold.BuildOptions, untested bool) error {
	s, err := a.pluginStore()
	if err != nil {
		return err
	}
	if !a.JSON {
		o.Output = a.UI.Stderr()
	}
	d := &development{app: a, store: s, folder: o.Dir, untested: untested}
	err = scaffold.Watch(ctx, o, func(built scaffold.Result, err error) { d.built(ctx, built, err) })
	return authorError(err)
}

// attempt is a build under --json. Passed and Failed are there where it was tried.
type attempt struct {
	Built  *scaffold.Result `json:"built"` // nil = it does not build
	Error  string           `json:"error,omitempty"`
	Passed *int             `json:"passed,omitempty"`
	Failed *int             `json:"failed,omitempty"`
}

// built is told of every build.
func (d *development) built(ctx context.Context, built scaffold.Result, err error) {
	ui := d.app.UI
	one := attempt{Built: &built}
	defer func() {
		if d.app.JSON && ctx.Err() == nil {
			_ = d.app.PrintJSON(one) // nobody reads it any more: Ctrl-C will come
		}
	}()
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		one = attempt{Error: cli.Text(err)}
		ui.Note("error", cli.Text(err))
		return
	}
	ui.Tell("%s built %s %s: %s in %s, in %s", term.Clock(time.Now()), built.Manifest.ID, built.Manifest.Version, term.BinarySize(built.Size),
		built.Took.Round(10*time.Millisecond), built.Wasm)
	d.app.tellRemoved(built)
	if err := d.grant(ctx, built.Wasm); err != nil {
		ui.Note("warning", cli.Text(err))
	}
	if !d.untested {
		d.try(ctx, built, &one)
	}
}

// grant sees that the folder has the grant that this build needs, and asks once.
func (d *development) grant(ctx context.Context, wasm string) error {
	p, err := host.Inspect(wasm)
	if err != nil || len(p.Access) == 0 {
		return err
	}
	_, err = d.store.Decide(ctx, p)
	if err == nil {
		return nil
	}
	dir := filepath.Dir(wasm)
	allow := "to allow it: seer plugin grant --folder " + term.ShellQuoted(dir)
	lines, new := p.Access, ""
	var more *store.MoreError
	if errors.As(err, &more) {
		lines, new = more.Lines, "+ "
	}
	if d.asked && more != nil {
		return fmt.Errorf("this build asks for more than you have granted, and is not used:\n%s%s", permissionLines(p, lines, new), allow)
	}
	if d.asked {
		return errors.New("not granted; " + allow)
	}
	d.asked = true
	if !d.app.JSON {
		fmt.Fprintf(d.app.UI.Stderr(), "%s %s asks for this%s:\n%s", p.Manifest.ID, p.Manifest.Version, map[bool]string{true: ", beyond what you have granted"}[more != nil], permissionLines(p, lines, new))
	}
	yes, err := d.app.UI.Confirm(ctx, "Allow this to whatever is built here?")
	if errors.Is(err, term.ErrNotATerminal) || err == nil && !yes {
		return errors.New("not granted; " + allow)
	}
	if err != nil {
		return err
	}
	return d.store.GrantFolder(ctx, store.FolderGrant{Dir: dir, ID: p.Manifest.ID, Asked: p.Access, Lines: p.Access, By: "you"})
}

// try runs the quick checks.
func (d *development) try(ctx context.Context, built scaffold.Result, one *attempt) {
	ui := d.app.UI
	ui.Report(event.PluginTrying{})
	said := ui.Stderr()
	if d.app.JSON {
		said = io.Discard
	}
	log := term.NewPrefixWriter(said, "simulator: ")
	report, err := plugintest.Run(ctx, plugintest.Options{
		Wasm: built.Wasm, Folder: d.folder, Quick: true, Seer: d.app.Version(), Log: said, SimulatorLog: log,
		Progress: func(r sdktest.Result) {
			if r.Status == sdktest.Failed && ctx.Err() == nil {
				ui.Note("failed", r.Check+": "+r.Detail)
			}
			if ui.HasLiveLine() { // in a log, every check would be a line
				ui.Report(event.PluginTrying{Check: r.Check})
			}
		},
	})
	_ = log.Flush() // the result is told either way
	ui.Hide()
	switch {
	case ctx.Err() != nil:
	case err != nil:
		one.Error = cli.Text(err)
		ui.Note("error", cli.Text(err))
	default:
		passed, failed := report.Count(sdktest.Passed), report.Count(sdktest.Failed)
		one.Passed, one.Failed = &passed, &failed
		ui.Tell("%d passed, %d failed", passed, failed)
	}
}
