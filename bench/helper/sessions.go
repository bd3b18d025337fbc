package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/sdk"
)

// cell brings up a sandbox with notebooks, begins a session and runs one cell, in one
// process.
func (h *helper) cell(ctx context.Context, r request) (any, error) {
	return timed(ctx, h, r, (*stopwatch).notebook, func(w *stopwatch, s *engine.Sandbox) error {
		w.mark("session", time.Now())
		client, err := s.Notebook(ctx)
		if err != nil {
			return err
		}
		defer client.Close()
		return w.first(ctx, client)
	})
}

// notebook is up, and splits its last stage where the engine says that Jupyter answers.
func (w *stopwatch) notebook() engine.Progress {
	up := w.up()
	return func(e engine.Event) {
		up(e)
		if _, ok := e.Data.(event.KernelPreparing); ok {
			w.mark("jupyter", e.Time)
		}
	}
}

func (w *stopwatch) first(ctx context.Context, client *notebook.Client) error {
	session, _, err := client.StartSession(ctx, notebook.NewSession{Mode: notebook.New})
	if err != nil {
		return err
	}
	w.mark("session", time.Now())
	run, err := client.AddCell(ctx, session.ID, notebook.NewCell{Type: "code", Source: "1 + 1", Run: true})
	if err != nil {
		return err
	}
	for event, err := range client.Events(ctx, run.Execution.ID, 1) {
		if err != nil {
			return err
		}
		if event.Output != nil && string(event.Output.Data["text/plain"]) == `"2"` {
			w.mark("cell", time.Now())
			return nil
		}
	}
	return errors.New("the first cell had no result")
}

// whileRead runs a command until its own standard input ends; as the first process of
// its sandbox it takes everything there with it.
const whileRead = `"$@" & read x`

// hold starts a command as bare does, with a layer shown and nobody waiting for it:
// release ends it, and so does the end of this program.
func (h *helper) hold(ctx context.Context, r request) (any, error) {
	python, err := isolation.Python(ctx, h.lookupPython)
	if err != nil {
		return nil, err
	}
	mounts, err := h.mounts(r.Dir)
	if err != nil {
		return nil, err
	}
	cmd, err := isolation.Command(isolation.Bubblewrap, isolation.Spec{
		Argv: append([]string{"/bin/sh", "-c", whileRead, "sh"}, r.Argv...), Network: true, PIDOne: true, ReadOnly: python.Paths, Dir: "/workspace",
		Mounts: append(mounts, sdk.Mount{Source: r.File, Target: "/seer/base"}),
		Env:    map[string]string{"HOME": "/home/seer", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", "TMPDIR": "/tmp", "USER": "seer"},
	})
	if err != nil {
		return nil, err
	}
	defer isolation.Release(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := isolation.Thread(isolation.Bubblewrap, cmd.Start); err != nil {
		return nil, err
	}
	h.held = append(h.held, func() { _ = in.Close(); _ = cmd.Wait() })
	return since(begin), nil
}

func (h *helper) lookupPython(name string) string {
	if name == "SEER_PYTHON" {
		return h.python
	}
	return os.Getenv(name)
}

// release ends what hold has started.
func (h *helper) release(context.Context, request) (any, error) {
	begin := time.Now()
	h.end()
	h.held = nil
	return since(begin), nil
}

func (h *helper) end() {
	for _, end := range h.held {
		end()
	}
}

// fetch reads all that a port of a sandbox has to say: through the runtime, or with
// Direct on this computer's own network, which the sandbox shares.
func (h *helper) fetch(ctx context.Context, r request) (any, error) {
	dial := func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", r.Port))
	}
	if !r.Direct {
		s, err := h.open(ctx, r.Sandbox)
		if err != nil {
			return nil, err
		}
		dial = s.Dialer(r.Port)
	}
	begin := time.Now()
	conn, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	n, err := io.Copy(io.Discard, conn)
	if err == nil && n != int64(r.Count) {
		err = fmt.Errorf("%d bytes came", n)
	}
	return since(begin), err
}
