package mcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/mcp"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/value"
	"github.com/seer-engine/seer/sdk"
)

// runtime is as much of a runtime as a connection sees: one service, with its worker.
type runtime struct {
	*httptest.Server
	endpoint string

	mu      sync.Mutex
	face    sdk.Interface
	changed chan struct{} // closed and made anew with every interface
	refuse  protocol.Code // of connections to the worker
	logs    string        // "" = the token may not read them
	answer  func(c *served)
	calls   map[string]*served
}

// served is a call that has arrived.
type served struct {
	t         *testing.T
	head      protocol.FrameHeader
	args      string        // the body
	cancelled chan struct{} // closed when it is

	mu     sync.Mutex
	conns  []io.Writer
	frames [][]byte // that a later attach gets again
	n      int
	ended  bool
	detach bool // it goes on with nobody waiting
}

func newRuntime(t *testing.T, functions ...sdk.Function) *runtime {
	t.Helper()
	r := &runtime{
		face:    sdk.Interface{Module: "tools", Doc: "Tools of a test.", Functions: functions, CodeHash: "1"},
		changed: make(chan struct{}), calls: map[string]*served{},
	}
	r.answer = func(c *served) { c.result(c.args) }
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { r.serve(t, w, req) }))
	_ = r.Listener.Close()
	r.Listener, r.endpoint = l, "unix:"+socket
	r.Start()
	t.Cleanup(r.Close)
	return r
}

func (r *runtime) serve(t *testing.T, w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Seer", "1")
	r.mu.Lock()
	refuse, logs := r.refuse, r.logs
	r.mu.Unlock()
	rest, ok := strings.CutPrefix(req.URL.Path, "/v1/services/tools")
	id, ofCall := strings.CutPrefix(rest, "/calls/")
	switch {
	case req.Header.Get("Authorization") != "Bearer secret":
		fault(w, protocol.Unauthorized)
	case !ok:
		fault(w, protocol.NotFound)
	case rest == "":
		r.describe(w, req)
	case rest == "/connect" && refuse != "":
		fault(w, refuse)
	case rest == "/connect":
		r.connect(t, w)
	case rest == "/calls":
		r.list(w, req.URL.Query().Get("id"))
	case ofCall && req.Method == http.MethodDelete:
		r.cancel(id)
		w.Write([]byte("{}"))
	case rest == "/logs" && logs != "":
		record := append([]byte{1, byte(len(logs)), 0, 0, 0}, logs...)
		w.Write(record)
	case rest == "/logs":
		fault(w, protocol.Forbidden)
	default:
		fault(w, protocol.NotFound)
	}
}

func fault(w http.ResponseWriter, code protocol.Code) {
	w.WriteHeader(code.Status())
	json.NewEncoder(w).Encode(map[string]any{"error": protocol.Error{Code: code, Message: "no"}})
}

func (r *runtime) describe(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	face, changed := r.face, r.changed
	r.mu.Unlock()
	if req.URL.Query().Get("unless") == face.CodeHash {
		select {
		case <-changed:
		case <-req.Context().Done():
		case <-time.After(time.Second):
		}
		r.mu.Lock()
		face = r.face
		r.mu.Unlock()
	}
	json.NewEncoder(w).Encode(protocol.Service{Name: "tools", State: protocol.ServiceReady, Interface: &face})
}

// serveAgain gives the service other functions.
func (r *runtime) serveAgain(hash string, functions ...sdk.Function) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.face = sdk.Interface{Module: "tools", CodeHash: hash, Functions: functions}
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *runtime) connect(t *testing.T, w http.ResponseWriter) {
	conn, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nSeer: 1\r\nConnection: Upgrade\r\nUpgrade: seer-frames/2\r\n\r\n")
	var mine []*served
	r.frames(t, conn, rw.Reader, func(c *served) { mine = append(mine, c) })
	for _, c := range mine {
		c.lost(conn)
	}
}

// frames reads what a client sends until it is gone.
func (r *runtime) frames(t *testing.T, conn net.Conn, in *bufio.Reader, own func(*served)) {
	for {
		h, size, err := protocol.ReadFrameHeader(in)
		if err != nil {
			return
		}
		body := make([]byte, size)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		switch h.Kind {
		case protocol.FrameCall:
			c := &served{t: t, head: h, args: string(body), cancelled: make(chan struct{}), conns: []io.Writer{conn}}
			r.mu.Lock()
			r.calls[h.ID] = c
			answer := r.answer
			r.mu.Unlock()
			own(c)
			go answer(c)
		case protocol.FrameAttach:
			r.mu.Lock()
			c := r.calls[h.ID]
			r.mu.Unlock()
			if c == nil {
				protocol.WriteFrame(conn, protocol.FrameHeader{Kind: protocol.FrameError, ID: h.ID, Error: &protocol.CallError{Code: protocol.CallUnknown, Message: "unknown"}}, nil)
				continue
			}
			own(c)
			c.attach(conn, h)
		case protocol.FrameCalls:
			r.mu.Lock()
			c := r.calls[h.ID]
			r.mu.Unlock()
			data, err := json.Marshal([]protocol.Call{{ID: h.ID, State: protocol.CallRunning, Detached: c != nil && c.isDetached()}})
			if err != nil {
				t.Error(err)
			}
			protocol.WriteFrame(conn, protocol.FrameHeader{Kind: protocol.FrameCalls, ID: h.ID}, data)
		case protocol.FrameCancel:
			r.cancel(h.ID)
		}
	}
}

