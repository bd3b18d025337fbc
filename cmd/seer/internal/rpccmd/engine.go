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
		Short: "Answer the requests of another program",
		Long: `Answer JSON-RPC 2.0 on standard input and output, one message on a line, until the
input ends. Then the sandboxes are terminated that the program has started and not
detached. Package seer of Python uses this; docs/engine-process.md has the requests.`,
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
