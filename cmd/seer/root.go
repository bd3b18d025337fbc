package main

import (
	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/agentcmd"
	"github.com/seer-engine/seer/cmd/seer/internal/callcmd"
	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/experimentcmd"
	"github.com/seer-engine/seer/cmd/seer/internal/mcpcmd"
	"github.com/seer-engine/seer/cmd/seer/internal/modelscmd"
	"github.com/seer-engine/seer/cmd/seer/internal/plugincmd"
	"github.com/seer-engine/seer/cmd/seer/internal/rpccmd"
	"github.com/seer-engine/seer/cmd/seer/internal/runscmd"
	"github.com/seer-engine/seer/cmd/seer/internal/sandboxcmd"
	"github.com/seer-engine/seer/cmd/seer/internal/snapshotcmd"
	"github.com/seer-engine/seer/engine/runs/inspectlog"
	"github.com/seer-engine/seer/engine/runs/report"
)

// Groups of commands, in the order of the help.
const (
	groupStart   = "start"
	groupSandbox = "sandbox"
	groupInside  = "inside"
	groupServe   = "serve"
	groupSetup   = "setup"
)

const rootLong = `Seer gives an AI agent a research environment, declared in one file: a sandbox
on this computer or on a rented machine, with models in it. The agent may call
the functions that you mark @expose in one Python file, and nothing else; or it
gets the sandbox itself, as a notebook or a shell (execution_mode).

The short way is three commands: seer init writes an experiment to start from,
seer run starts its sandbox, runs the agent and ends everything. The long way
keeps a sandbox: seer up, then exec, serve and call in it, then seer down.

Refer to a sandbox by its ID (sb-…), by an unambiguous beginning of the ID, or by
the name that you gave to seer up.`

const rootExample = `  seer init my-experiment && cd my-experiment
  seer run seer.yaml             # everything, and nothing is left running

  seer up seer.yaml --name lab   # a sandbox that stays
  seer exec lab -- python3 --version
  seer serve lab interface.py --as library --name model_tools --out .
  seer call lab model_tools.get_model_info
  seer down lab`

func newRoot(a *cli.App) *cobra.Command {
	cobra.EnableCommandSorting = false // the order of the groups is that of the work
	root := &cobra.Command{
		Use: "seer", Short: "Research environments for AI agents", Long: rootLong, Example: rootExample,
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.SetUp() },
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	root.SetOut(a.UI.Stdout())
	root.SetErr(a.UI.Stderr())
	root.SetFlagErrorFunc(flagError)
	a.GlobalFlags(root)
	experiment, sandbox, snapshot, call := experimentcmd.New(a), sandboxcmd.New(a), snapshotcmd.New(a), callcmd.New(a)
	addGroup(root, groupStart, "Start here:",
		experiment.Init, experiment.Run, runscmd.New(a, runscmd.Writers{HTML: report.Write, Inspect: inspectlog.Write}), experiment.Plan, experiment.Offers)
	addGroup(root, groupSandbox, "Sandboxes:",
		sandbox.Up, sandbox.Ls, sandbox.Show, snapshot.Snapshot, snapshot.Snapshots,
		sandbox.Fork, sandbox.Down, sandbox.GC)
	addGroup(root, groupInside, "In a sandbox:",
		sandbox.Exec, sandbox.Python, sandbox.Shell, sandbox.Cp, sandbox.Forward,
		sandbox.Open, sandbox.Logs, sandbox.Usage, sandbox.Watch)
	addGroup(root, groupServe, "Functions for an agent:",
		call.Serve, call.Call, call.Calls, call.Token, mcpcmd.NewMCP(a), experiment.Replay)
	addGroup(root, groupSetup, "Setting up:",
		experiment.Config, modelscmd.New(a), agentcmd.New(a), plugincmd.NewPlugin(a), experiment.Doctor, rpccmd.New(a), newVersion(a))
	root.AddCommand(cli.ExitCodesTopic())
	root.SetHelpCommandGroupID(groupSetup)
	root.SetCompletionCommandGroupID(groupSetup)
	cli.StrictDefaults(root)
	return root
}

func addGroup(root *cobra.Command, id, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, c := range commands {
		c.GroupID = id
		withoutFlagsInUsage(c)
		root.AddCommand(c)
	}
}

// withoutFlagsInUsage keeps "[flags]" off usage lines, which name the flags.
func withoutFlagsInUsage(c *cobra.Command) {
	c.DisableFlagsInUseLine = true
	for _, sub := range c.Commands() {
		withoutFlagsInUsage(sub)
	}
}

// flagError adds the one hint that people need with commands of their own.
func flagError(cmd *cobra.Command, err error) error {
	if cmd.Name() == "exec" {
		return cli.Usagef("%w; write -- before a command that has flags: %s", err, cmd.UseLine())
	}
	return err
}
