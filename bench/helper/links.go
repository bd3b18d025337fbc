package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/enginetest/container"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/engine/service"
)

const bootPort = 8000

// machine starts what a cloud would start, without one: the loader in a container,
// and the runtime, which is pushed to it. With an interface, that is served and
// called once.
func (h *helper) machine(ctx context.Context, r request) (any, error) {
	h.machines++
	dir := filepath.Join(r.Dir, fmt.Sprint(h.machines))
	defer os.RemoveAll(dir)
	begin := time.Now()
	token := protocol.NewToken()
	env, err := loader.BootEnv(loader.Boot{Listen: fmt.Sprintf("tcp:0.0.0.0:%d", bootPort), AdminSHA256: protocol.HashToken(token)})
	if err != nil {
		return nil, err
	}
	c, err := container.Start(dir, container.Spec{Argv: loader.Command("python3"), Env: env, Python: h.python, Output: os.Stderr})
	if err != nil {
		return nil, err
	}
	defer c.Stop(5 * time.Second)
	machine, err := client.New("http://"+c.Address(bootPort), token)
	if err != nil {
		return nil, err
	}
	defer machine.Close()
	if _, err := machine.Boot(ctx, client.BootOptions{Binary: func(goos, goarch string) (string, error) {
		return filepath.Join(h.artifacts, "seer-runtime-"+goos+"-"+goarch), nil
	}}); err != nil {
		return nil, err
	}
	if r.Interface != "" {
		if _, err := service.Load(ctx, machine, service.Spec{Endpoint: machine.Endpoint(), Name: "bench_tools", File: r.Interface}); err != nil {
			return nil, err
		}
		if _, err := machine.Calls().Call(ctx, "bench_tools", "echo", []any{"x"}, nil); err != nil {
			return nil, err
		}
	}
	return since(begin), nil
}

// caller makes one call of a served function.
type caller func(ctx context.Context, fn string, args []any, out *string) error

// call calls a served function with a KiB: through the runtime, or with Direct on a
// connection of its own to the worker.
func (h *helper) call(ctx context.Context, r request) (any, error) {
	key := fmt.Sprint(r.Sandbox, "/", r.Service, " ", r.Direct)
	call := h.callers[key]
	if call == nil {
		var err error
		if call, err = h.newCaller(ctx, r); err != nil {
			return nil, err
		}
		h.callers[key] = call
	}
	text := strings.Repeat("x", 1024)
	return repeat(r.Count, func() error {
		var got string
		err := call(ctx, "echo", []any{text}, &got)
		if err == nil && got != text {
			err = fmt.Errorf("a call answered %.60q", got)
		}
		return err
	})
}

func (h *helper) newCaller(ctx context.Context, r request) (caller, error) {
	s, err := h.open(ctx, r.Sandbox)
	if err != nil {
		return nil, err
	}
	if !r.Direct {
		v, err := s.Service(ctx, r.Service)
		return func(ctx context.Context, fn string, args []any, out *string) error {
			return v.Call(ctx, fn, args, nil, out)
		}, err
	}
	conn, err := s.Runtime().Calls().Connect(ctx, r.Service) // until this program ends
	return func(ctx context.Context, fn string, args []any, out *string) error {
		result, err := conn.Call(ctx, fn, args, nil)
		if err != nil {
			return err
		}
		return json.Unmarshal(result, out)
	}, err
}

// pong sends a KiB over a WebSocket and reads it back, both ends in this program.
func (h *helper) pong(ctx context.Context, r request) (any, error) {
	if h.socket == nil {
		server := httptest.NewServer(http.HandlerFunc(echo)) // until this program ends
		var err error
		if h.socket, _, err = websocket.Dial(ctx, server.URL, nil); err != nil { //nolint:bodyclose // it has none
			return nil, err
		}
	}
	data := []byte(strings.Repeat("x", 1024))
	return repeat(r.Count, func() error {
		if err := h.socket.Write(ctx, websocket.MessageBinary, data); err != nil {
			return err
		}
		_, got, err := h.socket.Read(ctx)
		if err == nil && len(got) != len(data) {
			err = fmt.Errorf("%d bytes came back", len(got))
		}
		return err
	})
}

func echo(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	for {
		kind, data, err := conn.Read(r.Context())
		if err != nil || conn.Write(r.Context(), kind, data) != nil {
			return
		}
	}
}

// put sends a file as the body of a plain request to a server that stores it.
func (h *helper) put(ctx context.Context, r request) (any, error) {
	stored := filepath.Join(r.Dir, "put")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if err := store(stored, req.Body); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	begin := time.Now()
	if err := send(ctx, server.URL, r.File); err != nil {
		return nil, err
	}
	t := since(begin)
	return t, errors.Join(same(stored, r.File), os.Remove(stored))
}

func store(path string, from io.Reader) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

func send(ctx context.Context, url, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, f)
	if err != nil {
		return err
	}
	req.ContentLength = info.Size()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("PUT: %s", resp.Status)
	}
	return nil
}

// same compares the sizes of two files.
func same(a, b string) error {
	one, err := os.Stat(a)
	if err != nil {
		return err
	}
	other, err := os.Stat(b)
	if err == nil && one.Size() != other.Size() {
		err = fmt.Errorf("%s has %d bytes and %s has %d", a, one.Size(), b, other.Size())
	}
	return err
}
