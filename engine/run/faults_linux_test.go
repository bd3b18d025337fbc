package run_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/run"
	"github.com/seer-engine/seer/engine/runs"
)

// TestFaultsOfTheModel: the run reports each fault of the language model once and records it. The
// program does not repeat its request.
func TestFaultsOfTheModel(t *testing.T) {
	t.Parallel()
	refusal := func(status int, message string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error":{"message":%q}}`, message)
		}
	}
	for name, c := range map[string]struct {
		model  http.HandlerFunc
		status int // that the log names
		want   string
	}{
		"429":         {refusal(429, "slow down"), 429, "slow down"},
		"500":         {refusal(500, "overloaded"), 500, "overloaded"},
		"wrong model": {refusal(404, "there is no model m"), 404, "there is no model m"},
		"cut stream": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"type\":\"response.output_text.delta\",\"delta\":\"half a")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, 200, "the answer broke off"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, seen, err := faulty(t, t.Context(), c.model)
			ends, requests := all[event.AgentTurnEnded](seen), all[event.ModelRequest](seen)
			if err != nil || result.ExitCode != 1 || len(ends) != 1 || !strings.Contains(ends[0].Error, c.want) {
				t.Errorf("%+v, %v, %+v", result, err, ends)
			}
			if len(requests) != 1 || requests[0].Status != c.status {
				t.Errorf("%+v", requests)
			}
			if got := summaryOf(t, result.Folder); got.State != runs.Failed || got.ExitCode == nil || *got.ExitCode != 1 {
				t.Errorf("%+v", got)
			}
		})
	}
	t.Run("hangs until Ctrl-C", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		result, seen, err := faulty(t, ctx, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // or the server does not notice that the client leaves
			cancel()
			<-r.Context().Done()
		})
		if engine.KindOf(err) != engine.KindCancelled || len(all[event.AgentTurnEnded](seen)) != 1 {
			t.Errorf("%+v, %v", result, err)
		}
		if got := summaryOf(t, result.Folder); got.State != runs.Stopped || got.ExitCode != nil {
			t.Errorf("%+v", got)
		}
	})
}

// faulty runs a program that asks the model, and looks that nothing of it is left.
func faulty(t *testing.T, ctx context.Context, model http.HandlerFunc) (run.Result, *seen, error) {
	t.Helper()
	server := httptest.NewServer(model)
	defer server.Close()
	e, o := profiled(t, "codex")
	o.Agent.Model, o.Agent.BaseURL = "m", server.URL
	var s seen
	o.Progress = s.take
	result, err := run.Agent(ctx, e, o)
	if left, _ := filepath.Glob(filepath.Join(e.RunDirs().StateDir(), "agents", "*")); len(left) > 0 {
		t.Errorf("it has left %v", left)
	}
	return result, &s, err
}

// TestStopsAtEachPhase: a run that is stopped while its sandbox starts has no results, and one that
// is stopped while they are collected has all. Neither leaves a sandbox; see setup.
func TestStopsAtEachPhase(t *testing.T) {
	for name, c := range map[string]struct {
		at    func(event.Data) bool
		kind  engine.Kind
		state runs.State
		files int
	}{
		"boot":    {is[event.MachineStarting], engine.KindCancelled, runs.Stopped, 0},
		"collect": {is[event.AgentFinished], "", runs.Finished, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, exp := setup(t, goodAgent, "")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			result, err := run.Run(ctx, e, exp, run.Options{Progress: func(e event.Event) {
				if c.at(e.Data) {
					cancel()
				}
			}})
			if engine.KindOf(err) != c.kind || result.Files != c.files || result.Kept || ctx.Err() == nil {
				t.Errorf("%+v, %v", result, err)
			}
			if got := summaryOf(t, result.Folder); got.State != c.state {
				t.Errorf("%+v", got)
			}
			if _, err := os.Stat(filepath.Join(exp.Workspace.Dir, "mcp.json")); err == nil {
				t.Error("the workspace leads to a sandbox")
			}
		})
	}
}

func is[D event.Data](d event.Data) bool { _, ok := d.(D); return ok }
