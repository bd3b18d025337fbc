package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/protocol"
)

func newCalls(a *app) *cobra.Command {
	return family("calls", "List, wait for and cancel calls of served functions", newCallsLs(a), newCallsWait(a), newCallsCancel(a))
}

// callsFlags say where to look for calls.
type callsFlags struct {
	connection string
	service    string
}

func (f *callsFlags) add(a *app, c *cobra.Command) {
	addConnection(c, &f.connection)
	c.Flags().StringVar(&f.service, "service", "", "only the service of this `NAME`")
	_ = c.RegisterFlagCompletionFunc("service", a.completeService)
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
			return args(least+place, -1, what)(cmd, given)
		}
		return args(least+place, most+place, what)(cmd, given)
	}
}

func newCallsLs(a *app) *cobra.Command {
	var f callsFlags
	c := &cobra.Command{
		Use: "ls ID [--service NAME]", Aliases: []string{"list"}, Short: "List the calls that are queued, run, or are remembered",
		Long: `List the calls of a sandbox's services, the oldest first: those that wait or run, and
those that have ended and are remembered. With --connection, only those that were made
with its token.`,
		Example:           "  seer calls ls lab\n  seer calls ls --connection workspace/model_tools/connection.json",
		Args:              f.args(0, 0),
		ValidArgsFunction: a.completeSandbox,
		RunE:              func(cmd *cobra.Command, given []string) error { return a.callsLs(cmd.Context(), f, given) },
	}
	f.add(a, c)
	return c
}

func newCallsWait(a *app) *cobra.Command {
	var f callsFlags
	var show showFlags
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "wait ID CALL",
		Short: "Follow a call to its end and print its result",
		Long: `Follow a call that somebody has made: what it has printed and given so far, what still
comes, and its result. Ctrl-C and --timeout end the waiting, not the call.

An answer that has been printed or written counts as fetched, and is not kept.`,
		Example:           "  seer calls wait lab c3f1d2a4b5c60718-1\n  seer calls wait lab c3f1d2a4b5c60718-1 --out weights.npy --timeout 2h",
		Args:              f.args(1, 1),
		ValidArgsFunction: a.completeCalls(&f, 1),
		RunE: func(cmd *cobra.Command, given []string) error {
			return a.callsWait(cmd.Context(), f, show, timeout, given)
		},
	}
	f.add(a, c)
	show.add(c)
	c.Flags().DurationVar(&timeout, "timeout", 0, "wait no longer than this; the call goes on")
	return c
}

func newCallsCancel(a *app) *cobra.Command {
	var f callsFlags
	c := &cobra.Command{
		Use:               "cancel ID CALL…",
		Short:             "End calls, wherever they are",
		Long:              "End calls that wait or run, with the processes that they have started, and give up the\nanswers of those that have ended. What they hold ends with them; the service goes on.",
		Example:           "  seer calls cancel lab c3f1d2a4b5c60718-1",
		Args:              f.args(1, -1),
		ValidArgsFunction: a.completeCalls(&f, -1),
		RunE:              func(cmd *cobra.Command, given []string) error { return a.callsCancel(cmd.Context(), f, given) },
	}
	f.add(a, c)
	return c
}

// callees are the services that may have the calls, and the arguments without the
// sandbox.
func (a *app) callees(ctx context.Context, f callsFlags, given []string) ([]*callee, []string, error) {
	if f.connection != "" {
		to, err := calleeOf(f.connection)
		return []*callee{to}, given, err
	}
	s, err := a.open(ctx, given[0])
	if err != nil {
		return nil, nil, err
	}
	services, err := s.Runtime().Services(ctx)
	if err != nil {
		s.Close()
		return nil, nil, providerError(err)
	}
	var list []*callee
	for _, v := range services {
		if f.service == "" || v.Name == f.service {
			list = append(list, &callee{client: s.Runtime(), service: v.Name, sandbox: s.ID(), name: given[0], close: func() { s.Close() }})
		}
	}
	if len(list) == 0 {
		s.Close()
		if f.service != "" {
			return nil, nil, &engine.Error{Kind: engine.KindNotFound, Err: fmt.Errorf("the sandbox %s serves nothing named %q", given[0], f.service)}
		}
	}
	return list, given[1:], nil
}

func closeAll(list []*callee) {
	for _, to := range list {
		to.close()
	}
}

// listedCall is a call under --json.
type listedCall struct {
	Service string `json:"service"`
	protocol.Call
}

func (a *app) callsLs(ctx context.Context, f callsFlags, given []string) error {
	list, _, err := a.callees(ctx, f, given)
	if err != nil {
		return err
	}
	defer closeAll(list)
	calls := []listedCall{}
	for _, to := range list {
		some, err := to.client.Calls(ctx, to.service)
		if err != nil {
			return to.explain(err)
		}
		for _, c := range some {
			calls = append(calls, listedCall{to.service, c})
		}
	}
	slices.SortStableFunc(calls, func(x, y listedCall) int { return cmp.Compare(x.QueuedUnix, y.QueuedUnix) })
	return a.print(calls, func(w io.Writer) error {
		if len(calls) == 0 {
			a.ui.tell("No calls are remembered.")
			return nil
		}
		return printTable(w, a.ui.width(), callColumns(), callRows(calls, time.Now()))
	})
}

