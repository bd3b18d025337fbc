package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/surface"
	"github.com/seer-engine/seer/engine/trust"
)

// engine makes one that finds nothing out twice, as every invocation of seer does.
// Its folders come from the environment, with the user's account at a cloud; "" = none.
func (h *helper) engine(cloud string) (*engine.Engine, error) {
	return engine.New(engine.Options{
		ArtifactsDir: h.artifacts, PluginDirs: []string{h.plugins}, PluginAccess: host.GrantAll, Python: h.python, LookupEnv: h.lookup(cloud),
		Trust: trust.All,
	})
}

func (h *helper) open(ctx context.Context, id string) (*engine.Sandbox, error) {
	if s, ok := h.sandboxes[id]; ok {
		return s, nil
	}
	e, err := h.engine("")
	if err != nil {
		return nil, err
	}
	s, err := e.Open(ctx, id)
	if err == nil {
		h.sandboxes[id] = s
	}
	return s, err
}

// stages is where the time from nothing to the first result went.
type stages struct {
	Seconds float64            `json:"seconds"`
	Stages  map[string]float64 `json:"stages"`
}

// stopwatch gives the time since the last mark to a stage.
type stopwatch struct {
	begin, last time.Time
	stages      map[string]float64
}

func (w *stopwatch) mark(stage string, now time.Time) {
	w.stages[stage] += now.Sub(w.last).Seconds()
	w.last = now
}

// ready brings up a sandbox, serves an interface, writes its library and calls it
// once, in one process.
func (h *helper) ready(ctx context.Context, r request) (any, error) {
	return timed(ctx, h, r, (*stopwatch).up, func(w *stopwatch, s *engine.Sandbox) error { return w.serve(ctx, s, r) })
}

// timed brings up a sandbox, uses it, and tells where the time went.
func timed(ctx context.Context, h *helper, r request, progress func(*stopwatch) engine.Progress, use func(*stopwatch, *engine.Sandbox) error) (any, error) {
	now := time.Now()
	w := &stopwatch{begin: now, last: now, stages: map[string]float64{}}
	exp, err := experiment.Load(ctx, r.File, experiment.LoadOptions{})
	if err != nil {
		return nil, err
	}
	e, err := h.engine(r.Cloud)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	w.mark("read", time.Now())
	s, err := e.Up(ctx, exp, engine.UpOptions{Progress: progress(w)})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Terminate(ctx) }() // the caller checks that nothing lives
	if err := use(w, s); err != nil {
		return nil, err
	}
	return stages{w.last.Sub(w.begin).Seconds(), w.stages}, nil
}

// up splits the way to a sandbox where the engine says that a stage begins.
func (w *stopwatch) up() engine.Progress {
	running := event.StagePreflight
	return func(e engine.Event) {
		if e.Stage() != running || e.Kind() == event.KindDone {
			w.mark(string(running), e.Time)
			running = e.Stage()
		}
	}
}

func (w *stopwatch) serve(ctx context.Context, s *engine.Sandbox, r request) error {
	v, err := s.Serve(ctx, engine.ServeOptions{File: r.Interface, Name: "bench_tools"})
	if err != nil {
		return err
	}
	w.mark("service", time.Now())
	made, err := v.Expose(ctx, "library", nil)
	if err != nil {
		return err
	}
	w.mark("expose", time.Now())
	dir := filepath.Join(r.Dir, s.ID())
	if _, err := surface.Write(ctx, dir, made, surface.Target{Connection: v.Connection()}); err != nil {
		return err
	}
	w.mark("write", time.Now())
	if err := v.Call(ctx, "echo", []any{"x"}, nil, nil); err != nil {
		return err
	}
	w.mark("call", time.Now())
	return os.RemoveAll(dir)
}
