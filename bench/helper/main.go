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

	"github.com/seer-engine/seer/engine"
)

// request names a measurement and what it is taken of.
type request struct {
	Op        string   `json:"op"`
	Argv      []string `json:"argv"`      // bare, spawn, exec
	Isolation string   `json:"isolation"` // bare
	File      string   `json:"file"`      // ready: the experiment
	Interface string   `json:"interface"` // ready, native: the file, or its description
	Sandbox   string   `json:"sandbox"`   // exec
	Dir       string   `json:"dir"`       // a folder of the measurement's own
	Remember  bool     `json:"remember"`  // surface
}

// helper is what lasts from one measurement to the next.
type helper struct {
	artifacts, plugins string // folders of bin/
	python             string

	sandboxes map[string]*engine.Sandbox
	plugin    *plugin
}

func main() {
	if err := serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench helper:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context) error {
	if len(os.Args) != 4 {
		return errors.New("usage: helper RUNTIME-DIR PLUGIN-DIR PYTHON")
	}
	h := &helper{artifacts: os.Args[1], plugins: os.Args[2], python: os.Args[3], sandboxes: map[string]*engine.Sandbox{}}
	ops := map[string]func(context.Context, request) (any, error){
		"bare": h.bare, "spawn": h.spawn, "ready": h.ready, "exec": h.exec,
		"compile": h.compile, "load": h.load, "expose": h.expose, "native": h.native, "surface": h.surface,
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
