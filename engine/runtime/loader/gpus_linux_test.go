package loader_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/gpulease"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/fakegpu"
	"github.com/seer-engine/seer/sdk"
)

// weights is a program that has 4 MB on the GPU and writes down what lies there when it is asked.
const weights = fakegpu.Holder + `
import time
while True:
    if os.path.exists("/workspace/ask"):
        os.unlink("/workspace/ask")
        back = ctypes.create_string_buffer(len(data))
        assert not cu.cuMemcpyDtoH_v2(back, pointer, ctypes.c_size_t(len(data)))
        with open("/workspace/answer.new", "w") as f:
            f.write(back.raw.decode())
        os.rename("/workspace/answer.new", "/workspace/answer")
    time.sleep(0.01)
`

// gpuBoxes are machines in gVisor on one computer with the stand-in for a GPU: its memory is
// a folder that is not saved with them.
type gpuBoxes struct {
	t     *testing.T
	first *box
	token string
}

func upOnGPU(t *testing.T) *gpuBoxes {
	g := &gpuBoxes{t: t, token: protocol.NewToken()}
	driver := t.TempDir()
	library := fakegpu.Compile(t, driver, "/dev/shm/gpu", "/run/seer/gpu")
	g.first = upWith(t, isolation.GVisor, nil, func(b *box, o *local.Options, spec *sdk.MachineSpec) {
		smi := fakegpu.SMI(t, driver, "GPU-a", 10, b.dir+"/*/run/gpu/*.memory")
		o.GPUs = func(context.Context) (isolation.GPUSet, error) {
			return isolation.GPUSet{Driver: "580.1", Libraries: []string{library}, Tool: smi,
				Found: []isolation.GPU{{Name: "NVIDIA H100 80GB HBM3", UUID: "GPU-a", Memory: 10 << 20, Device: "/dev/full"}}}, nil
		}
		o.Leases = func() (*gpulease.Folder, error) {
			return gpulease.Open(gpulease.Options{Dir: filepath.Join(driver, "claims"), Ask: func(context.Context) (gpulease.State, error) { return gpulease.State{}, nil }})
		}
		spec.GPU, spec.GPUCount = "H100", 1
	})
	g.first.start("import sys; sys.argv += ['weights', str(4 << 20)]; sys.stdin = []\n" + weights)
	g.onGPU(g.first)
	return g
}

// onGPU checks that the program of a machine works with what it has on the GPU.
func (g *gpuBoxes) onGPU(b *box) {
	g.t.Helper()
	work := filepath.Join(b.dir, b.handle, "workspace")
	if err := os.WriteFile(filepath.Join(work, "ask"), nil, 0o666); err != nil {
		g.t.Fatal(err)
	}
	var got []byte
	b.eventually("the program on the GPU to answer", func() bool {
		var err error
		got, err = os.ReadFile(filepath.Join(work, "answer"))
		return err == nil
	})
	_ = os.Remove(filepath.Join(work, "answer"))
	if string(got) != "weights" {
		g.t.Errorf("on the GPU: %q", got)
	}
}

func (g *gpuBoxes) memory() local.Memory { return g.first.p.(local.Memory) }

// save parks the first machine as the engine does and saves it.
func (g *gpuBoxes) save(dir string, copies int) error {
	c := g.first.client
	return g.memory().SaveMemory(g.t.Context(), g.first.handle, dir, copies, func(ctx context.Context, id, key string) error {
		_, err := c.Park(ctx, protocol.ParkRequest{ID: id, Key: key, AskerSeconds: protocol.AskerLimit.Seconds()})
		if protocol.CodeOf(err) == protocol.Conflict {
			return &local.Refused{Why: err}
		}
		return err
	}, c.Thaw)
}

// again starts a machine of what was saved; share is the handle of the original for a copy of
// one that lives.
func (g *gpuBoxes) again(dir, key, share string) (*box, error) {
	g.t.Helper()
	spec, err := g.memory().Fits(g.t.Context(), dir)
	if err != nil {
		return nil, err
	}
	token := protocol.NewToken()
	renewal, err := json.Marshal(protocol.Renewal{Copy: true, AdminSHA256: protocol.HashToken(token), BootSeconds: 120})
	if err != nil {
		g.t.Fatal(err)
	}
	data, err := json.Marshal(local.Restore{Dir: dir, Renewal: renewal, Share: share})
	if err != nil {
		g.t.Fatal(err)
	}
	spec.Key, spec.Owner, spec.Name, spec.Isolation = g.first.dir+key, "me", key, isolation.GVisor
	spec.Env = map[string]string{local.RestoreVariable: string(data)}
	step, err := g.first.p.Create(g.t.Context(), spec, nil)
	if err != nil {
		return nil, err
	}
	b := &box{t: g.t, p: g.first.p, dir: g.first.dir, binary: g.first.binary, handle: step.Handle}
	b.ends()
	at := b.awaitSocket()
	if b.client, err = client.New(at, token); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(b.client.Close)
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	return b, b.client.Thaw(ctx)
}

// set says something to the stand-in in a machine.
func (g *gpuBoxes) set(name, value string) {
	g.t.Helper()
	g.run(fmt.Sprintf("import os; open('/dev/shm/gpu/%s', 'w').write(%q)", name, value))
}