func (r *runtime) cancel(id string) {
	r.mu.Lock()
	c := r.calls[id]
	r.mu.Unlock()
	if c == nil {
		return
	}
	c.mu.Lock()
	ended := c.ended
	c.mu.Unlock()
	if !ended {
		select {
		case <-c.cancelled:
		default:
			close(c.cancelled)
		}
		c.fails(protocol.CallError{Code: protocol.CallCancelled, Message: "the call was cancelled"})
	}
}

func (r *runtime) list(w http.ResponseWriter, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := []protocol.Call{}
	for _, c := range r.calls {
		if id == "" || id == c.head.ID {
			list = append(list, protocol.Call{ID: c.head.ID, Function: c.head.Fn, State: protocol.CallRunning})
		}
	}
	json.NewEncoder(w).Encode(map[string]any{"calls": list})
}

// answers makes every call do this from now on.
func (r *runtime) answers(f func(c *served)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = f
}

// returns makes every call return this JSON from now on.
func (r *runtime) returns(text string) { r.answers(func(c *served) { c.result(text) }) }

func (r *runtime) refuses(code protocol.Code) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = code
}

// call is the one call that has arrived of a function.
func (r *runtime) call(fn string) *served {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		if c.head.Fn == fn {
			return c
		}
	}
	return nil
}

func (r *runtime) connection() client.Connection {
	return client.Connection{Version: 1, Sandbox: "sb-test", Service: "tools", Endpoint: r.endpoint, Token: "secret"}
}

func (c *served) send(h protocol.FrameHeader, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	h.ID = c.head.ID
	if h.Kind != protocol.FrameQueued {
		c.n++
		h.N = c.n
	}
	c.ended = h.Kind == protocol.FrameResult || h.Kind == protocol.FrameError
	var frame bytes.Buffer
	if err := protocol.WriteFrame(&frame, h, body); err != nil {
		c.t.Error(err)
	}
	if h.Kind != protocol.FrameQueued {
		c.frames = append(c.frames, frame.Bytes())
	}
	for _, w := range c.conns {
		w.Write(frame.Bytes())
	}
}

func (c *served) attach(w io.Writer, h protocol.FrameHeader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.detach = c.detach || h.Detach
	for _, f := range c.frames[min(max(h.From-1, 0), len(c.frames)):] {
		w.Write(f)
	}
	c.conns = append(c.conns, w)
}

// lost forgets a connection.
func (c *served) lost(conn io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.conns[:0]
	for _, w := range c.conns {
		if w != conn {
			kept = append(kept, w)
		}
	}
	c.conns = kept
}

func (c *served) isDetached() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.detach
}

func (c *served) followers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.conns)
}

func (c *served) queued(position int) {
	c.send(protocol.FrameHeader{Kind: protocol.FrameQueued, Position: &position}, nil)
}
func (c *served) prints(text string) {
	c.send(protocol.FrameHeader{Kind: protocol.FrameOutput, Stream: 1}, []byte(text))
}
func (c *served) item(text string) {
	c.send(protocol.FrameHeader{Kind: protocol.FrameItem}, []byte(text))
}
func (c *served) result(text string) {
	h := protocol.FrameHeader{Kind: protocol.FrameResult}
	h.Tagged = strings.Contains(text, "$seer")
	c.send(h, []byte(text))
}
func (c *served) fails(e protocol.CallError) {
	c.send(protocol.FrameHeader{Kind: protocol.FrameError, Error: &e}, nil)
}

// body returns a value with buffers.
func (c *served) body(v value.Value) {
	h := protocol.FrameHeader{Kind: protocol.FrameResult}
	h.Tagged = v.Tagged
	c.send(h, v.Bytes())
}

// fixed serves always the same connection.
func (r *runtime) fixed() mcp.Source { return mcp.Fixed(r.connection()) }

func (c *served) waitCancelled(t *testing.T) {
	t.Helper()
	select {
	case <-c.cancelled:
	case <-time.After(patience):
		t.Error("the call went on in the sandbox")
	}
}
