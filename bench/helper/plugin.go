package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/plugins/expose-library/library"
	"github.com/seer-engine/seer/sdk"
)

// plugin is a loaded expose mode and what it is asked.
type plugin struct {
	exposer sdk.Exposer
	request sdk.ExposeRequest
}

func (h *helper) host(cache string, remember bool) (*host.Host, error) {
	return host.New(host.Options{Dirs: []string{h.plugins}, CacheDir: cache, Remember: remember, Access: host.GrantAll})
}

// hostOf is a host with one plugin folder.
func (h *helper) hostOf(dir, cache string, instances int) (*host.Host, error) {
	return host.New(host.Options{Dirs: []string{dir}, CacheDir: cache, Access: host.GrantAll, Limits: host.Limits{Instances: instances}})
}

// prepare finds and loads a plugin, by default expose-library, with the compiled code
// in a cache folder.
func (h *helper) prepare(ctx context.Context, cache, id string) (*host.Host, error) {
	id = cmp.Or(id, "expose-library")
	x, err := h.host(cache, false)
	if err != nil {
		return nil, err
	}
	all, faults := x.Plugins(ctx)
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	for _, p := range all {
		if p.Manifest.ID == id {
			return x, x.Compile(ctx, p)
		}
	}
	return nil, fmt.Errorf("the plugin %s is not there", id)
}

// compile is the first load of a plugin on this computer.
func (h *helper) compile(ctx context.Context, r request) (any, error) {
	if err := os.RemoveAll(r.Dir); err != nil {
		return nil, err
	}
	return h.load(ctx, r)
}

// load is the first load of a process: folders are searched, digests are checked.
func (h *helper) load(ctx context.Context, r request) (any, error) {
	begin := time.Now()
	x, err := h.prepare(ctx, r.Dir, r.Plugin)
	if err != nil {
		return nil, err
	}
	t := since(begin)
	return t, x.Close(ctx)
}

// surface is all that a process does with plugins when it exposes one service; with
// Remember, one that has been exposed before.
func (h *helper) surface(ctx context.Context, r request) (any, error) {
	begin := time.Now()
	x, err := h.host(r.Dir, r.Remember)
	if err != nil {
		return nil, err
	}
	if _, faults := x.Plugins(ctx); len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	e, err := x.Exposer(ctx, "library")
	if err != nil {
		return nil, err
	}
	req, err := described(r.Interface)
	if err != nil {
		return nil, err
	}
	if _, err := e.Expose(ctx, req); err != nil {
		return nil, err
	}
	t := since(begin)
	return t, x.Close(ctx)
}

// expose calls a plugin that is loaded and has been called before.
func (h *helper) expose(ctx context.Context, r request) (any, error) {
	if h.plugin == nil {
		if err := h.warm(ctx, r); err != nil {
			return nil, err
		}
	}
	begin := time.Now()
	_, err := h.plugin.exposer.Expose(ctx, h.plugin.request)
	return since(begin), err
}

func (h *helper) warm(ctx context.Context, r request) error {
	x, err := h.prepare(ctx, r.Dir, r.Plugin)
	if err != nil {
		return err
	}
	e, err := x.Exposer(ctx, "library")
	if err != nil {
		return err
	}
	req, err := described(r.Interface)
	if err != nil {
		return err
	}
	h.plugin = &plugin{e, req}
	_, err = e.Expose(ctx, req)
	return err
}

// native runs the same code as a part of this program, not as Wasm.
func (h *helper) native(ctx context.Context, r request) (any, error) {
	req, err := described(r.Interface)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	_, err = library.Mode{}.Expose(ctx, req)
	return since(begin), err
}

// described reads the description of an interface from a file.
func described(file string) (sdk.ExposeRequest, error) {
	req := sdk.ExposeRequest{Name: "bench_tools"}
	data, err := os.ReadFile(file)
	if err != nil {
		return req, err
	}
	return req, json.Unmarshal(data, &req.Interface)
}
