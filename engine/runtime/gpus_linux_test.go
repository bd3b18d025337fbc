package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/parking"
	"github.com/seer-engine/seer/internal/fakegpu"
	"github.com/seer-engine/seer/internal/testkit"
)

// weights is a service that has something on the GPU.
const weights = `
import ctypes, os
cu, pointer, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_uint64(), ctypes.c_void_p()
assert not any([cu.cuInit(0), cu.cuCtxCreate_v2(ctypes.byref(context), 0, 0), cu.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(7)),
                cu.cuMemcpyHtoD_v2(pointer, b"weights", ctypes.c_size_t(7))])
@expose
def pid() -> int:
    return os.getpid()
@expose
def read() -> str:
    back = ctypes.create_string_buffer(7)
    assert not cu.cuMemcpyDtoH_v2(back, pointer, ctypes.c_size_t(7))
    return back.raw.decode()
`

// onGPU is a machine with a service on the stand-in for a GPU.
type onGPU struct {
	*machine
	driver fakegpu.Driver
	worker int
	calls  int
}

func upOnGPU(t *testing.T) *onGPU {
	t.Helper()
	g := &onGPU{driver: fakegpu.New(t)}
	g.machine = startIn(t, nil, func(m *machine) { m.env = append(g.driver.Env(), realWorkerVariable+"=1") })
	g.push()
	g.mustServe("tools", weights)
	if _, err := fmt.Sscan(g.call("pid"), &g.worker); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *onGPU) call(function string) string {
	g.t.Helper()
	g.calls++
	return callNamed(testContext(g.t), g.t, g.client, fmt.Sprintf("call-%04d", g.calls), function)
}

// unharmed: the service works with what it has on the GPU.
func (g *onGPU) unharmed() {
	g.t.Helper()
	testkit.EventuallyNil(g.t, "the process to be on the GPU", func() error {
		if state := g.driver.State(g.worker); state != 0 {
			return fmt.Errorf("its state is %d", state)
		}
		return nil
	})
	if got := g.call("read"); got != `"weights"` {
		g.t.Errorf("on the GPU: %s", got)
	}
}

func TestParkOffTheGPU(t *testing.T) {
	t.Parallel()
	g := upOnGPU(t)
	ctx := testContext(t)
	g.park(ctx)
	if state, there := g.driver.State(g.worker), g.driver.OnGPU(g.worker); state != 2 || there != "" {
		t.Errorf("parked: state %d, with %q on the GPU", state, there)
	}
	g.goes(protocol.Renewal{})
	g.answers(ctx, g.client)
	if err := g.client.Thaw(ctx); err != nil || g.driver.State(g.worker) != 0 {
		t.Errorf("thawed: %v, state %d", err, g.driver.State(g.worker))
	}
	g.unharmed()
	// The driver refuses.
	g.driver.Set(t, "fail-checkpoint", "801")
	_, err := g.client.Park(ctx, protocol.ParkRequest{ID: parkID, Key: theParkKey})
	if protocol.CodeOf(err) != protocol.Conflict || !strings.Contains(err.Error(), fmt.Sprintf("take off the GPU process %d (python3): it shares memory with other processes or GPUs", g.worker)) {
		t.Errorf("refused: %v", err)
	}
	g.driver.Clear("fail-checkpoint")
	g.unharmed()
	// The client that parks it disconnects while processes are locked.
	asking, cancel := context.WithCancel(ctx)
	g.driver.Set(t, "hold-checkpoint", "")
	done := make(chan error, 1)
	go func() {
		_, err := g.client.Park(asking, protocol.ParkRequest{ID: parkID, Key: theParkKey})
		done <- err
	}()
	g.driver.Held(t, "checkpoint")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	g.driver.Clear("hold-checkpoint")
	g.unharmed()
	// The client that parked it is gone before the machine releases its socket.
	if _, err := g.client.Park(ctx, protocol.ParkRequest{ID: parkID, Key: theParkKey, AskerSeconds: 0.1}); err != nil {
		t.Fatal(err)
	}
	g.unharmed()
	// The runtime is killed while processes are locked: the next one puts them back.
	g.driver.Set(t, "hold-checkpoint", "")
	go func() { _, _ = g.client.Park(ctx, protocol.ParkRequest{ID: parkID, Key: theParkKey}) }()
	helper := g.driver.Held(t, "checkpoint")
	g.killRuntime()
	testkit.EventuallyNil(t, "the helper to end with its runtime", func() error {
		if syscall.Kill(helper, 0) == nil {
			return errors.New("it lives")
		}
		return nil
	})
	g.driver.Clear("hold-checkpoint")
	g.unharmed()
}

// Thaw answers when the processes of a copy are back on the GPU, or says why they cannot go back.
func TestCopyOnTheGPU(t *testing.T) {
	t.Parallel()
	g := upOnGPU(t)
	ctx := testContext(t)
	copied := func() error {
		g.park(ctx)
		token := protocol.NewToken()
		g.goes(protocol.Renewal{Copy: true, AdminSHA256: protocol.HashToken(token), BootSeconds: 60, Services: map[string]string{"tools": protocol.HashToken(token)}})
		testkit.EventuallyNil(t, "the copy to prove itself", func() error { return parking.Ask(ctx, filepath.Join(g.dir, "s"), theParkKey, parkID) })
		g.client = newClient(t, g.boot.Listen, token)
		g.answers(ctx, g.client)
		return g.client.Thaw(ctx)
	}
	if err := copied(); err != nil {
		t.Fatal(err)
	}
	g.unharmed()
	g.driver.Set(t, "fail-restore", "801")
	if err := copied(); protocol.CodeOf(err) != protocol.Unavailable || !strings.Contains(err.Error(), fmt.Sprintf("not back on the GPU: put back on the GPU process %d", g.worker)) {
		t.Errorf("got %v", err)
	}
}
