package record_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/value"
	"github.com/seer-engine/seer/engine/record"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// journalServer gives segments as a runtime does, in pieces of any size.
type journalServer struct {
	mu       sync.Mutex
	segments [][]byte // the last one grows
	piece    int      // bytes for each request; 0 = all
}

func (s *journalServer) add(header, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.segments) - 1
	s.segments[last] = append(s.segments[last], frame(header, body)...)
}

func frame(header, body string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(header)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(body)))
	return append(append(b, header...), body...)
}

func (s *journalServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, _ := strconv.Atoi(r.URL.Query().Get("segment"))
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	data := s.segments[n-1][offset:]
	cut := s.piece > 0 && s.piece < len(data)
	if cut {
		data = data[:s.piece]
	}
	w.Header().Set("Seer", "1")
	w.Header().Set(protocol.HeaderSegment, strconv.Itoa(n))
	w.Header().Set(protocol.HeaderOffset, strconv.Itoa(offset))
	w.Header().Set("Trailer", protocol.HeaderNext)
	_, _ = w.Write(data)
	if !cut && n < len(s.segments) {
		w.Header().Set(protocol.HeaderNext, strconv.Itoa(n+1))
	}
}

// onSocket serves h on a Unix socket and returns its endpoint.
func onSocket(t *testing.T, h http.Handler) string {
	t.Helper()
	l := testkit.UnixSocket(t)
	testkit.ServeHTTP(t, l, h)
	return "unix:" + l.Addr().String()
}

