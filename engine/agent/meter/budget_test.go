package meter_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/agent/meter"
	"github.com/seer-engine/seer/internal/testkit"
)

// TestBudgetIsReachedInTheMiddle has eight requests in progress when the budget is spent. The proxy
// completes and counts them, and refuses the next one in the format of its interface.
func TestBudgetIsReachedInTheMiddle(t *testing.T) {
	const parallel = 8
	requests(t, func(t *testing.T, api, path, body string, stream bool) {
		var together sync.WaitGroup
		together.Add(parallel)
		model := scripted(t, counted, nil)
		b := with(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/count_tokens") {
				together.Done()
				together.Wait()
			}
			model.ServeHTTP(w, r)
		}), func(c *meter.Config) { c.Budget = 0.05 })
		var agents sync.WaitGroup
		for range parallel {
			agents.Go(func() {
				if got := b.post(path, body); got.status != 200 || got.err != nil {
					t.Errorf("under way: %+v", got)
				}
			})
		}
		agents.Wait()
		for n := range parallel {
			r := <-b.arrived
			if r.Number != int64(n+1) || r.Total < r.Cost*float64(n+1)*0.999 || r.Total > r.Cost*float64(n+1)*1.001 {
				t.Errorf("report %d: %+v", n, r)
			}
		}
		total := b.proxy.Total()
		if total.Requests != parallel || total.Output != parallel*200 || !total.Spent || total.Cost < 0.05 || total.Budget != 0.05 {
			t.Errorf("in total %+v", total)
		}
		got := b.post(path, body)
		var failure struct {
			Type  string
			Error struct {
				Type, Message, Status string
				Code                  any
			}
		}
		if err := json.Unmarshal([]byte(got.body), &failure); err != nil {
			t.Fatal(err)
		}
		e := failure.Error
		right := map[string]bool{
			"anthropic": failure.Type == "error" && e.Type == "invalid_request_error",
			"responses": e.Type == "invalid_request_error" && e.Code == "budget_spent",
			"chat":      e.Type == "invalid_request_error" && e.Code == "budget_spent",
			"gemini":    e.Code == 400.0 && e.Status == "FAILED_PRECONDITION",
		}[api]
		if got.status != 400 || !right || !strings.HasPrefix(e.Message, "the budget of this run is spent: $0.") || got.header.Get("X-Should-Retry") != "false" {
			t.Errorf("refused: %+v", got)
		}
		if total := b.proxy.Total(); total.Refused != 1 || total.Requests != parallel {
			t.Errorf("in total %+v", total)
		}
		if got := b.post("/v1/messages/count_tokens", "{}"); got.status != 200 {
			t.Errorf("a free question: %+v", got)
		}
	})
}

// TestBudgetNeedsAPrice refuses a model without a price before it costs something.
func TestBudgetNeedsAPrice(t *testing.T) {
	u := &recorded{answer: `{"model":"mystery-1","usage":{"input_tokens":10,"output_tokens":1}}`}
	b := with(t, u, func(c *meter.Config) { c.Budget = 1 })
	late := `{"messages":"` + strings.Repeat("x", 300<<10) + `","model":"mystery-1"}`
	for _, c := range []struct{ path, body string }{
		{"/v1/messages", `{"model":"mystery-1"}`}, {"/v1/chat/completions", `{"stream":true,"model":"mystery-1"}`},
		{"/v1beta/models/mystery-1:generateContent", `{}`},
	} {
		got := b.post(c.path, c.body)
		if got.status != 400 || !strings.Contains(got.body, `no price of the model \"mystery-1\" is known`) || len(u.requests) != 0 {
			t.Errorf("%s: %+v", c.path, got)
		}
	}
	// The proxy learns this model too late. It counts the request, and refuses the next one.
	if got := b.post("/v1/messages", late); got.status != 200 {
		t.Errorf("late: %+v", got)
	}
	if r := <-b.arrived; !r.Unpriced || r.Cost != 0 || r.Input != 10 {
		t.Errorf("reported %+v", r)
	}
	if got := b.post("/v1/messages", `{"model":"claude-test"}`); got.status != 400 || !strings.Contains(got.body, "mystery-1") {
		t.Errorf("after it: %+v", got)
	}
	free := with(t, u, nil)
	if got := free.post("/v1/messages", `{"model":"mystery-1"}`); got.status != 200 {
		t.Errorf("without a budget: %+v", got)
	}
	if r := <-free.arrived; !r.Unpriced {
		t.Errorf("reported %+v", r)
	}
}

// TestModelOfTheRequestPrices has a gateway that answers with a name of its own.
func TestModelOfTheRequestPrices(t *testing.T) {
	u := &recorded{answer: `{"model":"deployment-7","usage":{"input_tokens":1000000,"output_tokens":0}}`}
	b := with(t, u, nil)
	b.post("/v1/messages", `{"model":"claude-test"}`)
	if r := <-b.arrived; r.Cost != 10 || r.Model != "deployment-7" || r.Unpriced {
		t.Errorf("reported %+v", r)
	}
}

// TestManyRequestsWait has more requests than may be in progress at once.
func TestManyRequestsWait(t *testing.T) {
	const limit, all = 64, 80
	release := make(chan struct{})
	arrived := make(chan struct{}, all)
	b := with(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-release
		_, _ = io.WriteString(w, small)
	}), func(c *meter.Config) { c.Budget = 0.001 })
	var agents sync.WaitGroup
	statuses := make(chan int, all)
	for range all {
		agents.Go(func() { statuses <- b.post("/v1/messages", `{"model":"claude-test"}`).status })
	}
	for range limit {
		<-arrived
	}
	close(release)
	agents.Wait()
	close(statuses)
	got := map[int]int{}
	for s := range statuses {
		got[s]++
	}
	// The budget is spent when the requests in progress have ended, or five of them.
	if got[200] < limit || got[200]+got[400] != all {
		t.Errorf("got %v", got)
	}
	testkit.Eventually(t, "all requests are counted", func() bool { return b.proxy.Total().Requests == int64(got[200]) })
}

func TestServe(t *testing.T) {
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) {
			began := make(chan struct{}, 1)
			b := with(t, stuck(messageStart, began), nil)
			ctx, cancel := context.WithCancel(t.Context())
			l, client := listener(t, network)
			served := make(chan error, 1)
			go func() { served <- meter.Serve(ctx, l, b.proxy) }()
			r := b.request(t.Context(), "/v1/messages", `{"model":"claude-test"}`)
			r.URL.Host = "agent"
			res, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if _, err := io.ReadFull(res.Body, make([]byte, len(messageStart))); err != nil {
				t.Fatal(err)
			}
			cancel()
			if err := <-served; err != nil {
				t.Error(err)
			}
			if total := b.proxy.Total(); total.Requests != 1 || total.Input != 500 {
				t.Errorf("when it has ended: %+v", total)
			}
			if _, err := io.ReadAll(res.Body); err == nil {
				t.Error("the agent read a whole answer")
			}
			if _, err := client.Do(b.request(t.Context(), "/v1/models", "")); err == nil {
				t.Error("it still answers")
			}
		})
	}
}

// TestServeEndsWithoutTheAgent has an agent that does not read its answer.
func TestServeEndsWithoutTheAgent(t *testing.T) {
	b := with(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<16))
		}
	}), nil)
	ctx, cancel := context.WithCancel(t.Context())
	l, client := listener(t, "unix")
	served := make(chan error, 1)
	go func() { served <- meter.Serve(ctx, l, b.proxy) }()
	r := b.request(t.Context(), "/v1/messages", "{}")
	r.URL.Host = "agent"
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	cancel()
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}
