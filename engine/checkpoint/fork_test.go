package checkpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/protocol/resumable"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// gpuComputer saves the processes of a sandbox with a GPU, and starts copies whose runtime is
// at another address.
type gpuComputer struct {
	sdk.Provider
	runtime string

	mu      sync.Mutex
	copies  int // that were announced
	choices []machine.Choice
	shared  []string
	ended   []string // reasons
}

func (c *gpuComputer) SaveMemory(_ context.Context, _, dir string, copies int, _ func(context.Context, string, string) error, _ func(context.Context) error) error {
	c.copies = copies
	for _, name := range []string{local.MemoryImages, local.MemoryTrees} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
	}
	return nil
}

func (c *gpuComputer) Fits(context.Context, string) (sdk.MachineSpec, error) {
	return sdk.MachineSpec{Network: "none", GPU: "H100", GPUCount: 1, TimeoutSeconds: 3600}, nil
}

func (c *gpuComputer) Start(_ context.Context, r machine.Record, choices []machine.Choice, _ func(machine.Event)) (machine.Record, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.choices = append(c.choices, choices...)
	var spec sdk.MachineSpec
	if err := choices[0].Prepare(&spec); err != nil {
		return r, err
	}
	var restore local.Restore
	if err := json.Unmarshal([]byte(spec.Env[local.RestoreVariable]), &restore); err != nil {
		return r, err
	}
	c.shared = append(c.shared, restore.Share)
	r.Provider, r.State, r.Endpoints = local.Name, sdk.Running, []sdk.Endpoint{{Port: r.Port, URL: c.runtime}}
	return r, nil
}

func (c *gpuComputer) End(_ context.Context, r machine.Record, why string) (machine.Record, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = append(c.ended, why)
	return r, nil
}

// Copies of a sandbox with a GPU are on the same one, and one that cannot go back to it says
// why and is ended.
func TestForksOnTheGPU(t *testing.T) {
	t.Parallel()
	at := filepath.Join(testkit.ShortDir(t), "s")
	listener, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	runtime := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(resumable.Marker, "1")
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/v1/thaw" {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error":{"code":"not_found","message":"only the thaw is here"}}`)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"error":{"code":"unavailable","message":"the GPU is full"}}`)
	}))
	runtime.Listener = listener
	runtime.Start()
	t.Cleanup(runtime.Close)
	here := &gpuComputer{runtime: "unix:" + at}
	saver := newSaver(t, local.Name)
	c := saver.Processes
	if c.Store, err = state.Open(state.Options{StateDir: t.TempDir(), CacheDir: t.TempDir(), RuntimeDir: filepath.Join(t.TempDir(), "run"), Getenv: os.Getenv}); err != nil {
		t.Fatal(err)
	}
	c.Local, c.Driver = func() (sdk.Provider, error) { return here, nil }, here
	m, err := saver.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ledger.Update(t.Context(), m.Record.ID, func(r *machine.Record) error { r.GPU, r.GPUCount = "H100-SXM", 1; return nil }); err != nil {
		t.Fatal(err)
	}
	c.Connect = provision.Connector{Ledger: c.Ledger.(*machine.Ledger), Now: time.Now, Logger: hclog.NewNullLogger()}.Connect
	made, err := c.Fork(t.Context(), saver.session(m), Fork{Copies: 2, Report: event.Reporter{}})
	if len(made) != 0 || err == nil || !strings.Contains(err.Error(), "copy 1: the GPU is full") || !strings.Contains(err.Error(), "copy 2: ") {
		t.Errorf("%v, %v", made, err)
	}
	if here.copies != 2 || len(here.choices) != 2 || here.choices[0].GPU != "H100-SXM" || here.shared[1] != "h" || len(here.ended) != 2 || !strings.Contains(here.ended[0], "the GPU is full") {
		t.Errorf("%d copies, %+v, shared %q, ended %q", here.copies, here.choices, here.shared, here.ended)
	}
}
