package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
	"github.com/seer-engine/seer/engine/models"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
)

// manyFiles is how many small files org/many has.
const manyFiles = 2000

// keptModels measures models that are on this computer.
type keptModels struct {
	*helper
	env map[string]string // leads to the hub
}

// hub starts a hub with two models: org/few with three files, and org/many.
func (h *keptModels) hub(context.Context, request) (any, error) {
	text := func(s string) fakehub.File { return fakehub.File{Content: fakehub.Text(s)} }
	few := map[string]fakehub.File{
		"config.json": text("{}"), "tokenizer.json": text("{}"),
		"model.safetensors": {Content: fakehub.Random(64<<20, 1), Kind: fakehub.LFS},
	}
	many := map[string]fakehub.File{}
	for i := range manyFiles {
		many[fmt.Sprintf("part/%04d.json", i)] = text(fmt.Sprint(i))
	}
	served, err := fakehub.New(fakehub.Options{Repos: []fakehub.Repo{
		{ID: "org/few", Commits: []fakehub.Commit{{Files: few}}}, {ID: "org/many", Commits: []fakehub.Commit{{Files: many}}},
	}})
	if err != nil {
		return nil, err
	}
	h.env = served.Env()
	h.held = append(h.held, served.Close)
	return map[string]string{"few": served.Commit("org/few", "main"), "many": served.Commit("org/many", "main")}, nil
}

// hubHost is a host that reads the hub's variables, as that of a new process.
func (h *keptModels) hubHost(cache string) (*host.Host, error) {
	return host.New(host.Options{
		Dirs: []string{h.plugins}, CacheDir: cache, Remember: true, Access: host.GrantAll,
		Env: func(name string) (string, string, bool) {
			value, ok := h.env[name]
			return value, "the measurement", ok
		},
	})
}

// kept is what a start does about a model, as a new process: the first call fetches it.
func (h *keptModels) kept(ctx context.Context, r request) (any, error) {
	begin := time.Now()
	x, err := h.hubHost(filepath.Join(r.Dir, "plugins"))
	if err != nil {
		return nil, err
	}
	getter := models.Getter{
		Fetcher: func(ctx context.Context, source string, folders ...string) (sdk.Fetcher, error) {
			return x.Fetcher(ctx, source, folders...)
		},
		Cache: func() (string, error) {
			dir := filepath.Join(r.Dir, "own")
			return dir, os.MkdirAll(dir, 0o700)
		},
		Getenv: func(name string) string { return map[string]string{"HF_HOME": filepath.Join(r.Dir, "hf")}[name] },
	}
	ref, err := models.Parse(r.File)
	if err == nil {
		_, err = getter.Get(ctx, r.File, ref)
	}
	t := since(begin)
	return t, errors.Join(err, x.Close(ctx))
}

// question is the one question to the Hub that a branch needs, from a new process.
func (h *keptModels) question(ctx context.Context, r request) (any, error) {
	begin := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.env["HF_ENDPOINT"]+"/api/models/"+r.File, nil)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return since(begin), errors.Join(err, answer.Body.Close())
}

// digest finds the hashes of a model in a folder. Fresh says that nothing is remembered.
func (h *keptModels) digest(ctx context.Context, r request) (any, error) {
	if !r.Remember {
		if err := os.RemoveAll(filepath.Join(r.Dir, "digests")); err != nil {
			return nil, err
		}
	}
	begin := time.Now()
	x, err := h.host(r.Dir, true)
	if err != nil {
		return nil, err
	}
	f, err := x.Fetcher(ctx, "folder", r.File)
	if err == nil {
		_, err = f.Resolve(ctx, sdk.ModelRef{Source: "folder", Name: r.File})
	}
	t := since(begin)
	return t, errors.Join(err, x.Close(ctx))
}
