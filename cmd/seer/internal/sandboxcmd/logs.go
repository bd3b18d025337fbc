package sandboxcmd

import (
	"context"
	"io"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/sanitize"
)

func newLogs(a app) *cobra.Command {
	var service string
	var follow bool
	c := &cobra.Command{
		Use:   "logs ID [--service NAME] [-f]",
		Short: "Show what served functions have printed",
		Long: `Show what the workers of a sandbox's services have printed: of one service, or of
all of them with the service's name before each line. --service jupyter and
--service code-server show the log of those, in a sandbox that has them.`,
		Example:           "  seer logs lab\n  seer logs lab --service model_tools -f",
		Args:              cli.Args(1, 1, "the ID or name of a sandbox"),
		ValidArgsFunction: a.CompleteSandbox,
		RunE: func(cmd *cobra.Command, given []string) error {
			return a.logs(cmd.Context(), given[0], service, follow)
		},
	}
	c.Flags().StringVar(&service, "service", "", "only the service of this `NAME`, or jupyter, or code-server")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "follow the output until Ctrl-C")
	_ = c.RegisterFlagCompletionFunc("service", a.completeLogs)
	return c
}

// logs asks the runtime, which also knows of interfaces that did not load.
func (a app) logs(ctx context.Context, ref, service string, follow bool) error {
	s, err := a.Open(ctx, ref)
	if err != nil {
		return err
	}
	defer s.Close()
	names := []string{service}
	if service == "" {
		services, err := s.Runtime().Services().List(ctx)
		if err != nil {
			return cli.ProviderError(err)
		}
		names = nil
		for _, v := range services {
			names = append(names, v.Name)
		}
		if len(names) == 0 {
			a.UI.Tell("The sandbox serves nothing yet: seer serve")
		}
	}
	return cli.ProviderError(a.copyLogs(ctx, s.Runtime(), names, follow))
}

func (a app) copyLogs(ctx context.Context, runtime *client.Client, names []string, follow bool) error {
	mu := &sync.Mutex{}
	g, ctx := errgroup.WithContext(ctx)
	if !follow {
		g.SetLimit(1) // one after the other
	}
	for _, name := range names {
		w, flush := a.logWriter(mu, name, len(names) > 1)
		g.Go(func() error {
			_, err := runtime.Services().Logs(ctx, name, 0, follow, w, w)
			if protocol.CodeOf(err) == protocol.NotFound && (name == "jupyter" || name == "code-server") {
				_, _, err = runtime.Processes().Output(ctx, name, 0, follow, w, w)
			}
			if err != nil {
				return err
			}
			return flush()
		})
	}
	return g.Wait()
}

// logWriter takes the log of one service. Only what is flushed is whole.
func (a app) logWriter(mu *sync.Mutex, name string, several bool) (io.Writer, func() error) {
	switch {
	case a.JSON:
		s := term.NewJSONStream(a.UI.Stdout(), mu, "log", name)
		return s, s.Flush
	case several:
		l := term.NewPrefixWriter(a.UI.Stdout(), sanitize.Line(name)+" | ")
		return l, l.Flush
	}
	w := a.UI.Screen(a.UI.Out)
	return w, w.Flush
}