func callColumns() []column {
	return []column{{"CALL", 0}, {"FUNCTION", 0}, {"STATE", 0}, {"MADE", 2}, {"RAN", 1}, {"TOKEN", 3}, {"KEPT", 4}, {"ERROR", 5}}
}

func callRows(calls []listedCall, now time.Time) [][]string {
	rows := make([][]string, len(calls))
	for i, c := range calls {
		state, kept, failure := string(c.State), "-", "-"
		if c.Position != nil && c.State == protocol.CallQueued {
			state = fmt.Sprintf("queued, %d before", *c.Position)
		}
		if c.Bytes > 0 {
			kept = byteCount(c.Bytes)
		}
		if c.Error != nil {
			failure = string(c.Error.Code)
		}
		rows[i] = []string{c.ID, c.Service + "." + c.Function, state, clock(unixTime(c.QueuedUnix)), ran(c.Call, now), dash(c.Token), kept, failure}
	}
	return rows
}

// ran is how long a call has run.
func ran(c protocol.Call, now time.Time) string {
	switch {
	case c.Seconds > 0:
		return seconds(c.Seconds)
	case c.State == protocol.CallRunning && c.Started > 0:
		return seconds(now.Sub(unixTime(c.Started)).Seconds())
	}
	return "-"
}

func seconds(n float64) string {
	if n < 10 {
		return fmt.Sprintf("%.1fs", max(n, 0))
	}
	return span(time.Duration(n * float64(time.Second)))
}

func unixTime(t float64) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(t * 1000))
}

func byteCount(n int64) string {
	const unit = 1000
	value, prefix := float64(n), " kMGT"
	for value >= unit && len(prefix) > 1 {
		value, prefix = value/unit, prefix[1:]
	}
	if prefix[0] == ' ' {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %cB", value, prefix[0])
}

// find is the service that knows a call.
func find(ctx context.Context, list []*callee, id string) (*callee, error) {
	for _, to := range list {
		_, err := to.client.CallState(ctx, to.service, id)
		switch {
		case err == nil:
			return to, nil
		case !errors.Is(err, &protocol.CallError{Code: protocol.CallUnknown}):
			return nil, to.explain(err)
		}
	}
	return nil, &engine.Error{Kind: engine.KindNotFound, Err: fmt.Errorf("no service knows a call %s: it has never been made, or its answer has been fetched or was not kept any longer", id)}
}

func (a *app) callsWait(ctx context.Context, f callsFlags, show showFlags, timeout time.Duration, given []string) error {
	list, ids, err := a.callees(ctx, f, given)
	if err != nil {
		return err
	}
	defer closeAll(list)
	ctx, cancel := withTimeout(ctx, timeout, false)
	defer cancel()
	to, err := find(ctx, list, ids[0])
	if err != nil {
		return err
	}
	p, err := newPrinter(a, show, func() bool { return false })
	if err != nil {
		return err
	}
	defer p.close()
	_, err = to.client.Attach(ctx, to.service, ids[0], 1, p.handler()).Wait(ctx)
	if timeout > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &engine.Error{Kind: engine.KindTimeout, Err: fmt.Errorf("the call %s has not ended within %s, and goes on", ids[0], timeout)}
	}
	return p.end(to.explain(err))
}

func (a *app) callsCancel(ctx context.Context, f callsFlags, given []string) error {
	list, ids, err := a.callees(ctx, f, given)
	if err != nil {
		return err
	}
	defer closeAll(list)
	ended := []string{}
	for _, id := range ids {
		to, err := find(ctx, list, id)
		if err != nil {
			return err
		}
		if err := to.client.CancelCall(ctx, to.service, id); err != nil {
			return to.explain(err)
		}
		ended = append(ended, id)
	}
	return a.print(ended, func(io.Writer) error { return nil })
}

// completeCalls offers the calls of the sandbox that is named, behind it.
func (a *app) completeCalls(f *callsFlags, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		place := 1
		if f.connection != "" {
			place = 0
		}
		switch {
		case len(given) < place:
			return a.sandboxRefs(cmd.Context(), nil), noFiles
		case most >= 0 && len(given) >= most+place:
			return nil, noFiles
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
		defer cancel()
		list, _, err := a.callees(ctx, *f, given)
		if err != nil {
			return nil, noFiles
		}
		defer closeAll(list)
		var names []string
		for _, to := range list {
			calls, _ := to.client.Calls(ctx, to.service)
			for _, c := range calls {
				names = append(names, fmt.Sprintf("%s\t%s.%s, %s", c.ID, to.service, c.Function, c.State))
			}
		}
		return names, noFiles
	}
}
