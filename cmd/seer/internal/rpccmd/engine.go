// Package rpccmd has the command for programs that use the engine as a child process.
package rpccmd

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/rpc"
)

// New makes the command.
func New(a *cli.App) *cobra.Command {
	var stdio bool
	c := &cobra.Command{
		Use:   "engine --stdio",
		Short: "Serve the engine to another program by JSON-RPC",
		Long: `Answer JSON-RPC 2.0 on standard input and output, one message on a line, until the
input ends. Then terminate the sandboxes that the program has started and not detached.
The Python package seer uses this command; docs/engine-process.md lists the requests.`,
		Args: cli.Args(0, 0, ""),
		RunE: a.WithEngine(func(cmd *cobra.Command, e *engine.Engine, _ []string) error {
			if !stdio {
				return cli.Usagef("engine: only --stdio is there; add it")
			}
			program, err := os.Executable()
			if err != nil {
				return err
			}
			server := &rpc.Server{Engine: e, Version: a.Version(), Program: program}
			return server.Serve(cmd.Context(), os.Stdin, os.Stdout)
		}),
	}
	c.Flags().BoolVar(&stdio, "stdio", false, "use standard input and output")
	return c
}
