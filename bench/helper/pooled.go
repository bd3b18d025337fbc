package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
)

// echoed is a request of about 1 KiB of JSON, which expose-echo answers with as much.
func echoed(name string) sdk.ExposeRequest {
	return sdk.ExposeRequest{Name: name, Interface: sdk.Interface{Module: "m", Doc: strings.Repeat("x", 900)}}
}

// echo is a loaded plugin of the folder, without an instance yet.
func (h *helper) echo(ctx context.Context, r request, instances int) (*host.Host, sdk.Exposer, error) {
	x, err := h.hostOf(r.File, r.Dir, instances)
	if err != nil {
		return nil, nil, err
	}
	plugins, _ := x.Plugins(ctx)
	for _, p := range plugins {
		if p.Manifest.ID == r.Plugin {
			if err := x.Compile(ctx, p); err != nil {
				return nil, nil, err
			}
			e, err := x.Exposer(ctx, p.Manifest.Provides[0])
			return x, e, err
		}
	}
	return nil, nil, fmt.Errorf("%s has no plugin %s", r.File, r.Plugin)
}

// answered is nil also for a surface that the host refuses: the fixture's has files that its
// manifest does not ask for, and the call is over by then.
func answered(_ sdk.Surface, err error) error {
	var e *host.Error
	if errors.As(err, &e) && e.Fault == host.FaultSurface {
		return nil
	}
	return err
}

// pooled calls a plugin that has an instance.
func (h *helper) pooled(ctx context.Context, r request) (any, error) {
	key := r.Plugin
	if h.echoes[key] == nil {
		_, e, err := h.echo(ctx, r, 0)
		if err != nil {
			return nil, err
		}
		h.echoes[key] = e
	}
	return repeat(r.Count, func() error {
		return answered(h.echoes[key].Expose(ctx, echoed("tools")))
	})
}

// instantiate is the first call of a plugin that is loaded.
func (h *helper) instantiate(ctx context.Context, r request) (any, error) {
	x, e, err := h.echo(ctx, r, 0)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := answered(e.Expose(ctx, echoed("tools"))); err != nil {
		return nil, err
	}
	t := since(begin)
	return t, x.Close(ctx)
}

// instances tells how much memory of this process one more instance takes.
func (h *helper) instances(ctx context.Context, r request) (any, error) {
	const many = 32
	x, e, err := h.echo(ctx, r, many)
	if err != nil {
		return nil, err
	}
	if _, err := e.Expose(ctx, echoed("tools")); err != nil {
		return nil, err
	}
	before := resident()
	var wait sync.WaitGroup
	failed := make(chan error, many)
	for range many {
		wait.Go(func() {
			_, err := e.Expose(ctx, echoed("sleep")) // so that each has an instance of its own
			failed <- err
		})
	}
	wait.Wait()
	for range many {
		if err := <-failed; err != nil {
			return nil, err
		}
	}
	each := (resident() - before) / (many - 1)
	return map[string]any{"bytes": each}, x.Close(ctx)
}

// resident is this process's memory in bytes.
func resident() int64 {
	var pages, all int64
	text, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		_, _ = fmt.Sscan(string(text), &all, &pages)
	}
	return pages * int64(os.Getpagesize())
}
