package meter_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/agent/meter"
	"github.com/seer-engine/seer/internal/testkit"
)

// heap is the memory in use after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// repeated reads a text again and again.
type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

// long is a JSON text of size bytes and more: before, filler, and after.
func long(before, filler, after string, size int64) (io.Reader, int64) {
	filler = strings.Repeat(filler, 1+64<<10/len(filler))
	n := size / int64(len(filler)) * int64(len(filler))
	return io.MultiReader(strings.NewReader(before), io.LimitReader(&repeated{text: filler}, n), strings.NewReader(after)), n + int64(len(before)+len(after))
}

// TestLargeBodies sends and answers 50 MB, in one text and in many, and asks how much memory that
// takes while it is under way.
func TestLargeBodies(t *testing.T) {
	const most = 8 << 20
	for name, c := range map[string]struct{ path, before, filler, after, answerBefore, answerFiller, answerAfter string }{
		"a text": {
			"/v1/chat/completions", `{"model":"gpt-test","messages":[{"content":"`, "some words ", `"}],"stream":true}`,
			`{"model":"gpt-test","choices":[{"message":{"content":"`, "more words ", `"}}],"usage":{"prompt_tokens":5,"completion_tokens":6}}`,
		},
		"an image": {
			"/v1/messages", `{"model":"claude-test","messages":[{"content":[{"source":{"data":"`, "iVBORw0KGgoAAAANSUhEUgAA", `"}}]}]}`,
			`{"model":"claude-test","content":[{"text":"`, "x", `"}],"usage":{"input_tokens":5,"output_tokens":6}}`,
		},
		"many messages": {
			"/v1/responses", `{"model":"gpt-test","input":[`, `{"role":"user","content":"go"},`, `{}]}`,
			"data: {\"response\":{\"model\":\"gpt-test\"}}\n\n", "data: {\"delta\":\"x\"}\n\n", "data: {\"response\":{\"usage\":{\"input_tokens\":5,\"output_tokens\":6}}}\n\n",
		},
		"nested": {
			"/v1/messages", `{"model":"claude-test","messages":`, `[`, ``,
			`{"x":`, `{"a":`, ``,
		},
	} {
		t.Run(name, func(t *testing.T) {
			size := int64(50 << 20)
			if testkit.Race {
				size /= 5
			}
			if name == "many messages" { // which take longer to read
				size /= 4
			}
			var got struct{ sent, duringRequest, duringAnswer int64 }
			b := with(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got.sent, _ = io.Copy(io.Discard, r.Body)
				got.duringRequest = heap()
				answer, _ := long(c.answerBefore, c.answerFiller, c.answerAfter, size)
				_, _ = io.Copy(w, answer)
				got.duringAnswer = heap()
			}), func(c *meter.Config) { c.Budget = 1e6 })
			body, length := long(c.before, c.filler, c.after, size)
			r := b.request(t.Context(), c.path, "")
			r.Body, r.ContentLength = io.NopCloser(body), length
			begin := heap()
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if n, err := io.Copy(io.Discard, res.Body); err != nil || n < size*9/10 || got.sent < length {
				t.Errorf("%d bytes of the answer, %v; %d of the request", n, err, got.sent)
			}
			if got.duringRequest-begin > most || got.duringAnswer-begin > most {
				t.Errorf("memory at the beginning %d, behind the request %d, in the answer %d", begin, got.duringRequest, got.duringAnswer)
			}
			report := <-b.arrived
			if name == "nested" {
				if !report.Estimated {
					t.Errorf("reported %+v", report)
				}
			} else if report.Input != 5 || report.Output != 6 || report.Estimated {
				t.Errorf("reported %+v", report)
			}
		})
	}
}

// TestEstimateOfAnImage counts the data of an image as little.
func TestEstimateOfAnImage(t *testing.T) {
	b := with(t, &recorded{answer: "no JSON"}, nil)
	b.post("/v1/messages", fmt.Sprintf(`{"model":"claude-test","data":"%s"}`, strings.Repeat("A", 5<<20)))
	if r := <-b.arrived; !r.Estimated || r.Input < 250 || r.Input > 300 || r.Output != 0 {
		t.Errorf("reported %+v", r)
	}
}

// TestAnswersThatAreNoJSON passes them and estimates.
func TestAnswersThatAreNoJSON(t *testing.T) {
	for _, answer := range []string{"<html><body>Sign in</body></html>", "\x00\xff\xfe", "null", "[]", `"text"`, "data: [DONE]\n\n", "data: {\"usage\":{\"input_tokens\":\"many\",\"output_tokens\":-5}}\n\n", `{"usage":{"input_tokens":1e300}}`} {
		b := with(t, &recorded{answer: answer}, nil)
		if got := b.post("/v1/messages", `{"model":"claude-test"}`); got.body != answer || got.status != 200 {
			t.Errorf("%q: %+v", answer, got)
		}
		if r := <-b.arrived; !r.Estimated || r.Input != 6 || r.Output != 0 || r.Error != "" {
			t.Errorf("%q: reported %+v", answer, r)
		}
	}
}

func TestCompressedAnswers(t *testing.T) {
	for name, answer := range map[string]string{"whole": compressed(small), "cut": compressed(small)[:30], "wrong": "no gzip", "empty": ""} {
		b := with(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "identity" {
				t.Errorf("%s: asked for %q", name, r.Header.Get("Accept-Encoding"))
			}
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, answer)
		}), nil)
		r := b.request(t.Context(), "/v1/messages", `{"model":"claude-test"}`)
		r.Header.Set("Accept-Encoding", "gzip") // the client does not unpack by itself then
		if got := do(t, r); got.body != answer {
			t.Errorf("%s: %q", name, got.body)
		}
		if r := <-b.arrived; r.Estimated != (name != "whole") || name == "whole" && (r.Input != 10 || r.Output != 1) {
			t.Errorf("%s: reported %+v", name, r)
		}
	}
}
