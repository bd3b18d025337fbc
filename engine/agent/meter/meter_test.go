package meter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/seer-engine/seer/engine/agent/meter"
	"github.com/seer-engine/seer/engine/agent/mockmodel"
	"github.com/seer-engine/seer/engine/event"
)

const (
	theKey   = "sk-real-key-0123456789-abcdef"
	theToken = "run-token-0123456789"
)

// interfaces are how agents ask each of them, whole and as a stream.
var interfaces = map[string]struct{ whole, stream, wholeBody, streamBody string }{
	"anthropic": {
		"/v1/messages", "/v1/messages?beta=true",
		`{"model":"claude-test","max_tokens":9,"messages":[{"role":"user","content":"go"}]}`,
		`{"model":"claude-test","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"go"}]}`,
	},
	"responses": {
		"/v1/responses", "/v1/responses",
		`{"model":"gpt-test","input":[]}`, `{"model":"gpt-test","input":[],"stream":true}`,
	},
	"chat": {
		"/v1/chat/completions", "/v1/chat/completions",
		`{"model":"gpt-test","messages":[{"role":"user","content":"go"}]}`, `{"model":"gpt-test","messages":[{"role":"user","content":"go"}],"stream":true}`,
	},
	"gemini": {
		"/v1beta/models/gemini-test:generateContent", "/v1beta/models/gemini-test:streamGenerateContent?alt=sse",
		`{"contents":[]}`, `{"contents":[]}`,
	},
}

// requests are those of all interfaces, whole and as streams.
func requests(t *testing.T, run func(t *testing.T, api, path, body string, stream bool)) {
	for api, r := range interfaces {
		t.Run(api+"/whole", func(t *testing.T) { run(t, api, r.whole, r.wholeBody, false) })
		t.Run(api+"/stream", func(t *testing.T) { run(t, api, r.stream, r.streamBody, true) })
	}
}

// bench is a proxy before an upstream.
type bench struct {
	t        *testing.T
	proxy    *meter.Proxy
	url      string
	upstream *httptest.Server

	mu      sync.Mutex
	reports []event.ModelRequest
	arrived chan event.ModelRequest
}

// with makes a proxy before a server; change may change its configuration.
func with(t *testing.T, upstream http.Handler, change func(*meter.Config)) *bench {
	t.Helper()
	b := &bench{t: t, upstream: httptest.NewServer(upstream), arrived: make(chan event.ModelRequest, 1000)}
	t.Cleanup(b.upstream.Close)
	c := meter.Config{API: "anthropic", Upstream: b.upstream.URL, Key: theKey, Token: theToken, Prices: prices(t), Report: b.report}
	if change != nil {
		change(&c)
	}
	var err error
	if b.proxy, err = meter.New(c); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(b.proxy)
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

func (b *bench) report(r event.ModelRequest) {
	b.mu.Lock()
	b.reports = append(b.reports, r)
	b.mu.Unlock()
	b.proxy.Total() // which a report may ask for
	b.arrived <- r
}

// request makes one with the token in the place of the key.
func (b *bench) request(ctx context.Context, path, body string) *http.Request {
	b.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+theToken)
	r.Header.Set("Content-Type", "application/json")
	return r
}

type reply struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

func do(t *testing.T, r *http.Request) reply {
	t.Helper()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, string(body), err}
}

func (b *bench) post(path, body string) reply {
	b.t.Helper()
	return do(b.t, b.request(b.t.Context(), path, body))
}

