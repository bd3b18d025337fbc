package experimentcmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/run"
)

func newRun(a app) *cobra.Command {
	var set []string
	var o run.Options
	c := &cobra.Command{
		Use:   "run FILE",
		Short: "Run an experiment: sandbox, functions, agent, results",
		Long: `Start the sandbox of an experiment, serve its interfaces, and run its agent in a
workspace from which it sees nothing else of this computer. Then collect the agent's
results and end the sandbox.

Each run makes a folder in runs/, beside FILE, with its log, its record and the agent's
results in outputs/. The link runs/latest leads to the newest one.

Before the first run, Seer shows what the experiment does beyond its folder and its
confinement, and asks you to confirm it; in scripts, use --trust or --yes.

With --in, the run uses a sandbox of seer up in place of a new one. Functions of the same
code keep what they have loaded.

The first Ctrl-C stops cleanly: Seer asks the agent to end, collects the results and
ends the sandbox. On a terminal, it first asks whether to keep the sandbox. The second
Ctrl-C stops at once, and the sandbox ends with its lease.

The exit code is 11 if the agent fails, and 15 if nobody has confirmed the experiment.`,
		Example: `  seer run seer.yaml
  seer run seer.yaml --set sandbox.timeout=2h --set sandbox.network=open
  seer run seer.yaml --keep      # look around in it afterwards
  seer run seer.yaml --in lab    # in a sandbox that has its models loaded`,
		Args: cli.Args(1, 1, "the experiment FILE"),
		RunE: func(cmd *cobra.Command, given []string) error {
			return a.runExperiment(cmd.Context(), given[0], set, o)
		},
		ValidArgsFunction: cli.CompleteExperiment,
	}
	cli.AddSet(c, &set)
	cli.AddUnguarded(c, &o.Check)
	cli.AddWait(c, &o.Check)
	a.AddTrust(c)
	c.Flags().BoolVar(&o.Keep, "keep", false, "keep the sandbox after the agent has ended, until seer down or its timeout")
	c.Flags().StringVar(&o.In, "in", "", "use the running `SANDBOX`, with the functions and models that it has loaded,\nand leave it as it is")
	_ = c.RegisterFlagCompletionFunc("in", func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return a.CompleteSandbox(cmd, nil, begun)
	})
	return c
}

func (a app) runExperiment(ctx context.Context, file string, set []string, o run.Options) error {
	exp, err := a.LoadExperiment(ctx, file, set)
	if err != nil {
		return err
	}
	a.Stop.SetCleanup("asking the agent to end, collecting its results and ending the sandbox")
	o.AskKeep = a.askKeep
	return a.agentWork(o, func(e *engine.Engine, o run.Options) (run.Result, error) {
		return run.Run(ctx, e, exp, o)
	})
}

// askKeep asks whether a run that was stopped leaves its sandbox. Silence is no.
func (a app) askKeep(ctx context.Context, sandbox string) bool {
	yes, err := a.UI.Confirm(ctx, "Keep the sandbox "+sandbox+"?")
	return err == nil && yes
}

// agentWork lets an agent run, with its output as it comes, and tells what came of it.
func (a app) agentWork(o run.Options, work func(*engine.Engine, run.Options) (run.Result, error)) error {
	e, err := a.Engine()
	if err != nil {
		return err
	}
	if o.Seer, err = os.Executable(); err != nil {
		return err
	}
	stdout, stderr, end := a.Streams()
	o.Stdout, o.Stderr, o.Progress, o.Version = stdout, stderr, a.UI.Progress, a.Version()
	result, err := work(e, o)
	if ferr := end(); err == nil {
		err = ferr
	}
	if err != nil {
		if result.Sandbox != "" && !a.JSON && cli.KindOf(err) == engine.KindCancelled {
			a.UI.Tell("Results so far: %s", result.Outputs)
			a.account(result)
		}
		return err
	}
	if a.JSON {
		if err := a.PrintJSON(map[string]run.Result{"result": result}); err != nil {
			return err
		}
	}
	if result.ExitCode != 0 && a.UI.ReaderGone() {
		return syscall.EPIPE // which is what ended the agent, too
	}
	if result.ExitCode != 0 {
		a.account(result)
		return agentFailed(result)
	}
	a.UI.Tell("Results: %s", near(result.Outputs))
	a.account(result)
	return nil
}

// account says what a run was: its calls, its time, its cost and where its record is. A
// replay has no sandbox, and only takes time.
func (a app) account(r run.Result) {
	took := r.Duration.Round(time.Second)
	if r.Sandbox == "" {
		a.UI.Tell("Replayed in %s", took)
		return
	}
	text := fmt.Sprintf("%s, $%.2f", took, r.Cost)
	if r.ModelCost > 0 {
		text = fmt.Sprintf("%s, $%.2f for the sandbox and $%.4f for the language model", took, r.Cost, r.ModelCost)
	}
	if r.Record != "" {
		text = fmt.Sprintf("%s; %s", term.Plural(r.Calls, "call"), text)
	}
	a.UI.Tell("%s", text)
	if r.Folder != "" {
		a.UI.Tell("Record: %s", near(r.Folder))
		a.UI.Tell("Look at it with: seer runs open %s", r.Run)
	}
}

// near is a path as the user would type it here: relative where it is in the working directory.
func near(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

func agentFailed(r run.Result) error {
	return &cli.ExitError{Code: cli.ExitAgent, Kind: "agent", Err: fmt.Errorf("the agent ended with exit code %d; its output is above, and its results are in %s", r.ExitCode, r.Outputs)}
}
