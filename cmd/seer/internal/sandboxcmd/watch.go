package sandboxcmd

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/sanitize"
)

func newWatch(a app) *cobra.Command {
	var recursive bool
	c := &cobra.Command{
		Use:   "watch ID [PATH] [-r]",
		Short: "Show changes in a folder of a sandbox",
		Long: `Show changes in a folder of a sandbox (default /workspace) as they happen, until
Ctrl-C. "lost" means that changes came too fast and some are not shown.`,
		Example:           "  seer watch lab -r\n  seer watch lab /workspace/outputs --json",
		Args:              cli.Args(1, 2, "a sandbox, and a folder"),
		ValidArgsFunction: a.CompleteSandbox,
		RunE: func(cmd *cobra.Command, given []string) error {
			path := "/workspace"
			if len(given) > 1 {
				path = given[1]
			}
			s, err := a.Open(cmd.Context(), given[0])
			if err != nil {
				return err
			}
			defer s.Close()
			for event, err := range s.Watch(cmd.Context(), path, recursive) {
				if err != nil {
					if a.Stop.Signal() != nil {
						return nil
					}
					return err
				}
				if event.Type == protocol.WatchReady {
					continue
				}
				if a.JSON {
					err = a.PrintJSON(event)
				} else {
					err = a.Println(fmt.Sprintf("%s %-10s %s", time.Now().Format("15:04:05"), sanitize.Line(string(event.Type)), sanitize.Line(event.Path)))
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().BoolVarP(&recursive, "recursive", "r", false, "include the folders below")
	return c
}