func prices(t *testing.T, files ...string) *meter.Prices {
	t.Helper()
	p, err := meter.ReadPrices(append([]string{"testdata/prices.yaml"}, files...)...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func scripted(t *testing.T, script string, log io.Writer) *mockmodel.Server {
	t.Helper()
	s, err := mockmodel.Parse("script.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return mockmodel.New(s, log)
}

const counted = `turns: [{say: one two three four five, usage: {input: 1000, output: 200, cache_read: 300, cache_write: 70}}]`

func TestCountsEachInterface(t *testing.T) {
	requests(t, func(t *testing.T, api, path, body string, stream bool) {
		log := &bytes.Buffer{}
		b := with(t, scripted(t, counted, log), nil)
		direct := do(t, func() *http.Request {
			r := b.request(t.Context(), path, body)
			r.URL.Host = strings.TrimPrefix(b.upstream.URL, "http://")
			return r
		}())
		log.Reset()
		got := b.post(path, body)
		if got.status != 200 || got.body != direct.body || got.header.Get("Content-Type") != direct.header.Get("Content-Type") {
			t.Fatalf("through the proxy: %d %s\n%s\ndirectly:\n%s", got.status, got.header, got.body, direct.body)
		}
		r := <-b.arrived
		model := map[string]string{"anthropic": "claude-test", "responses": "gpt-test", "chat": "gpt-test", "gemini": "gemini-test"}[api]
		input, write := int64(1070), int64(0) // where the price of the cache is that of input
		if api == "anthropic" {
			input, write = 1000, 70
		}
		cost := (float64(input)*10 + float64(write)*20 + 300*1 + 200*100) / 1e6
		want := event.ModelRequest{
			Number: 1, API: api, Model: model, Status: 200, Input: input, Output: 200, CacheRead: 300, CacheWrite: write,
			Cost: r.Cost, Total: r.Cost, Seconds: r.Seconds,
		}
		if r != want || math.Abs(r.Cost-cost) > 1e-12 {
			t.Errorf("got %+v\nwant %+v, cost %v", r, want, cost)
		}
		var sent struct {
			Request map[string]any
		}
		if err := json.Unmarshal(log.Bytes(), &sent); err != nil {
			t.Fatal(err)
		}
		options, _ := sent.Request["stream_options"].(map[string]any)
		if asks := options["include_usage"] == true; asks != (api == "chat" && stream) {
			t.Errorf("the upstream got %v", sent.Request)
		}
		total := b.proxy.Total()
		if total.Requests != 1 || total.Input != input || total.Output != 200 || total.Cost != r.Cost || total.Spent {
			t.Errorf("in total %+v", total)
		}
	})
}

func TestErrorsOfTheUpstreamPass(t *testing.T) {
	for _, status := range []string{"429", "500", "529"} {
		requests(t, func(t *testing.T, api, path, body string, stream bool) {
			b := with(t, scripted(t, `turns: [{say: x, fault: {status: `+status+`}}]`, nil), nil)
			got := b.post(path, body)
			if got.body == "" || !strings.Contains(got.body, "the script has this request fail") || (status == "429") != (got.header.Get("Retry-After") == "1") {
				t.Errorf("got %+v", got)
			}
			r := <-b.arrived
			if want := "the language model answered with status " + status + ": the script has this request fail"; r.Error != want || r.Cost != 0 || r.Input != 0 || r.Status != got.status || r.Unpriced {
				t.Errorf("reported %+v", r)
			}
		})
	}
}

// TestCutStream has the upstream end its answer in the middle. The agent gets the same part, and the
// proxy counts it.
func TestCutStream(t *testing.T) {
	requests(t, func(t *testing.T, api, path, body string, stream bool) {
		b := with(t, scripted(t, `turns: [{say: `+strings.Repeat("word ", 400)+`, usage: {input: 1000, output: 600}, fault: {cut: true}}]`, nil), nil)
		got := b.post(path, body)
		r := <-b.arrived
		if !stream { // the connection ends before the head of the answer
			if got.status != 502 || r.Status != 0 || r.Cost != 0 || !strings.HasPrefix(r.Error, "the language model does not answer: ") || strings.Contains(got.body, "127.0.0.1") {
				t.Errorf("got %+v, reported %+v", got, r)
			}
			return
		}
		if got.err == nil || got.status != 200 {
			t.Errorf("the agent got %d and no error", got.status)
		}
		if r.Error != "the answer was cut: unexpected EOF" || r.Status != 200 || r.Cost == 0 {
			t.Errorf("reported %+v", r)
		}
		if api == "gemini" && r.Output == 600 && r.Input == 1000 { // each piece states the usage so far
			return
		}
		low, high := int64(200), int64(400)
		if api == "anthropic" { // the scripted model states all of it at the beginning
			low, high = 600, 600
		}
		if !r.Estimated || r.Output < low || r.Output > high || api == "anthropic" && r.Input != 1000 || api != "anthropic" && r.Input < 5 {
			t.Errorf("estimated %+v", r)
		}
	})
}

// stuck is an upstream that sends the beginning of an answer and then nothing more.
func stuck(beginning string, began chan<- struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if beginning != "" {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, beginning)
			_ = http.NewResponseController(w).Flush()
		}
		began <- struct{}{}
		<-r.Context().Done()
	}
}

const messageStart = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-test\",\"usage\":{\"input_tokens\":500,\"output_tokens\":1}}}\n\n" +
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"0123456789012345678901234567890123456789\"}}\n\n"

func TestAgentLeaves(t *testing.T) {
	for name, c := range map[string]struct {
		beginning string
		want      event.ModelRequest
	}{
		"in the middle": {messageStart, event.ModelRequest{Status: 200, Input: 500, Output: 10, Error: "the agent ended the request in the middle of the answer"}},
		"before it":     {"", event.ModelRequest{Input: 21, Error: "the agent ended the request before it was answered"}},
	} {
		t.Run(name, func(t *testing.T) {
			began := make(chan struct{}, 1)
			b := with(t, stuck(c.beginning, began), nil)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			if c.beginning == "" {
				go func() {
					<-began
					leave()
				}()
			}
			res, err := http.DefaultClient.Do(b.request(ctx, "/v1/messages", interfaces["anthropic"].wholeBody))
			if err == nil {
				_, err = io.ReadFull(res.Body, make([]byte, len(c.beginning)))
				leave()
				res.Body.Close()
			}
			if (err == nil) != (c.beginning != "") {
				t.Errorf("the request of the agent ended with the error %v", err)
			}
			r := <-b.arrived
			if r.Status != c.want.Status || r.Input != c.want.Input || r.Output != c.want.Output || r.Error != c.want.Error || !r.Estimated || r.Model != "claude-test" || r.Cost == 0 {
				t.Errorf("reported %+v", r)
			}
		})
	}
}

// TestFirstBytesPassAtOnce has the upstream send the rest of its answer only when the agent has the
// beginning.
func TestFirstBytesPassAtOnce(t *testing.T) {
	rest := make(chan struct{})
	b := with(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-rest
		_, _ = io.WriteString(w, messageStart)
		_ = http.NewResponseController(w).Flush()
		<-rest
		_, _ = io.WriteString(w, "data: {\"usage\":{\"output_tokens\":7}}\n\n")
	}), nil)
	res, err := http.DefaultClient.Do(b.request(t.Context(), "/v1/messages", "{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	rest <- struct{}{}
	first := make([]byte, len(messageStart))
	if _, err := io.ReadFull(res.Body, first); err != nil || string(first) != messageStart {
		t.Fatalf("%q, %v", first, err)
	}
	rest <- struct{}{}
	if _, err := io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	if r := <-b.arrived; r.Input != 500 || r.Output != 7 || r.Estimated || r.Error != "" {
		t.Errorf("reported %+v", r)
	}
}

func TestUpstreamIsAbsent(t *testing.T) {
	b := with(t, http.NotFoundHandler(), nil)
	b.upstream.Close()
	got := b.post("/v1/chat/completions", "{}")
	if got.status != 502 || !strings.Contains(got.body, `"message":"the language model cannot be reached`) || strings.Contains(got.body, "127.0.0.1") {
		t.Errorf("got %+v", got)
	}
	if r := <-b.arrived; r.Status != 0 || r.Cost != 0 || !strings.Contains(r.Error, "refused") {
		t.Errorf("reported %+v", r)
	}
}
