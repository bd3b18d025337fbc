package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/gpulease"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/internal/fakegpu"
	"github.com/seer-engine/seer/sdk"
)

const mib = 1 << 20

// gpuHost is a provider with GPUs. The first one has 100 MiB.
type gpuHost struct {
	*place
	set   isolation.GPUSet
	there string // file whose size is the memory in use on the first GPU
	held  []*gpulease.Claim
}

func newGPUHost(t *testing.T) *gpuHost {
	h := &gpuHost{place: newPlace(t), there: filepath.Join(t.TempDir(), "there")}
	withGPUs(h.place)
	h.set, _ = h.p.GPUs(t.Context())
	h.set.Tool = fakegpu.SMI(t, t.TempDir(), "GPU-a", 100, h.there)
	h.p.GPUs = func(context.Context) (isolation.GPUSet, error) { return h.set, nil }
	h.p.memoryFree = func() (int64, error) { return 1 << 30, nil }
	return h
}

// use sets the memory in use on the first GPU.
func (h *gpuHost) use(bytes int64) {
	h.t.Helper()
	if err := errors.Join(os.WriteFile(h.there, nil, 0o600), os.Truncate(h.there, bytes)); err != nil {
		h.t.Fatal(err)
	}
}

// The memory on the GPU must fit into the memory of this computer and, for copies, onto the GPU.
func TestRoomForSavedGPUs(t *testing.T) {
	h := newGPUHost(t)
	for _, tc := range []struct {
		name          string
		on, left      int64 // on the GPU, before and after the machine is off
		memory        int64
		copies        int
		gpu           string // empty = GPU-a
		before, after string // errors
	}{
		{name: "a snapshot", on: 40 * mib, memory: 40 * mib},
		{name: "no memory", on: 40 * mib, memory: 39 * mib, before: "up to 41.9 MB, and 40.9 MB are available; end what uses memory"},
		{name: "two copies that fit", on: 30 * mib, memory: 60 * mib, copies: 2},
		{name: "memory for one copy", on: 30 * mib, memory: 59 * mib, copies: 2, before: "up to 31.5 MB for each of 2 copies, and 61.9 MB are available; end what uses memory, or make fewer copies"},
		{name: "a GPU for two", on: 35 * mib, memory: 1 << 30, copies: 2,
			after: "the original and its copies (2) need 110.1 MB on the GPU NVIDIA H100 80GB HBM3, of which others leave 104.9 MB: 5.2 MB are missing; make fewer copies"},
		{name: "others on the GPU", on: 90 * mib, left: 60 * mib, memory: 1 << 30, copies: 1, after: "21.0 MB are missing"},
		{name: "others on the GPU, and a snapshot", on: 90 * mib, left: 60 * mib, memory: 1 << 30},
		{name: "a GPU that is lost", gpu: "GPU-x", memory: 1 << 30, after: "does not list all GPUs of the sandbox any more: GPU-x"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h.use(tc.on)
			h.p.memoryFree = func() (int64, error) { return tc.memory, nil }
			g, err := gpusToSave(t.Context(), h.p, &note{GPUs: []string{cmp.Or(tc.gpu, "GPU-a")}}, tc.copies)
			if wrong(err, tc.before) {
				t.Fatalf("before: %v", err)
			}
			if tc.before != "" {
				return
			}
			h.use(tc.left)
			saved, err := g.measure(t.Context())
			if wrong(err, tc.after) {
				t.Fatalf("after: %v", err)
			}
			if tc.after == "" && (len(saved.GPUs) != 1 || saved.GPUs[0] != savedGPU{UUID: "GPU-a", Name: "NVIDIA H100 80GB HBM3", Bytes: tc.on - tc.left} || saved.Driver != "580.1") {
				t.Errorf("%+v", saved)
			}
		})
	}
}

func wrong(err error, want string) bool {
	return (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want)
}

