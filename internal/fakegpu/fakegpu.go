// Package fakegpu is an NVIDIA driver without a GPU, for tests of what takes processes off GPUs
// and puts them back: libcuda.so.1, compiled by cc, and an nvidia-smi that knows only how much memory
// these processes hold. Package fakesmi is the nvidia-smi for everything else.
package fakegpu

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

//go:embed driver/cuda.c
var source []byte

// Holder is a Python program that puts its first argument into the memory of a GPU, and
// answers each line of its input with what lies there. It first prints its PID.
const Holder = `
import ctypes, os, sys
cu, pointer, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_uint64(), ctypes.c_void_p()
data = sys.argv[1].encode()
size = int(sys.argv[2]) if len(sys.argv) > 2 else len(data)
ok = [cu.cuInit(0), cu.cuCtxCreate_v2(ctypes.byref(context), 0, 0), cu.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)),
      cu.cuMemcpyHtoD_v2(pointer, data, ctypes.c_size_t(len(data)))]
assert not any(ok), ok
print(os.getpid(), flush=True)
for line in sys.stdin:
    back = ctypes.create_string_buffer(len(data))
    assert not cu.cuMemcpyDtoH_v2(back, pointer, ctypes.c_size_t(len(data)))
    print(back.raw.decode(), flush=True)
`

// Compile puts the library into dir. folder is where its state is, and memory what lies on its
// GPU, unless the variables SEER_FAKE_GPU and SEER_FAKE_GPU_MEMORY say other ones.
func Compile(t testing.TB, dir, folder, memory string) (library string) {
	t.Helper()
	library = filepath.Join(dir, "libcuda.so.1")
	cmd := exec.Command("cc", "-O1", "-Wall", "-shared", "-fPIC", "-pthread", fmt.Sprintf("-DFOLDER=%q", folder), fmt.Sprintf("-DMEMORY=%q", memory),
		"-o", library, "-x", "c", "-")
	cmd.Stdin = strings.NewReader(string(source))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("compile the stand-in for libcuda: %v\n%s", err, out)
	}
	return library
}

// Driver is a stand-in whose folder tests see.
type Driver struct {
	Folder string // of its state and its GPU's memory
	Dir    string // of libcuda.so.1
}

// New makes one in a folder of the test.
func New(t testing.TB) Driver {
	t.Helper()
	d := Driver{Folder: t.TempDir(), Dir: t.TempDir()}
	Compile(t, d.Dir, d.Folder, d.Folder)
	return d
}

// Set says something to the library; see its source.
func (d Driver) Set(t testing.TB, name, value string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.Folder, name), []byte(value), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Clear takes back what was said. It need not be there.
func (d Driver) Clear(name string) { _ = os.Remove(filepath.Join(d.Folder, name)) }

// Has reports whether a file is in the folder.
func (d Driver) Has(format string, args ...any) bool {
	_, err := os.Lstat(filepath.Join(d.Folder, fmt.Sprintf(format, args...)))
	return err == nil
}

// State is that of a process, as the driver has it; -1 = it has no context.
func (d Driver) State(pid int) int {
	n, err := strconv.Atoi(strings.TrimSpace(d.read(fmt.Sprintf("%d.state", pid))))
	if err != nil {
		return -1
	}
	return n
}

func (d Driver) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(d.Folder, name))
	return string(data)
}

// Held waits until a program is kept in an operation, and returns its PID.
func (d Driver) Held(t testing.TB, operation string) int {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if pid, err := strconv.Atoi(strings.TrimSpace(d.read("held-" + operation))); err == nil {
			d.Clear("held-" + operation)
			return pid
		}
	}
	t.Fatalf("nobody has asked for %s", operation)
	return 0
}

// SMI makes an nvidia-smi in dir, for the memory of one GPU: total MiB in all, and in use what
// is in the files that the patterns match.
func SMI(t testing.TB, dir, uuid string, total int, patterns ...string) string {
	t.Helper()
	for i, pattern := range patterns {
		patterns[i] = strings.ReplaceAll(pattern, " ", `\ `)
	}
	file := filepath.Join(dir, "nvidia-smi")
	script := fmt.Sprintf("#!/bin/sh\necho %s, $(($(cat /dev/null %s 2>/dev/null | wc -c) >> 20)), %d\n", uuid, strings.Join(patterns, " "), total)
	if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// OnGPU is what a process has on the GPU; empty = nothing.
func (d Driver) OnGPU(pid int) string { return d.read(fmt.Sprintf("%d.memory", pid)) }

// Env are the variables by which processes find it.
func (d Driver) Env() []string {
	return []string{"LD_LIBRARY_PATH=" + d.Dir, "SEER_FAKE_GPU=" + d.Folder, "SEER_FAKE_GPU_MEMORY=" + d.Folder}
}
