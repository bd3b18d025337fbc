package callcmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine/protocol"
)

// listedCall is a call under --json.
type listedCall struct {
	Service string `json:"service"`
	protocol.Call
}

func (a app) callsLs(ctx context.Context, f callsFlags, given []string) error {
	list, _, err := a.callees(ctx, f, given)
	if err != nil {
		return err
	}
	defer closeAll(list)
	calls := []listedCall{}
	for _, to := range list {
		some, err := to.client.Calls().List(ctx, to.service)
		if err != nil {
			return to.explain(err)
		}
		for _, c := range some {
			calls = append(calls, listedCall{to.service, c})
		}
	}
	slices.SortStableFunc(calls, func(x, y listedCall) int { return cmp.Compare(x.QueuedUnix, y.QueuedUnix) })
	return a.Print(calls, func(w io.Writer) error {
		if len(calls) == 0 {
			a.UI.Tell("No calls are remembered.")
			return nil
		}
		return term.PrintTable(w, a.UI.Width(), callColumns(), callRows(calls, time.Now()))
	})
}

func callColumns() []term.Column {
	return []term.Column{{Title: "CALL"}, {Title: "FUNCTION"}, {Title: "STATE"}, {Title: "MADE", Drop: 2}, {Title: "RAN", Drop: 1}, {Title: "TOKEN", Drop: 3}, {Title: "KEPT", Drop: 4}, {Title: "ERROR", Drop: 5}}
}

func callRows(calls []listedCall, now time.Time) [][]string {
	rows := make([][]string, len(calls))
	for i, c := range calls {
		state, kept, failure := string(c.State), "-", "-"
		if c.Position != nil && c.State == protocol.CallQueued {
			state = fmt.Sprintf("queued, %d before", *c.Position)
		}
		if c.Bytes > 0 {
			kept = term.Size(c.Bytes)
		}
		if c.Error != nil {
			failure = string(c.Error.Code)
		}
		rows[i] = []string{c.ID, c.Service + "." + c.Function, state, term.Clock(unixTime(c.QueuedUnix)), runTime(c.Call, now), cmp.Or(c.Token, "-"), kept, failure}
	}
	return rows
}

// runTime is how long a call has run.
func runTime(c protocol.Call, now time.Time) string {
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
	return term.Span(time.Duration(n * float64(time.Second)))
}

func unixTime(t float64) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(t * 1000))
}
