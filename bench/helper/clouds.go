package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
)

// cloud is a fake of one within this program, without its delays and limits.
type cloud struct {
	env   map[string]string // what leads Seer to it
	close func()

	host         *host.Host
	wasm, native sdk.Provider
	handle       string // of a machine, rented for Observe
}

// start begins to serve a cloud and tells the variables that lead to it.
func (h *helper) start(_ context.Context, r request) (any, error) {
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return nil, err
	}
	c := &cloud{}
	switch r.Cloud {
	case "modal":
		m := fakemodal.New(fakemodal.Options{Dir: r.Dir, Python: h.python, Pace: -1, StartTime: -1})
		if err := m.Start(); err != nil {
			return nil, err
		}
		c.env, c.close = m.Env(), func() { _ = m.Close() }
	case "runpod":
		p, err := fakerunpod.New(fakerunpod.Options{Dir: r.Dir, Python: h.python, Limits: []fakerunpod.Window{}})
		if err != nil {
			return nil, err
		}
		c.env, c.close = p.Env(), p.Close
	case "page":
		var err error
		if c.env, c.close, err = servePage(); err != nil {
			return nil, err
		}
		c.handle = pageHandle
	default:
		return nil, fmt.Errorf("there is no cloud %q", r.Cloud)
	}
	h.clouds[r.Cloud] = c
	return c.env, nil
}

const pageHandle = "abcdefghijklmn"

// servePage is a RunPod that always answers with the same KiB.
func servePage() (env map[string]string, stop func(), err error) {
	text := fmt.Sprintf(`{"pods":[{"id":%q,"status":"RUNNING","runtime":{"uptime":1},"ports":["8000/http"]}],"more":"`, pageHandle)
	page := []byte(text + strings.Repeat("x", 1024-len(text)-len(`"}`)) + `"}`)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(page)
	})}
	go func() { _ = s.Serve(l) }() // until it is closed
	url := "http://" + l.Addr().String()
	env = map[string]string{"RUNPOD_API_BASE_URL": url, "RUNPOD_API_KEY": "rpa_bench", "RUNPOD_PROXY_URL": url + "/{pod}-{port}"}
	return env, func() { _ = s.Close() }, nil
}

// lookup is the environment as the user of a cloud has it; "" = of none.
func (h *helper) lookup(name string) func(string) (string, bool) {
	c := h.clouds[name]
	return func(variable string) (string, bool) {
		if c != nil {
			if value, ok := c.env[variable]; ok {
				return value, true
			}
		}
		return os.LookupEnv(variable)
	}
}
