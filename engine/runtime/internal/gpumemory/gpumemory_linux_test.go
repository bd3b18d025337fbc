package gpumemory

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/runtime/internal/proc"
	"github.com/seer-engine/seer/engine/runtime/internal/spawn"
	"github.com/seer-engine/seer/internal/fakegpu"
)

// computer has a fake driver, and processes on its GPU.
type computer struct {
	t       *testing.T
	driver  fakegpu.Driver
	env     []string // of all processes
	memory  *Memory
	holders []*process
	saved   [][]int // the lists that Persist has saved
}

func newComputer(t *testing.T, driver fakegpu.Driver) *computer {
	c := &computer{t: t, driver: driver}
	c.driver.Folder = t.TempDir()
	c.env = append(c.driver.Env(), "PATH="+os.Getenv("PATH"))
	spawner := spawn.New()
	t.Cleanup(spawner.Close)
	c.memory = New(Deps{Environ: func() []string { return c.env }, Spawner: spawner, Processes: c.processes, Patience: time.Minute, Devices: "/dev/full",
		Persist: func() { c.saved = append(c.saved, c.memory.Off()) }})
	return c
}

// processes are the processes on its GPU, and the program that calls the driver.
func (c *computer) processes() ([]int, error) { return proc.Tree(0, "SEER_FAKE_GPU="+c.driver.Folder) }

// process is a process with memory on the GPU.
type process struct {
	c    *computer
	cmd  *exec.Cmd
	pid  int
	text string
	in   io.Writer
	out  *bufio.Reader
}

func (c *computer) start(text string, prefix ...string) *process {
	c.t.Helper()
	cmd := exec.Command("python3", "-I", "-S", "-c", strings.Join(prefix, "\n")+fakegpu.Holder, text)
	in, err := cmd.StdinPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	cmd.Env, cmd.Stderr = c.env, os.Stderr
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	p := &process{c: c, cmd: cmd, pid: cmd.Process.Pid, text: text, in: in, out: bufio.NewReader(out)}
	if line, err := p.out.ReadString('\n'); err != nil || line != fmt.Sprintln(p.pid) {
		c.t.Fatalf("%q, %v", line, err)
	}
	c.holders = append(c.holders, p)
	return p
}

func (p *process) ask() {
	p.c.t.Helper()
	if _, err := fmt.Fprintln(p.in); err != nil {
		p.c.t.Fatal(err)
	}
}

// unharmed checks that all processes have their memory on the GPU and compute with it.
func (c *computer) unharmed() {
	c.t.Helper()
	for _, p := range c.holders {
		p.ask()
		line, err := p.out.ReadString('\n')
		if state := c.driver.State(p.pid); err != nil || strings.TrimSpace(line) != p.text || state != int(running) || !c.driver.Has("%d.memory", p.pid) {
			c.t.Errorf("process %d has %q in state %d, %v", p.pid, line, state, err)
		}
	}
	if off := c.memory.Off(); len(off) > 0 {
		c.t.Errorf("still off the GPU: %v", off)
	}
}

func (c *computer) resume() {
	c.t.Helper()
	if err := c.memory.Resume(c.t.Context()); err != nil {
		c.t.Errorf("resume: %v", err)
	}
	c.unharmed()
}

func TestMemoryOfGPUs(t *testing.T) {
	driver := fakegpu.New(t)
	for name, test := range map[string]func(*testing.T, *computer){
		"off and on again":                     offAndOn,
		"refusals":                             refusals,
		"a process that comes meanwhile":       processThatComes,
		"a helper that is killed":              killedHelpers,
		"a process that is killed":             killedProcess,
		"the caller is gone":                   goneAsker,
		"a GPU that is full for a while":       fullForAWhile,
		"a GPU that was taken":                 takenGPU,
		"a runtime after another one":          nextRuntime,
		"states that are not ours":             foreignStates,
		"a process that fails while it is off": lostProcess,
		"a node that stays open":               openNode,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newComputer(t, driver))
		})
	}
}

