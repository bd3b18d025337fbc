// Command helper takes those measurements of scripts/bench that need Go. It reads
// one JSON request a line and answers with one JSON object a line, so that its
// measurements can be interleaved with those of other programs.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/coder/websocket"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/sdk"
)

// request names a measurement and what it is taken of.
type request struct {
	Op        string   `json:"op"`
	Argv      []string `json:"argv"`      // bare, spawn, exec
	Isolation string   `json:"isolation"` // bare
	Plugin    string   `json:"plugin"`    // compile, load; default expose-library
	Cloud     string   `json:"cloud"`     // start, observe, describe, ready: modal, runpod or page
	Native    bool     `json:"native"`    // observe: without Wasm
	Service   string   `json:"service"`   // call
	Direct    bool     `json:"direct"`    // call, fetch, download, ask, hear
	Driver    string   `json:"driver"`    // hear
	Count     int      `json:"count"`     // where samples are answered: how many in a row; fetch: bytes; recorded: messages
	File      string   `json:"file"`      // ready, cell: the experiment; hold: the layer; put: what is sent; hear: what the program prints; kept, question: the model; digest: its folder; pooled, instantiate, instances: the plugin folder
	Interface string   `json:"interface"` // ready, machine, native: the file, or its description
	Sandbox   string   `json:"sandbox"`   // exec, call, fetch
	Port      int      `json:"port"`      // fetch
	Dir       string   `json:"dir"`       // a folder of the measurement's own
	Remember  bool     `json:"remember"`  // surface, digest
	Rate      int      `json:"rate"`      // publish: bytes per second of a connection
	First     bool     `json:"first"`     // ask: until the first byte of the answer
	Delay     float64  `json:"delay"`     // models: seconds of a round trip to the hub
}

// helper is what lasts from one measurement to the next.
type helper struct {
	artifacts, plugins string // folders of bin/
	python             string

	sandboxes map[string]*engine.Sandbox
	callers   map[string]caller // by sandbox, service and way
	plugin    *plugin
	echoes    map[string]sdk.Exposer // by folder
	clouds    map[string]*cloud
	machines  int // so far
	socket    *websocket.Conn
	weights   *weights
	held      []func() // their ends
}

// close ends the clouds, and with them their machines.
func (h *helper) close(ctx context.Context) {
	h.end()
	for _, c := range h.clouds {
		if c.host != nil {
			_ = c.host.Close(ctx)
		}
		c.close()
	}
}

func main() {
	if err := serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench helper:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context) error {
	if len(os.Args) == 6 && os.Args[1] == "move" {
		return move(ctx, os.Args[2], os.Args[3], os.Args[4], os.Args[5])
	}
	if len(os.Args) == 3 && os.Args[1] == "say" {
		return say(os.Args[2])
	}
	if len(os.Args) != 4 {
		return errors.New("usage: helper RUNTIME-DIR PLUGIN-DIR PYTHON, helper move URL BYTES SHA256 FOLDER, or helper say FILE")
	}
	h := &helper{artifacts: os.Args[1], plugins: os.Args[2], python: os.Args[3], sandboxes: map[string]*engine.Sandbox{}, callers: map[string]caller{}, echoes: map[string]sdk.Exposer{}, clouds: map[string]*cloud{}}
	defer h.close(ctx)
	kept, model := &keptModels{helper: h}, &asked{}
	defer model.close()
	ops := map[string]func(context.Context, request) (any, error){
		"bare": h.bare, "spawn": h.spawn, "ready": h.ready, "exec": h.exec,
		"compile": h.compile, "load": h.load, "expose": h.expose, "native": h.native, "surface": h.surface,
		"pooled": h.pooled, "instantiate": h.instantiate, "instances": h.instances,
		"start": h.start, "observe": h.observe, "describe": h.describe, "get": h.get,
		"machine": h.machine, "call": h.call, "pong": h.pong, "put": h.put,
		"cell": h.cell, "hold": h.hold, "release": h.release, "fetch": h.fetch,
		"publish": h.publish, "download": func(ctx context.Context, r request) (any, error) { return h.weights.download(ctx, r) }, "models": h.models,
		"hub": kept.hub, "kept": kept.kept, "question": kept.question, "digest": kept.digest, "ask": model.ask,
		"hear": hear, "recorded": recorded,
	}
	in, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var r request
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			return err
		}
		op, ok := ops[r.Op]
		if !ok {
			return fmt.Errorf("there is no measurement %q", r.Op)
		}
		value, err := op(ctx, r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Op, err)
		}
		if err := out.Encode(value); err != nil {
			return err
		}
	}
	return in.Err()
}

// took is the usual answer.
type took struct {
	Seconds float64 `json:"seconds"`
}

func since(t time.Time) took { return took{time.Since(t).Seconds()} }

// samples is the answer of a measurement that was taken several times in a row.
type samples struct {
	Samples []float64 `json:"samples"` // seconds
}

func repeat(count int, do func() error) (any, error) {
	var all samples
	for range max(1, count) {
		begin := time.Now()
		if err := do(); err != nil {
			return nil, err
		}
		all.Samples = append(all.Samples, time.Since(begin).Seconds())
	}
	return all, nil
}