func (g *gpuBoxes) clear(name string) {
	g.t.Helper()
	g.run(fmt.Sprintf("import os; os.unlink('/dev/shm/gpu/%s')", name))
}

func (g *gpuBoxes) run(code string) {
	g.t.Helper()
	p, err := g.first.client.Processes().Run(g.t.Context(), protocol.ProcessSpec{Argv: []string{"python3", "-c", code}}, nil, os.Stderr, os.Stderr)
	if err != nil || p.ExitCode != 0 {
		g.t.Fatalf("%+v, %v", p, err)
	}
}

// TestGVisorSavesGPUs: what lies on the GPU is saved, restored and copied with the processes; and
// whatever fails, the original goes on with it. e2e/gvisor.sh runs this.
func TestGVisorSavesGPUs(t *testing.T) {
	g := upOnGPU(t)
	saved := t.TempDir()
	if err := g.save(saved, 1); err != nil {
		t.Fatal(err)
	}
	g.onGPU(g.first)
	one, err := g.again(saved, "one", g.first.handle)
	if err != nil {
		t.Fatal(err)
	}
	g.onGPU(one)
	g.onGPU(g.first)

	if _, err := g.again(saved, "taken", ""); sdk.CodeOf(err) != sdk.NoCapacity || !strings.Contains(err.Error(), "back only to the GPU that they were on: 1 × GPU-a requested, 0 of this computer's 1 free; GPU 0 (H100-SXM): sandbox ") {
		t.Errorf("a GPU that another sandbox uses: %v", err)
	}
	// With 4 MB of a copy on the 10 MB of the GPU, another one does not fit.
	if err := g.save(t.TempDir(), 1); sdk.CodeOf(err) != sdk.NoCapacity || !strings.Contains(err.Error(), "the original and its copies (1) need 8.4 MB on the GPU") {
		t.Errorf("a GPU without room: %v", err)
	}
	g.onGPU(g.first)
	one.end()

	g.set("fail-checkpoint", "801")
	if err := g.save(t.TempDir(), 0); err == nil || !strings.Contains(err.Error(), "(python3): it shares memory with other processes or GPUs") {
		t.Errorf("refused by the driver: %v", err)
	}
	g.clear("fail-checkpoint")
	g.onGPU(g.first)

	full := t.TempDir()
	if err := syscall.Mount("tmpfs", full, "tmpfs", 0, "size=1m"); err != nil {
		t.Logf("a full disk is left to root: %v", err)
	} else {
		err := g.save(full, 0)
		if err := syscall.Unmount(full, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
		if err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("a full disk: %v", err)
		}
		g.onGPU(g.first)
	}

	// Whatever else takes the memory of the GPU after the saving.
	g.set("only-here", "")
	other := t.TempDir()
	if err := g.save(other, 0); err != nil {
		t.Fatal(err)
	}
	g.first.end()
	lost, err := g.again(other, "lost", "")
	if protocol.CodeOf(err) != protocol.Unavailable || !strings.Contains(err.Error(), "not back on the GPU: put back on the GPU process") || !strings.Contains(err.Error(), "not enough free memory") {
		t.Errorf("a GPU that was taken: %v", err)
	}
	if lost != nil {
		lost.end()
	}
	back, err := g.again(saved, "back", "")
	if err != nil {
		t.Fatal(err)
	}
	g.onGPU(back)

	// The sandbox is killed while its processes are taken off: nothing is left of it.
	g.first = back
	g.set("hold-checkpoint", "")
	done := make(chan error, 1)
	half := t.TempDir()
	go func() { done <- g.save(half, 0) }()
	g.run("import os, time\nwhile not os.path.exists('/dev/shm/gpu/held-checkpoint'): time.sleep(0.01)")
	g.kill(back)
	if err := <-done; err == nil {
		t.Error("a sandbox that was killed is saved")
	}
	if left, err := os.ReadDir(half); err != nil || len(left) > 0 {
		t.Errorf("left in %s: %v, %v", half, left, err)
	}
	back.end()
	last, err := g.again(saved, "last", "")
	if err != nil {
		t.Fatal(err)
	}
	g.onGPU(last)
}

// kill kills the sandbox of a machine.
func (g *gpuBoxes) kill(b *box) {
	g.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, b.handle+".json"))
	if err != nil {
		g.t.Fatal(err)
	}
	var note struct {
		Outer struct {
			PID int `json:"pid"`
		} `json:"outer"`
	}
	if err := json.Unmarshal(data, &note); err != nil || note.Outer.PID == 0 {
		g.t.Fatalf("%v: %s", err, data)
	}
	if err := syscall.Kill(note.Outer.PID, syscall.SIGKILL); err != nil {
		g.t.Fatal(err)
	}
}

// end ends a machine, and waits for nothing of it to be left.
func (b *box) end() {
	b.t.Helper()
	if err := b.p.Terminate(context.Background(), b.handle); err != nil {
		b.t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, b.handle)); !os.IsNotExist(err) {
		b.t.Errorf("left of the machine: %v", err)
	}
}