func offAndOn(t *testing.T, c *computer) {
	if err := c.memory.Suspend(t.Context()); err != nil || c.memory.Off() != nil {
		t.Errorf("without a process: %v, %v", err, c.memory.Off())
	}
	one, two := c.start("one"), c.start("two")
	if err := c.memory.Suspend(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, p := range c.holders {
		if c.driver.State(p.pid) != int(checkpointed) || c.driver.Has("%d.memory", p.pid) {
			t.Errorf("process %d is on the GPU", p.pid)
		}
	}
	if last := c.saved[len(c.saved)-1]; len(last) != 2 || last[0] != min(one.pid, two.pid) {
		t.Errorf("remembered: %v", c.saved)
	}
	if err := c.memory.Suspend(t.Context()); err != nil {
		t.Errorf("once more: %v", err)
	}
	c.resume()
}

func processThatComes(t *testing.T, c *computer) {
	c.start("first")
	c.driver.Set(t, "hold-lock", "")
	done := make(chan error, 1)
	go func() { done <- c.memory.Suspend(t.Context()) }()
	c.driver.Held(t, "lock")
	second := c.start("second")
	c.driver.Clear("hold-lock")
	if err := <-done; err != nil || c.driver.State(second.pid) != int(checkpointed) {
		t.Errorf("%v, state %d", err, c.driver.State(second.pid))
	}
	c.resume()
}

func killedProcess(t *testing.T, c *computer) {
	for _, operation := range []string{"lock", "checkpoint"} {
		gone, stays := c.start("gone"), c.start("stays")
		c.driver.Set(t, "hold-"+operation, "")
		done := make(chan error, 1)
		go func() { done <- c.memory.Suspend(t.Context()) }()
		c.driver.Held(t, operation)
		c.holders = slices.DeleteFunc(c.holders, func(p *process) bool { return p == gone })
		if err := gone.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = gone.cmd.Wait()
		c.driver.Clear("hold-" + operation)
		if err := <-done; err != nil || c.driver.State(stays.pid) != int(checkpointed) {
			t.Errorf("%s: %v", operation, err)
		}
		c.resume()
	}
}

func goneAsker(t *testing.T, c *computer) {
	c.start("kept")
	ctx, cancel := context.WithCancel(t.Context())
	c.driver.Set(t, "hold-lock", "")
	done := make(chan error, 1)
	go func() { done <- c.memory.Suspend(ctx) }()
	c.driver.Held(t, "lock")
	cancel()
	c.driver.Clear("hold-lock")
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	c.resume()
}

func fullForAWhile(t *testing.T, c *computer) {
	c.start("waits")
	if err := c.memory.Suspend(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.driver.Set(t, "fail-restore-once", "2")
	c.resume()
}

func takenGPU(t *testing.T, c *computer) {
	p := c.start("waits")
	if err := c.memory.Suspend(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.driver.Set(t, "fail-restore", "2")
	c.memory.deps.Patience = time.Nanosecond
	err := c.memory.Resume(t.Context())
	if want := fmt.Sprintf("put back on the GPU process %d (python3): the GPU, or this machine, has not enough free memory (CUDA error 2)", p.pid); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if err := c.memory.Retry(t.Context()); err == nil || len(c.memory.Off()) != 1 {
		t.Errorf("again: %v, off %v", err, c.memory.Off())
	}
	// A retry does nothing while the processes are suspended again.
	if err := c.memory.Suspend(t.Context()); err != nil {
		t.Error(err)
	}
	c.driver.Clear("fail-restore")
	if err := c.memory.Retry(t.Context()); err != nil || len(c.memory.Off()) != 1 {
		t.Errorf("suspended again: %v, off %v", err, c.memory.Off())
	}
	c.resume()
}

func nextRuntime(t *testing.T, c *computer) {
	c.start("kept")
	if err := c.memory.Suspend(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := New(c.memory.deps)
	next.Remember(c.saved[0])
	c.memory = next
	c.resume()
}

func foreignStates(t *testing.T, c *computer) {
	p := c.start("kept")
	for state, want := range map[string]string{"1": "locked by another program", "3": "in a failed CUDA state; restart it"} {
		c.driver.Set(t, fmt.Sprintf("%d.state", p.pid), state)
		if err := c.memory.Suspend(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("state %s: %v", state, err)
		}
		if err := c.memory.Resume(t.Context()); err != nil || fmt.Sprint(c.driver.State(p.pid)) != state {
			t.Errorf("state %s became %d, %v", state, c.driver.State(p.pid), err)
		}
	}
}

func lostProcess(t *testing.T, c *computer) {
	p, other := c.start("lost"), c.start("kept")
	if err := c.memory.Suspend(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.driver.Set(t, fmt.Sprintf("%d.state", p.pid), "3")
	if err := c.memory.Resume(t.Context()); err == nil || !strings.Contains(err.Error(), "in a failed CUDA state; restart it") {
		t.Errorf("got %v", err)
	}
	c.holders = []*process{other}
	c.unharmed()
}

func openNode(t *testing.T, c *computer) {
	c.start("kept", `node = open("/dev/full")`)
	if err := c.memory.Suspend(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.memory.Left(); err == nil || !strings.Contains(err.Error(), "(python3) has /dev/full open") {
		t.Errorf("got %v", err)
	}
	c.resume()
}

// refusals has the driver refuse each of its functions. All processes are as before afterwards.
func refusals(t *testing.T, c *computer) {
	first, second := c.start("one"), c.start("two")
	last := max(first.pid, second.pid)
	for result, want := range map[string]string{
		"1":   "the driver does not know the process (CUDA error 1)",
		"401": "is not in the state for it; another program may have locked it (CUDA error 401)",
		"600": "did not end within 10s; wait for the kernel that runs (CUDA error 600)",
		"719": "the driver says: the stand-in says 719 (CUDA error 719)",
	} {
		c.driver.Set(t, "fail-lock", result)
		if err := c.memory.Suspend(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "pause the GPU work of process") || !strings.Contains(err.Error(), want) {
			t.Errorf("lock: %v", err)
		}
		c.driver.Clear("fail-lock")
		c.resume()
	}
	const want = "shares memory with other processes or GPUs (CUDA IPC, NCCL, peer access)"
	c.driver.Set(t, "fail-checkpoint", "801")
	if err := c.memory.Suspend(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "take off the GPU process") || !strings.Contains(err.Error(), want) {
		t.Errorf("checkpoint: %v", err)
	}
	c.driver.Clear("fail-checkpoint")
	c.resume()
	for _, operation := range []string{"restore", "unlock", "state"} {
		if err := c.memory.Suspend(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.driver.Set(t, "fail-"+operation+"-once", "801")
		if err := c.memory.Resume(t.Context()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d (python3)", last)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", operation, err)
		}
		if off := c.memory.Off(); len(off) != 1 || off[0] != last {
			t.Errorf("%s: off %v", operation, off)
		}
		c.resume()
	}
}

// killedHelpers kills the helper at each of its calls. All processes are as before afterwards.
func killedHelpers(t *testing.T, c *computer) {
	c.start("one")
	c.start("two")
	for _, when := range []string{"state", "lock", "lock-after", "checkpoint", "checkpoint-after", "restore", "restore-after", "unlock", "unlock-after"} {
		operation, back := strings.TrimSuffix(when, "-after"), false
		if back = operation == "restore" || operation == "unlock"; back {
			if err := c.memory.Suspend(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		c.driver.Set(t, "hold-"+when, "")
		done := make(chan error, 1)
		go func() {
			if back {
				done <- c.memory.Resume(t.Context()) // which tries again
			} else {
				done <- c.memory.Suspend(t.Context())
			}
		}()
		killed := c.driver.Held(t, operation)
		c.driver.Clear("hold-" + when)
		if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := <-done; back && err != nil || !back && !errors.Is(err, errHelper) {
			t.Errorf("%s: %v", when, err)
		}
		c.resume()
	}
}

// Some packages load libcuda on computers without a GPU, and some computers have no libcuda.
func TestWithoutAGPU(t *testing.T) {
	driver := fakegpu.New(t)
	c := newComputer(t, driver)
	c.start("library")
	c.env = slices.DeleteFunc(c.env, func(pair string) bool { return strings.HasPrefix(pair, "LD_LIBRARY_PATH=") })
	if err := c.memory.Suspend(t.Context()); err != nil {
		t.Error(err)
	}
	c.resume()
}