func clientOf(t *testing.T, endpoint, token string) *client.Client {
	t.Helper()
	c, err := client.New(endpoint, token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

var face = sdk.Interface{Module: "tools", CodeHash: "sha256:abc", Functions: []sdk.Function{
	{Name: "f", Params: []sdk.Param{{Name: "x"}, {Name: "seed"}}, InputSchema: json.RawMessage(`{"type":"object"}`)},
	{Name: "gen", Stream: true, InputSchema: json.RawMessage(`{"type":"object"}`)},
}}

const begin = `{"t":"begin","segment":1,"time":1,"generation":1,"code_hash":"sha256:abc","models":[{"name":"org/m","revision":"r1"},{"revision":"r2"}],"datasets":[{"name":"org/d","revision":"r3"}],"known":[],"use":{}}`

// run is the journal of a small run.
func run() *journalServer {
	s := &journalServer{segments: [][]byte{nil}}
	s.add(begin, "")
	s.add(`{"t":"queued","id":"call-0001","fn":"f","token":"main","client":"c","time":10}`, `{"kwargs": {"x": 1}, "args": [], "z":0}`)
	s.add(`{"t":"started","id":"call-0001","fn":"f","token":"main","client":"c","time":11}`, "")
	s.add(`{"t":"output","id":"call-0001","n":1,"stream":2,"time":11.5}`, "half ")
	s.add(`{"t":"started","id":"call-0002","fn":"f","token":"main","client":"c","time":12}`, `{"args":[2,7],"kwargs":{}}`)
	s.add(`{"t":"result","id":"call-0001","n":2,"seconds":0.5,"time":12}`, `{"b": 1.50, "a": [1]}`)
	s.segments = append(s.segments, nil)
	s.add(`{"t":"begin","segment":2,"time":13,"generation":1,"code_hash":"sha256:abc","models":[],"known":[],"use":{}}`, "")
	s.add(`{"t":"error","id":"call-0002","seconds":1,"time":13,"error":{"code":"raised","type":"ValueError","message":"no"}}`, "")
	s.add(`{"t":"acked","id":"call-0002","time":13}`, "")
	s.add(`{"t":"refused","id":"call-0003","fn":"f","token":"t-1","reason":"no calls left","time":14}`, "")
	s.add(`{"t":"started","id":"call-0004","fn":"gen","token":"main","time":15}`, `{"args":[],"kwargs":{}}`)
	s.add(`{"t":"item","id":"call-0004","n":1,"tagged":true,"time":15}`, `{"$seer":{"float":"nan"}}`)
	s.add(`{"t":"item","id":"call-0004","n":2,"time":15}`, `"two"`)
	s.add(`{"t":"result","id":"call-0004","n":3,"seconds":0,"time":16}`, `null`)
	s.add(`{"t":"started","id":"call-0005","fn":"f","token":"main","time":17}`, `{"args":[3],"kwargs":{"seed":5}}`)
	return s
}

func recorded(t *testing.T, s *journalServer) (*record.Folder, []record.Entry) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a record é")
	w, err := record.Create(parent(t, dir), filepath.Base(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Service("tools", face); err != nil {
		t.Fatal(err)
	}
	r := record.NewRecorder(clientOf(t, onSocket(t, s), "admin").Services(), "tools", w, t.Errorf)
	if err := r.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	f, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := f.Entries()
	if err != nil {
		t.Fatal(err)
	}
	return f, entries
}

func TestRecord(t *testing.T) {
	f, entries := recorded(t, run())
	var told []string
	for _, e := range entries {
		told = append(told, fmt.Sprintf("%s %s %s seed=%s", e.ID, e.Function, e.State, e.Seed))
	}
	want := "call-0001 f done seed=,call-0002 f failed seed=7,call-0003 f refused seed=,call-0004 gen done seed=,call-0005 f interrupted seed=5"
	if got := strings.Join(told, ","); got != want {
		t.Fatalf("recorded\n%s\nwant\n%s", got, want)
	}
	first := entries[0]
	if first.Queued != 10 || first.Started != 11 || first.Ended != 12 || first.Seconds != 0.5 || first.CodeHash != "sha256:abc" || first.Models[0].Revision != "r1" || first.Models[1].Name != "" || first.Datasets[0].Revision != "r3" {
		t.Errorf("%+v", first)
	}
	v, err := f.Body(first.Result)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := v.Plain(value.PlainOptions{}); err != nil || string(text) != `{"b":1.50,"a":[1]}` {
		t.Errorf("the result is kept as %s, %v", text, err)
	}
	if v, err = f.Body(first.Output); err != nil || !strings.Contains(string(v.JSON), "half ") {
		t.Errorf("the output is kept as %s, %v", v.JSON, err)
	}
	if e := entries[2].Error; e == nil || e.Code != protocol.CallRefused || e.Message != "no calls left" {
		t.Errorf("refused: %+v", e)
	}
}

// TestRecordOfPieces cuts what comes at every length: nothing is lost or doubled.
func TestRecordOfPieces(t *testing.T) {
	_, want := recorded(t, run())
	for _, piece := range []int{400, 401, 407, 450, 511, 600, 999} {
		s := run()
		s.piece = piece
		if _, got := recorded(t, s); fmt.Sprint(testkit.JSON(t, got)) != fmt.Sprint(testkit.JSON(t, want)) {
			t.Fatalf("in pieces of %d bytes:\n%s\nwant\n%s", piece, testkit.JSON(t, got), testkit.JSON(t, want))
		}
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	w, err := record.Create(parent(t, dir), filepath.Base(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s := run()
	r := record.NewRecorder(clientOf(t, onSocket(t, s), "admin").Services(), "tools", w, t.Errorf)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Follow(ctx) }()
	testkit.Eventually(t, "four calls", func() bool { return w.Calls() >= 4 })
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	s.add(`{"t":"result","id":"call-0005","seconds":1,"time":18}`, `1`)
	if err := r.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	f, _ := record.Open(dir)
	if entries, err := f.Entries(); err != nil || len(entries) != 5 || entries[4].State != protocol.CallDone {
		t.Errorf("%d entries, the last %+v, %v", len(entries), entries[len(entries)-1], err)
	}
}

func TestALineThatIsCutIsNotThere(t *testing.T) {
	f, entries := recorded(t, run())
	path := filepath.Join(f.Dir(), "calls.jsonl")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data[:len(data)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Entries(); err != nil || len(got) != len(entries)-1 {
		t.Errorf("%d entries, %v", len(got), err)
	}
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	if _, err := record.Open(t.TempDir()); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "calls.jsonl") {
		t.Errorf("%v", err)
	}
}

// playing serves a record and returns a client of it.
func playing(t *testing.T, f *record.Folder) (*client.Client, func()) {
	t.Helper()
	p, err := record.NewPlayer(f)
	if err != nil {
		t.Fatal(err)
	}
	l := testkit.UnixSocket(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Serve(ctx, l, "token") }()
	end := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return clientOf(t, "unix:"+l.Addr().String(), "token"), end
}

func TestReplay(t *testing.T) {
	f, _ := recorded(t, run())
	c, _ := playing(t, f)
	ctx := t.Context()

	if s, err := c.Services().Get(ctx, "tools"); err != nil || s.Interface.CodeHash != "sha256:abc" {
		t.Errorf("described as %+v, %v", s, err)
	}
	var said string
	answer, err := c.Calls().Do(ctx, client.CallRequest{Service: "tools", Function: "f", Kwargs: map[string]any{"x": 1}, CallOptions: protocol.CallOptions{Output: true}},
		client.CallHandler{Output: func(stream int, text string) { said += fmt.Sprint(stream, text) }})
	if err != nil || said != "2half " {
		t.Errorf("answered %s, said %q, %v", answer.Data, said, err)
	}
	if _, err := c.Calls().Do(ctx, client.CallRequest{Service: "tools", Function: "f", Args: []any{2, 7}}, client.CallHandler{}); !errors.Is(err, &protocol.CallError{Code: protocol.CallRaised}) {
		t.Errorf("a call that raised gives %v", err)
	}
	n := 0
	for _, err := range c.Calls().Items(ctx, client.CallRequest{Service: "tools", Function: "gen"}, client.CallHandler{}) {
		if err != nil {
			t.Error(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d items", n)
	}
	_, err = c.Calls().Do(ctx, client.CallRequest{Service: "tools", Function: "f", Kwargs: map[string]any{"x": 99}}, client.CallHandler{})
	if !errors.Is(err, &protocol.CallError{Code: protocol.CallRaised}) || !strings.Contains(err.Error(), `"x":99`) {
		t.Errorf("what was not recorded gives %v", err)
	}
	if _, err = c.Calls().Do(ctx, client.CallRequest{Service: "other", Function: "f"}, client.CallHandler{}); protocol.CodeOf(err) != protocol.NotFound {
		t.Errorf("an unknown service gives %v", err)
	}
}

// TestReplayKeepsTheOrderOfKeys: an agent can act on the order of a dict.
func TestReplayKeepsTheOrderOfKeys(t *testing.T) {
	s := run()
	s.add(`{"t":"started","id":"call-0006","fn":"f","token":"main","time":18}`, `{"args":[{"z":1,"a":2}],"kwargs":{}}`)
	s.add(`{"t":"item","id":"call-0006","n":1,"time":18}`, `{"y": 1, "b": 2}`)
	s.add(`{"t":"result","id":"call-0006","n":2,"tagged":true,"time":18}`, `{"z": 1, "a": [{"d": {"$seer":{"float":"nan"}}, "c": 3}]}`)
	f, _ := recorded(t, s)
	c, _ := playing(t, f)
	for _, argument := range []string{`{"z":1,"a":2}`, `{"a":2,"z":1}`} { // for whom to answer, the order does not count
		var item string
		answer, err := c.Calls().Do(t.Context(), client.CallRequest{Service: "tools", Function: "f", Args: []any{json.RawMessage(argument)}},
			client.CallHandler{Item: func(b client.Body) error { item = string(b.JSON()); return nil }})
		if want := `{"z":1,"a":[{"d":{"$seer":{"float":"nan"}},"c":3}]}`; err != nil || string(answer.JSON()) != want || item != `{"y":1,"b":2}` {
			t.Errorf("%s is answered with the item %s and %s, %v", argument, item, answer.JSON(), err)
		}
	}
}

func TestReplayGivesAnswersInTheirOrder(t *testing.T) {
	s := &journalServer{segments: [][]byte{nil}}
	s.add(begin, "")
	for i, result := range []string{"1", "2", "2"} {
		fn := []string{"f", "f", "gen"}[i]
		s.add(fmt.Sprintf(`{"t":"started","id":"call-%04d","fn":%q,"token":"main","time":1}`, i, fn), `{"args":[],"kwargs":{}}`)
		s.add(fmt.Sprintf(`{"t":"result","id":"call-%04d","time":2}`, i), result)
	}
	f, _ := recorded(t, s)
	c, end := playing(t, f)
	ask := func(fn string) string {
		got, err := c.Calls().Call(t.Context(), "tools", fn, nil, nil)
		if err != nil {
			return err.Error()
		}
		return string(got)
	}
	if a, b, more := ask("f"), ask("f"), ask("f"); a != "1" || b != "2" || !strings.Contains(more, "different answers") {
		t.Errorf("%s, %s, then %s", a, b, more)
	}
	if a, b := ask("gen"), ask("gen"); a != "2" || b != "2" {
		t.Errorf("%s, %s", a, b)
	}
	end()
	if _, err := c.Calls().Call(t.Context(), "tools", "f", nil, nil); err == nil {
		t.Error("it answers after its end")
	}
}

// parent opens the folder that dir is in.
func parent(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}
