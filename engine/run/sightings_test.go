package run

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

func looking() *sightings {
	names := namesearch.Compile(namesearch.Spec{Names: []string{"acme/zephyr-quasar-9b"}})
	return &sightings{names: names, times: map[string]int{}}
}

// chunked is an answer whose body comes in these chunks.
func chunked(header string, chunks ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 200 OK\r\n%sTransfer-Encoding: chunked\r\n\r\n", header)
	for _, c := range chunks {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(c), c)
	}
	return b.String() + "0\r\n\r\n"
}

func sized(header, body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", header, len(body), body)
}

// Names are counted as the agent's program reads them, whatever carries them.
func TestAnswersAreCounted(t *testing.T) {
	const (
		jsonKind = "Content-Type: application/json\r\n"
		lines    = "Content-Type: application/x-ndjson\r\n"
		output   = "Content-Type: application/octet-stream\r\nX-Seer-Offset: 0\r\n"
	)
	event := func(text string) string {
		return fmt.Sprintf(`{"n":1,"t":"output","output":{"output_type":"stream","name":"stdout","text":%q}}`+"\n", text)
	}
	record := func(stream protocol.RecordStream, text string) string {
		return string(protocol.AppendRecord(nil, stream, []byte(text)))
	}
	notebook := `{"cells":[{"outputs":[{"output_type":"stream","text":["a zeph","yr b\n","quasar\n"]}]}]}`
	for name, c := range map[string]struct {
		wire  string
		times map[string]int
	}{
		"text":                   {sized("", "Zephyr, then zephyr"), map[string]int{"x": 2}},
		"across chunks":          {chunked("", "zep", "hyr"), map[string]int{"x": 1}},
		"across events":          {chunked(lines, event("a zep"), event("hyr b"), event("quasar")), map[string]int{"x": 2}},
		"across records":         {chunked(output, record(1, "zep"), record(2, "an error"), record(1, "hyr\n")), map[string]int{"x": 1}},
		"JSON escapes":           {sized(jsonKind, `{"a": "\u007aephyr", "zephyr": 1}`), map[string]int{"x": 2}},
		"two texts are no name":  {sized(jsonKind, `{"a": ["zep", "hyr"], "b": "zep", "c": "hyr"}`), map[string]int{"x": 0}},
		"escapes at the end":     {sized(jsonKind, `["a\\", "zephyr\"", "\ud83d\ude00 zep\u0068yr\n", "\uzephyr", "\ud800\u007aephyr"]`), map[string]int{"x": 4}},
		"a picture":              {sized(jsonKind, `{"data": {"image/png": "zephyr", "text/plain": "quasar"}}`), map[string]int{"x": 1}},
		"colours":                {sized(jsonKind, `{"traceback": ["\u001b[31mzephyr\u001b[0m-\u001b[31mquasar"]}`), map[string]int{"x": 1}},
		"gzip":                   {sized(jsonKind+"Content-Encoding: gzip\r\n", testkit.Gzip(`{"a": "zephyr"}`)), map[string]int{"x": 1}},
		"no JSON":                {sized(jsonKind, `{"a": zephyr`), map[string]int{"x": 1}},
		"several answers":        {sized("", "zephyr") + chunked(jsonKind, `["quasar"]`) + sized("", "zephyr"), map[string]int{"x": 3}},
		"a copy of the notebook": {strings.Repeat(sized(jsonKind+"X-Seer-Version: 3\r\n", notebook), 3), map[string]int{fromSaved: 2}},
		"after an upgrade":       {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n\x00\x01zephyr\x00", map[string]int{"x": 1}},
		"no HTTP":                {"a zephyr\r\n\r\nand zephyr", map[string]int{"x": 2}},
		"cut off":                {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nzephyr", map[string]int{"x": 1}},
	} {
		s := looking()
		s.answers("x", strings.NewReader(c.wire))
		for where, want := range c.times {
			if s.times[where] != want {
				t.Errorf("%s: %v, want %v", name, s.times, c.times)
			}
		}
	}
}

// A relay that is watched passes on the same bytes, and much of them.
func TestWatchedRelay(t *testing.T) {
	body := strings.Repeat("the loss is 0.5\n", 1<<20) + "zephyr"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })}
	go func() { _ = srv.Serve(l) }()
	defer srv.Close()
	s := looking()
	dial := func(context.Context) (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) }
	r, err := listenRelay(t.TempDir(), dial, func() {}, s.watch(fromSandbox))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", r.socket)
	}}}
	for range 2 {
		resp, err := client.Get("http://sandbox/")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if resp.Body.Close(); err != nil || string(got) != body {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	r.close()
	s.reading.Wait()
	if want := map[string]int{fromSandbox: 2}; !reflect.DeepEqual(s.times, want) {
		t.Errorf("%v", s.times)
	}
}

// Texts are read as encoding/json reads them.
func FuzzTexts(f *testing.F) {
	for _, text := range []string{"", `a"\`, "\U0001f600\n\x00", "\\\\", "\xff\xed\xa0\x80"} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		data, err := json.Marshal(map[string][]string{a: {b}})
		if err != nil {
			t.Fatal(err)
		}
		var want map[string][]string
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		r := textReader{in: bufio.NewReaderSize(bytes.NewReader(data), 16)}
		key, isKey, err := r.next(io.Discard)
		value, there := want[string(key)]
		if !isKey || err != nil || !there {
			t.Fatalf("%q is read as the key %q, %v, %v", data, key, isKey, err)
		}
		if text, isKey, err := r.next(io.Discard); string(text) != value[0] || isKey || err != nil {
			t.Errorf("%q is read as %q, %v, %v", data, text, isKey, err)
		}
	})
}

// BenchmarkAnswers reads a notebook's events of much output.
func BenchmarkAnswers(b *testing.B) {
	text := strings.Repeat("step 100: the loss is 0.1234, and nothing is named here\n", 1000)
	event := fmt.Sprintf(`{"n":1,"t":"output","output":{"output_type":"stream","name":"stdout","text":%q}}`+"\n", text)
	wire := sized("Content-Type: application/x-ndjson\r\n", strings.Repeat(event, 100))
	b.SetBytes(int64(len(wire)))
	for b.Loop() {
		s := looking()
		s.answers("x", strings.NewReader(wire))
	}
}

// A name that comes in pieces is found in what the agent says, and not across two texts.
func TestMessagesAreCounted(t *testing.T) {
	s := looking()
	s.said = s.names.NewCounter()
	chunk := func(kind, text string) map[string]any {
		return map[string]any{"sessionUpdate": kind, "content": map[string]any{"type": "text", "text": text}}
	}
	for _, update := range []map[string]any{
		chunk("agent_message_chunk", "It is zep"), chunk("agent_message_chunk", "hyr."),
		{"sessionUpdate": "tool_call"},
		chunk("agent_thought_chunk", "zep"), {"sessionUpdate": "plan"}, chunk("agent_message_chunk", "hyr quas"), chunk("agent_message_chunk", "ar"),
	} {
		s.hears(update)
	}
	if n := s.said.Count(); n != 2 {
		t.Errorf("%d names", n)
	}
	(*sightings)(nil).hears(chunk("agent_message_chunk", "x"))
}