// Saved processes continue only on the same GPU, with the same version of the driver.
func TestSavedGPUsFit(t *testing.T) {
	saved := &gpuNote{Driver: "580.1", GPUs: []savedGPU{{UUID: "GPU-a", Name: "NVIDIA H100 80GB HBM3"}}}
	h := newGPUHost(t)
	for name, tc := range map[string]struct {
		change func(*isolation.GPUSet)
		want   string
	}{
		"as it was":      {func(*isolation.GPUSet) {}, ""},
		"another driver": {func(s *isolation.GPUSet) { s.Driver = "570.2" }, "version 580.1 of NVIDIA's driver has saved them, and version 570.2 is installed here"},
		"another model":  {func(s *isolation.GPUSet) { s.Found = s.Found[1:2] }, "they were on a GPU NVIDIA H100 80GB HBM3, and this computer has: NVIDIA L4"},
		"no GPU":         {func(s *isolation.GPUSet) { s.Found = nil }, "this computer has: none"},
		"another GPU":    {func(s *isolation.GPUSet) { s.Found = s.Found[1:] }, "the GPU that they were on, GPU-a (NVIDIA H100 80GB HBM3), and this computer has others"},
		"broken":         {func(s *isolation.GPUSet) { s.Reason = "nvidia-smi fails" }, "cannot be used: nvidia-smi fails"},
	} {
		set := h.set
		tc.change(&set)
		if got := saved.refuses(set); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := (*gpuNote)(nil).refuses(isolation.GPUSet{}); got != "" {
		t.Errorf("without a GPU: %s", got)
	}
}

// Copies share only the GPU of their original. Other sandboxes see it in use until the last of
// them has ended.
func TestCopiesShareTheirGPU(t *testing.T) {
	h := newGPUHost(t)
	take := func(key string, again *restored) (*note, error) {
		n := &note{Key: key, Spec: &sdk.MachineSpec{GPU: "H100", GPUCount: 1}}
		wish, err := wishAgain(h.p, handleOf(key), n, again)
		if err == nil {
			_, _, err = h.p.take(t.Context(), n, wish, again)
		}
		if err == nil {
			h.live(key, n)
		}
		return n, err
	}
	saved := launch{Host: hostNote{GPU: &gpuNote{Driver: "580.1", GPUs: []savedGPU{{UUID: "GPU-a", Name: "NVIDIA H100 80GB HBM3"}}}}}
	share := func(of string) *restored { return &restored{Restore: Restore{Share: of}, launch: saved} }
	original := handleOf("original")
	if n, err := take("original", nil); err != nil || n.GPUs[0] != "GPU-a" || n.Shares != "" {
		t.Fatalf("%+v, %v", n, err)
	}
	if _, err := take("restored", share("")); sdk.CodeOf(err) != sdk.NoCapacity || !strings.Contains(err.Error(), "the saved processes go back only to the GPU that they were on: 1 × GPU-a requested, 0 of this computer's 1 free; GPU 0 (H100-SXM): a sandbox of ") {
		t.Errorf("from a snapshot: %v", err)
	}
	for _, copied := range []string{"one", "two"} {
		if n, err := take(copied, share(original)); err != nil || len(n.GPUs) != 1 || n.GPUs[0] != "GPU-a" || n.Shares != original {
			t.Errorf("%s: %+v, %v", copied, n, err)
		}
	}
	if n, err := take("copy of a copy", share(handleOf("one"))); err != nil || n.Shares != original {
		t.Errorf("%+v, %v", n, err)
	}
	h.gone("original")
	if n, err := take("other", nil); err != nil || n.GPUs[0] != "GPU-c" {
		t.Errorf("beside copies: %+v, %v", n, err)
	}
	if _, err := take("restored", share("")); sdk.CodeOf(err) != sdk.NoCapacity {
		t.Errorf("beside copies: %v", err)
	}
	for _, key := range []string{"one", "two", "copy of a copy"} {
		h.gone(key)
	}
	if n, err := take("restored", share("")); err != nil || n.GPUs[0] != "GPU-a" || n.Shares != "" {
		t.Errorf("after all: %+v, %v", n, err)
	}
	h.set.Driver = "570.2"
	if _, err := take("restored", share("")); sdk.CodeOf(err) != sdk.Unsupported || !strings.Contains(err.Error(), "version 580.1 of NVIDIA's driver has saved them") {
		t.Errorf("another driver: %v", err)
	}
	for _, key := range []string{"restored", "other"} {
		h.gone(key)
	}
}

// live makes a note that of a running machine, whose process is this program.
func (h *gpuHost) live(key string, n *note) {
	h.t.Helper()
	h.held = append(h.held, n.claims...) // as the watchdog does
	n.Isolation, n.Outer.PID = isolation.None, os.Getpid()
	n.Outer.Start, _ = startOf(os.Getpid())
	if err := errors.Join(os.MkdirAll(h.p.Dir, 0o700), h.p.folder(handleOf(key)).write(n)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *gpuHost) gone(key string) {
	h.t.Helper()
	n, err := h.p.folder(handleOf(key)).read()
	if err != nil {
		h.t.Fatal(err)
	}
	for _, k := range n.Claims {
		if err := os.Remove(k.Path); err != nil {
			h.t.Fatal(err)
		}
	}
	if err := os.Remove(h.p.folder(handleOf(key)).note); err != nil {
		h.t.Fatal(err)
	}
}

// The provider refuses at once a machine that does not fit this computer.
func TestFitsWithGPUs(t *testing.T) {
	h := newGPUHost(t)
	host, err := h.p.host(t.Context())
	if err != nil {
		host = hostNote{} // without gVisor
	}
	host.GPU = &gpuNote{Driver: "1", GPUs: []savedGPU{{UUID: "GPU-a", Name: "NVIDIA H100 80GB HBM3", Bytes: 2 << 30}}}
	dir := t.TempDir()
	fits := func() error {
		t.Helper()
		data, err := json.Marshal(launch{Version: 1, Host: host})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, memoryNote), data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = h.p.Fits(t.Context(), dir)
		return err
	}
	if err != nil {
		if fits() == nil {
			t.Error("saved processes fit where there is no gVisor")
		}
		return
	}
	if err := fits(); err == nil || !strings.Contains(err.Error(), "the saved processes cannot go on here: version 1 of NVIDIA's driver has saved them, and version 580.1 is installed here") {
		t.Errorf("another driver: %v", err)
	}
	host.GPU.Driver = "580.1"
	if err := fits(); sdk.CodeOf(err) != sdk.NoCapacity || !strings.Contains(err.Error(), "up to 2.1 GB, and 1.1 GB are available") {
		t.Errorf("no memory: %v", err)
	}
}
