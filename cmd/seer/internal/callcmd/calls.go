package callcmd

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
)

func newCalls(a app) *cobra.Command {
	return cli.Family("calls", "List, wait for and cancel calls of served functions", newCallsLs(a), newCallsWait(a), newCallsCancel(a))
}

// callsFlags say where to look for calls.
type callsFlags struct {
	connection string
	service    string
}

func (f *callsFlags) add(a app, c *cobra.Command) {
	addConnection(c, &f.connection)
	c.Flags().StringVar(&f.service, "service", "", "only the service of this `NAME`")
	_ = c.RegisterFlagCompletionFunc("service", a.CompleteService)
	c.MarkFlagsMutuallyExclusive("connection", "service")
}

// args checks that a sandbox is named unless a connection is, and so many calls.
func (f *callsFlags) args(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		what, place := "a sandbox", 1
		if f.connection != "" {
			what, place = "no sandbox beside --connection", 0
		}
		if least > 0 {
			what += " and a call"
		}
		if most < 0 {
			return cli.Args(least+place, -1, what)(cmd, given)
		}
		return cli.Args(least+place, most+place, what)(cmd, given)
	}
}

func newCallsLs(a app) *cobra.Command {
	var f callsFlags
	c := &cobra.Command{
		Use: "ls ID [--service NAME]", Aliases: []string{"list"}, Short: "List queued, running and remembered calls",
		Long: `List the calls of a sandbox's services, oldest first: queued and running calls, and
ended calls whose answer is still kept. With --connection, list only the calls that
were made with its token.`,
		Example:           "  seer calls ls lab\n  seer calls ls --connection workspace/model_tools/connection.json",
		Args:              f.args(0, 0),
		ValidArgsFunction: a.CompleteSandbox,
		RunE:              func(cmd *cobra.Command, given []string) error { return a.callsLs(cmd.Context(), f, given) },
	}
	f.add(a, c)
	return c
}

func newCallsWait(a app) *cobra.Command {
	var f callsFlags
	var show showFlags
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "wait ID CALL",
		Short: "Follow a call to its end and print its result",
		Long: `Follow a call: print its output and items so far, then those that follow, then its
result. Ctrl-C and --timeout end the waiting, not the call.

Once the answer is printed or written, it counts as fetched, and Seer does not keep it.`,
		Example:           "  seer calls wait lab c3f1d2a4b5c60718-1\n  seer calls wait lab c3f1d2a4b5c60718-1 --out weights.npy --timeout 2h",
		Args:              f.args(1, 1),
		ValidArgsFunction: a.completeCalls(&f, 1),
		RunE: func(cmd *cobra.Command, given []string) error {
			return a.callsWait(cmd.Context(), f, show, timeout, given)
		},
	}
	f.add(a, c)
	show.add(c)
	c.Flags().DurationVar(&timeout, "timeout", 0, "stop waiting after this long; the call continues (default: no limit)")
	return c
}

func newCallsCancel(a app) *cobra.Command {
	var f callsFlags
	c := &cobra.Command{
		Use:               "cancel ID CALL…",
		Short:             "Cancel calls and discard their answers",
		Long:              "Cancel queued and running calls, with the processes that they have started, and discard\nthe answers of calls that have ended. Everything that they hold is released. The service continues.",
		Example:           "  seer calls cancel lab c3f1d2a4b5c60718-1",
		Args:              f.args(1, -1),
		ValidArgsFunction: a.completeCalls(&f, -1),
		RunE:              func(cmd *cobra.Command, given []string) error { return a.callsCancel(cmd.Context(), f, given) },
	}
	f.add(a, c)
	return c
}

func (a app) callsWait(ctx context.Context, f callsFlags, show showFlags, timeout time.Duration, given []string) error {
	if err := cli.CheckTimeout(timeout); err != nil {
		return err
	}
	list, ids, err := a.callees(ctx, f, given)
	if err != nil {
		return err
	}
	defer closeAll(list)
	ctx, cancel := withTimeout(ctx, timeout, false)
	defer cancel()
	err = a.follow(ctx, list, show, ids[0])
	if isTimeout(ctx, err) {
		return &engine.Error{Kind: engine.KindTimeout, Err: fmt.Errorf("the call %s has not ended within %s and continues", ids[0], timeout)}
	}
	return err
}

// follow prints what comes of a call that one of the services knows.
func (a app) follow(ctx context.Context, list []*callee, show showFlags, id string) error {
	to, err := findCall(ctx, list, id)
	if err != nil {
		return err
	}
	p, err := newPrinter(a, show, func() bool { return false })
	if err != nil {
		return err
	}
	defer p.close()
	_, err = to.client.Calls().Attach(ctx, to.service, id, 1, p.handler()).Wait(ctx)
	return p.end(to.explain(err))
}

func (a app) callsCancel(ctx context.Context, f callsFlags, given []string) error {
	list, ids, err := a.callees(ctx, f, given)
	if err != nil {
		return err
	}
	defer closeAll(list)
	ended := []string{}
	for _, id := range ids {
		to, err := findCall(ctx, list, id)
		if err != nil {
			return err
		}
		if err := to.client.Calls().Cancel(ctx, to.service, id); err != nil {
			return to.explain(err)
		}
		ended = append(ended, id)
	}
	return a.Print(ended, func(io.Writer) error { return nil })
}
