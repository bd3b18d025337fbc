package meter_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seer-engine/seer/engine/agent/meter"
)

// TestTurns: the third request for a turn is refused in the format of its interface. Requests
// beside the conversation, and those that fail, are no turns.
func TestTurns(t *testing.T) {
	tools := map[string]string{
		"anthropic": `"tools":[{"name":"t"}]`, "responses": `"tools":[{"type":"function","name":"t"}]`,
		"chat": `"tools":[{"function":{"name":"t"}}]`, "gemini": `"tools":[{"functionDeclarations":[{"name":"t"}]}]`,
	}
	requests(t, func(t *testing.T, api, path, body string, stream bool) {
		var out atomic.Int64
		b := with(t, scripted(t, counted, nil), func(c *meter.Config) { c.MaxTurns, c.OutOfTurns = 2, func() { out.Add(1) } })
		failing := with(t, scripted(t, "turns: [{say: x, fault: {status: 500}}]", nil), func(c *meter.Config) { c.MaxTurns = 1 })
		long := strings.Repeat(" ", 300<<10) // more than is read to learn the model
		offer := strings.TrimSuffix(body, "}") + "," + long + tools[api] + "}"
		for n, request := range []struct {
			body   string
			status int
		}{{body, 200}, {offer, 200}, {body, 200}, {offer, 200}, {body, 200}, {offer, 400}, {offer, 400}, {body, 200}} {
			got := b.post(path, request.body)
			if got.status != request.status || request.status == 400 && !strings.Contains(got.body, "reached max_turns 2: ") {
				t.Errorf("request %d: %+v", n, got)
			}
		}
		if out.Load() != 1 {
			t.Errorf("OutOfTurns was called %d times", out.Load())
		}
		if got := b.post("/v1/embeddings", offer); got.status == 400 {
			t.Errorf("embeddings: %+v", got)
		}
		for n, status := range []int{500, 200, 400} {
			if got := failing.post(path, offer); got.status != status {
				t.Errorf("with a failure, request %d: %+v", n, got)
			}
		}
	})
}

// TestTurnsWithoutTools: each answer is a turn of a program that offers no tools.
func TestTurnsWithoutTools(t *testing.T) {
	requests(t, func(t *testing.T, api, path, body string, stream bool) {
		b := with(t, scripted(t, counted, nil), func(c *meter.Config) { c.MaxTurns = 2 })
		for n, status := range []int{200, 200, 400} {
			if got := b.post(path, body); got.status != status {
				t.Errorf("request %d: %+v", n, got)
			}
		}
	})
}

// TestTurnOfAFastAgent: an agent that goes on before an answer has ended gets no further one.
func TestTurnOfAFastAgent(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	var requests atomic.Int64
	b := with(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) > 1 {
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-end
	}), func(c *meter.Config) { c.MaxTurns = 1 })
	t.Cleanup(func() { close(end) }) // before the servers close
	const body = `{"model":"m","stream":true,"tools":[{"name":"t"}]}`
	first, err := http.DefaultClient.Do(b.request(t.Context(), "/v1/messages", body))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Body.Close()
	if _, err := bufio.NewReader(first.Body).ReadString('}'); err != nil {
		t.Fatal(err)
	}
	if got := b.post("/v1/messages", body); got.status != http.StatusBadRequest || !strings.Contains(got.body, "reached max_turns 1") {
		t.Errorf("%+v", got)
	}
}
