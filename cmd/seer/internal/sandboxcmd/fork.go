package sandboxcmd

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
)

func newFork(a app) *cobra.Command {
	var n int
	var o engine.ForkOptions
	c := &cobra.Command{
		Use:   "fork ID [-n N] [--name NAME]",
		Short: "Make copies of a running sandbox, with its processes",
		Long: `Make N copies of a running sandbox, each with its processes and their memory, its
files, kernels and services. A copy loads nothing again. Each copy has its own ID,
keys, ports, lease and random numbers; calls that were running end in the copy as
interrupted. The original pauses for a moment and continues.

The sandbox must be on this computer, with isolation: gvisor and a network of its own
(none, or a list of hosts). Copies share the GPU of the original: its memory must be
enough for all of them. The IDs of the copies go to stdout.`,
		Example:           "  seer fork lab -n 8 --name try\n  seer fork lab --json | jq -r '.[].id'",
		Args:              cli.Args(1, 1, "the sandbox"),
		ValidArgsFunction: a.CompleteSandbox,
		RunE: func(cmd *cobra.Command, given []string) error {
			if n < 1 {
				return cli.Usagef("-n %d makes no copy; give at least 1", n)
			}
			e, err := a.Engine()
			if err != nil {
				return err
			}
			a.Stop.SetCleanup("ending what was started")
			o.Progress = a.UI.Progress
			forks, err := e.Fork(cmd.Context(), given[0], n, o)
			a.Stop.SetCleanup("")
			infos := []engine.Info{}
			for _, s := range forks {
				info, told := s.Info(cmd.Context())
				if told == nil {
					infos = append(infos, info)
				}
				err = errors.Join(err, told, s.Close())
			}
			if len(infos) == 0 && err != nil {
				return err
			}
			return errors.Join(a.Print(infos, func(io.Writer) error {
				for _, info := range infos {
					if err := a.Println(info.ID); err != nil {
						return err
					}
				}
				return nil
			}), err)
		},
	}
	c.Flags().IntVarP(&n, "copies", "n", 1, "number of copies")
	c.Flags().StringVar(&o.Name, "name", "", "another `name` for the copies, followed by -1, -2 and so on")
	return c
}
