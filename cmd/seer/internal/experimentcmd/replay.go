package experimentcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/record"
	"github.com/seer-engine/seer/engine/run"
	"github.com/seer-engine/seer/engine/sanitize"
)

type replayFlags struct {
	set                []string
	outputs, out, mode string
	isolation          string
}

func newReplay(a app) *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay RUN [FILE] [-- COMMAND…]",
		Short: "Run an agent again, with the recorded answers of a run",
		Long: `Run the agent of a run again. Its functions answer from the record in RUN, the folder of
the run: no machine, no GPU, no cost. A call gets the answer that a call with
exactly the same arguments got in the run, and fails if the run made no such call.

The experiment is the run's own, or FILE. FILE is required unless you made the run on
this computer. COMMAND replaces the agent and can read the files of the workspace.
Results go to replay/ in RUN.

Seer confines the agent whatever the experiment says. Only --isolation none runs it as an
ordinary process.

With --out, Seer runs no agent. It writes the files with which an agent calls the
functions to a folder, as seer serve does, and answers until Ctrl-C.`,
		Example: `  seer replay runs/latest
  seer replay runs/latest --set workspace.files='[analysis.py]' -- python3 analysis.py
  seer replay runs/latest --out /tmp/tools --as mcp`,
		Args: func(cmd *cobra.Command, given []string) error {
			before := len(given)
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				before = dash
			}
			if before < 1 || before > 2 {
				return cli.Usagef("seer replay needs the folder of a run: %s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, given []string) error {
			var command []string
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				given, command = given[:dash], given[dash:]
			}
			if f.out != "" {
				return a.stage(cmd.Context(), given[0], f)
			}
			file := ""
			if len(given) > 1 {
				file = given[1]
			}
			return a.replay(cmd.Context(), given[0], file, command, f)
		},
	}
	cli.AddSet(c, &f.set)
	a.AddTrust(c)
	c.Flags().StringVar(&f.outputs, "outputs", "", "the `DIR` for the results (default RUN/replay)")
	c.Flags().StringVar(&f.isolation, "isolation", "", "isolation of the agent, in place of agent.isolation: auto, bubblewrap, gvisor;\nnone runs it as an ordinary process")
	_ = c.RegisterFlagCompletionFunc("isolation", cobra.FixedCompletions([]string{"auto", "bubblewrap", "gvisor", "none"}, cobra.ShellCompDirectiveNoFileComp))
	c.Flags().StringVar(&f.out, "out", "", "run no agent; write the files that one needs to `DIR`, and answer until Ctrl-C")
	c.Flags().StringVar(&f.mode, "as", "library", "with --out: library, mcp, prompt, or a plugin's `MODE`")
	_ = c.RegisterFlagCompletionFunc("as", a.CompleteMode)
	return c
}

// openRecord finds the record in the folder of a run.
func openRecord(dir string) (*record.Folder, error) {
	f, err := run.Recorded(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if itself, err := record.Open(dir); err == nil {
			return itself, nil
		}
	}
	if err != nil {
		return nil, &cli.ExitError{Code: cli.ExitNotFound, Kind: "not_found", Err: err}
	}
	return f, nil
}

func (a app) replay(ctx context.Context, dir, file string, command []string, f replayFlags) error {
	folder, err := openRecord(dir)
	if err != nil {
		return err
	}
	if file == "" {
		if file, err = a.experimentOf(dir); err != nil {
			return err
		}
	}
	exp, err := a.LoadExperiment(ctx, file, f.set)
	if err != nil {
		return err
	}
	if len(command) > 0 && exp.Agent != nil {
		exp.Agent.Command = command
	}
	if f.outputs == "" {
		f.outputs = filepath.Join(dir, "replay")
	}
	if exp.Outputs, err = filepath.Abs(f.outputs); err != nil {
		return err
	}
	a.Stop.SetCleanup("asking the agent to end and collecting its results")
	return a.agentWork(run.Options{Isolation: f.isolation}, func(e *engine.Engine, o run.Options) (run.Result, error) {
		return run.Replay(ctx, e, exp, folder, o)
	})
}

// experimentOf is the file that a run was made from.
func (a app) experimentOf(dir string) (string, error) {
	// Not a.engine: which plugins that one has is decided by the experiment's folder.
	e, err := engine.New(engine.Options{StateDir: a.StateDir, Version: a.Version()})
	if err != nil {
		return "", err
	}
	defer e.Close()
	file, err := run.ExperimentOf(e, dir)
	if errors.Is(err, run.ErrNoFile) {
		return "", cli.Usagef("%w; name it: seer replay %s FILE", err, term.ShellQuoted(dir))
	}
	if err != nil {
		return "", fmt.Errorf("%w: seer replay %s FILE", err, term.ShellQuoted(dir))
	}
	return file, nil
}

// stage answers from a record until ctx ends.
func (a app) stage(ctx context.Context, dir string, f replayFlags) error {
	folder, err := openRecord(dir)
	if err != nil {
		return err
	}
	e, err := a.Engine()
	if err != nil {
		return err
	}
	stage, err := run.OpenStage(e, folder)
	if err != nil {
		return err
	}
	defer stage.Close()
	names := stage.Services()
	slices.Sort(names)
	files, err := writeSurfaces(ctx, e, stage, names, f)
	if err != nil {
		return err
	}
	err = a.Print(map[string]any{"services": names, "files": files}, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, sanitize.Text(strings.Join(files, "\n")))
		return err
	})
	if err != nil {
		return err
	}
	a.UI.Tell("Answering for %s from %s until Ctrl-C", strings.Join(names, ", "), folder.Dir())
	<-ctx.Done()
	return nil
}

// writeSurfaces writes what an agent calls the services with, and returns the files.
func writeSurfaces(ctx context.Context, e *engine.Engine, stage *run.Stage, names []string, f replayFlags) ([]string, error) {
	records, err := e.SurfaceRecords()
	if err != nil {
		return nil, err
	}
	files := []string{}
	for _, name := range names {
		v, err := stage.Service(name)
		if err != nil {
			return nil, err
		}
		made, err := v.Expose(ctx, f.mode, nil)
		if err != nil {
			return nil, err
		}
		w, err := cli.WriteSurface(ctx, f.out, made, v, records)
		if err != nil {
			return nil, err
		}
		files = append(files, w.Files...)
	}
	return files, nil
}
