// Package fakesmi is an nvidia-smi for tests, whose GPUs and processes are in files: a test says
// what the driver would say of a whole computer, also of processes that do not exist. It shares no
// state with package fakegpu, which has real processes hold memory and needs a compiler: the tests
// of leases and of commands need no CUDA, and those of saved processes no list of processes.
package fakesmi

import (
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

//go:embed nvidia-smi
var script []byte

// GPU is one that the driver knows. Text fields are printed as they are, so that they can be
// [N/A] or ERR!.
type GPU struct {
	Index       int
	Name, UUID  string
	Total, Used int    // MiB
	Utilization string // percent; default 0
	Temperature string // °C; default 40
	MIG         string // mode; default Disabled
}

// App is a process on a GPU.
type App struct {
	GPU  string // UUID
	PID  int
	Name string
	Used int // MiB; below 0 = [N/A]
}

// SMI is a folder with the program.
type SMI struct {
	Dir string
	t   testing.TB
}

// New makes the program and its GPUs.
func New(t testing.TB, gpus ...GPU) *SMI {
	t.Helper()
	s := &SMI{Dir: t.TempDir(), t: t}
	testkit.WriteProgram(t, s.Path(), string(script))
	if err := os.Chmod(s.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.GPUs(gpus...)
	s.Apps()
	s.write("list", "")
	return s
}

// Path is the program.
func (s *SMI) Path() string { return filepath.Join(s.Dir, "nvidia-smi") }

// GPUs replaces the GPUs.
func (s *SMI) GPUs(gpus ...GPU) {
	s.t.Helper()
	lines := []string{"index, name, uuid, memory.total, memory.used, utilization.gpu, temperature.gpu, driver_version, pci.bus_id, mig.mode.current"}
	for _, g := range gpus {
		lines = append(lines, fmt.Sprintf("%d, %s, %s, %d, %d, %s, %s, 580.159.04, 00000000:%02X:00.0, %s",
			g.Index, g.Name, g.UUID, g.Total, g.Used, cmp.Or(g.Utilization, "0"), cmp.Or(g.Temperature, "40"), g.Index+1, cmp.Or(g.MIG, "Disabled")))
	}
	s.write("gpus", strings.Join(lines, "\n")+"\n")
}

// Apps replaces the processes.
func (s *SMI) Apps(apps ...App) {
	s.t.Helper()
	lines := []string{"gpu_uuid, pid, used_memory, process_name"}
	for _, a := range apps {
		used := fmt.Sprint(a.Used)
		if a.Used < 0 {
			used = "[N/A]"
		}
		lines = append(lines, fmt.Sprintf("%s, %d, %s, %s", a.GPU, a.PID, used, a.Name))
	}
	s.write("apps", strings.Join(lines, "\n")+"\n")
}

// List replaces what -L says.
func (s *SMI) List(text string) { s.write("list", text) }

// Hang has the program never answer; Fail has it fail with a text.
func (s *SMI) Hang() { s.write("hang", "") }

// Fail has the program say a text and fail.
func (s *SMI) Fail(text string) { s.write("fail", text) }

// Command runs the program.
func (s *SMI) Command(args ...string) *exec.Cmd { return exec.Command(s.Path(), args...) }

// write replaces a file at once: the program may be reading it.
func (s *SMI) write(name, content string) {
	s.t.Helper()
	path := filepath.Join(s.Dir, name)
	if err := os.WriteFile(path+".new", []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		s.t.Fatal(err)
	}
}
