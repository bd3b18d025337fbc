package sandboxcmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
)

func newUp(a app) *cobra.Command {
	var set []string
	var o engine.UpOptions
	var noServe bool
	c := &cobra.Command{
		Use:   "up FILE",
		Short: "Start a sandbox that stays",
		Long: `Start the sandbox of an experiment: machine, models, files, variables, secrets. Then
load the interfaces that the file names under serve. No agent runs; see run. The sandbox
outlives this command. You can use it from any terminal until seer down or its timeout
ends it. If an interface does not load, the sandbox stays: fix the file and serve it
with seer serve.

The ID goes to stdout.`,
		Example: `  seer up seer.yaml --name lab
  seer up seer.yaml --snapshot after-setup
  seer up seer.yaml --max-wait 2h   # until a GPU is free
  id=$(seer up seer.yaml --quiet)
  seer up seer.yaml --json | jq -r '.endpoints[0].url'`,
		Args:              cli.Args(1, 1, "the experiment FILE"),
		ValidArgsFunction: cli.CompleteExperiment,
		RunE: func(cmd *cobra.Command, given []string) error {
			for _, flag := range []string{"name", "snapshot"} {
				if f := cmd.Flags().Lookup(flag); f.Changed && f.Value.String() == "" {
					return cli.Usagef("--%s is empty; give a name, or leave the flag out", flag)
				}
			}
			if err := machine.CheckName(o.Name); err != nil {
				return cli.Usagef("--name: %w", err)
			}
			return a.up(cmd.Context(), given[0], set, o, !noServe)
		},
	}
	cli.AddSet(c, &set)
	cli.AddUnguarded(c, &o.CheckOptions)
	cli.AddWait(c, &o.CheckOptions)
	a.AddTrust(c)
	c.Flags().StringVar(&o.Snapshot, "snapshot", "", "start from the files of snapshot `NAME`")
	_ = c.RegisterFlagCompletionFunc("snapshot", a.CompleteSnapshot)
	c.Flags().BoolVar(&noServe, "no-serve", false, "load no interfaces; seer serve does it later")
	c.Flags().StringVar(&o.Name, "name", "", "another `name` for the sandbox; two live sandboxes cannot share one")
	return c
}

func (a app) up(ctx context.Context, file string, set []string, o engine.UpOptions, serve bool) error {
	exp, err := a.LoadExperiment(ctx, file, set)
	if err != nil {
		return err
	}
	e, err := a.Engine()
	if err != nil {
		return err
	}
	a.Stop.SetCleanup("ending what was started")
	o.Progress = a.UI.Progress
	s, err := e.Up(ctx, exp, o)
	if err != nil {
		return err
	}
	defer s.Close()
	a.Stop.SetCleanup("")
	info, err := s.Info(ctx)
	if err != nil {
		return err
	}
	h, err := s.Environment(ctx)
	if err != nil {
		return err
	}
	var unserved error
	if serve {
		if unserved = a.serveAll(ctx, s, exp); unserved == nil && len(exp.Serve) > 0 {
			if info, err = s.Info(ctx); err != nil {
				return err
			}
		}
	}
	err = a.Print(info, func(io.Writer) error {
		ref := info.ID
		if info.Name != "" {
			ref = info.Name
		}
		if err := a.Println(info.ID); err != nil {
			return err
		}
		a.UI.Tell("%s until %s. Now: %s, or: seer down %s", location(info), term.Clock(info.Lease.Ends), nextStep(info.ExecutionMode, ref, h.JupyterURL), ref)
		return nil
	})
	return errors.Join(err, unserved)
}

// serveAll loads the interfaces of the experiment.
func (a app) serveAll(ctx context.Context, s *engine.Sandbox, exp *experiment.Experiment) error {
	for _, spec := range exp.Serve {
		o := engine.ServeOptionsOf(spec)
		o.Progress, o.Record = a.UI.Progress, !exp.NoRecord
		if _, err := s.Serve(ctx, o); err != nil {
			return fmt.Errorf("%w (the sandbox %s runs: fix the file, then seer serve it, or seer down)", exp.Explain(err), s.ID())
		}
	}
	return nil
}

// nextStep is what one does with a sandbox of this kind, whose Jupyter is at url.
func nextStep(mode, ref, url string) string {
	switch mode {
	case experiment.ModeNotebook:
		return fmt.Sprintf("%s, an agent's tools: seer mcp --notebook %s", pageCommand("jupyter", url, ref), ref)
	case experiment.ModeCLI:
		return fmt.Sprintf("seer shell %s, an agent's tools: seer mcp --shell %s", ref, ref)
	}
	return fmt.Sprintf("seer exec %s -- ls -la", ref)
}
