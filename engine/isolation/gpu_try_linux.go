package isolation

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// cudaProgram makes a context on every GPU that it sees, with the driver's library alone.
const cudaProgram = `
import ctypes
cu = ctypes.CDLL("libcuda.so.1")
def do(name, *args):
    code = getattr(cu, name)(*args)
    if code:
        text = ctypes.c_char_p()
        cu.cuGetErrorString(code, ctypes.byref(text))
        raise SystemExit("%s fails: %s" % (name, (text.value or b"error %d" % code).decode()))
count = ctypes.c_int()
do("cuInit", 0)
do("cuDeviceGetCount", ctypes.byref(count))
if not count.value:
    raise SystemExit("CUDA sees no GPU")
for i in range(count.value):
    context = ctypes.c_void_p()
    do("cuCtxCreate_v2", ctypes.byref(context), 0, i)
    do("cuCtxDestroy_v2", context)
`

// longestCUDA is how long the first calls of CUDA may take on a computer with many GPUs.
const longestCUDA = 2 * time.Minute

// TryGPU makes calls of CUDA on all GPUs of the set in a kind of isolation. The error says what
// failed.
func TryGPU(ctx context.Context, kind string, set GPUSet, python Interpreter, places ...string) error {
	devices, err := set.Devices(nil)
	if err != nil {
		return err
	}
	state, err := os.MkdirTemp("", "seer-gpu-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	spec := Spec{Argv: []string{python.Executable, "-I", "-S", "-c", cudaProgram}, Env: map[string]string{"PATH": "/usr/bin:/bin"}, PIDOne: true,
		ReadOnly: python.Paths, State: state, Places: places, Network: kind == None}
	if kind != None {
		spec.Devices, spec.Mounts = devices, set.Mounts(false)
		for name, value := range set.Env(false, spec.Env["PATH"]) {
			spec.Env[name] = value
		}
	}
	cmd, err := Command(kind, spec)
	if err != nil {
		return err
	}
	defer Release(cmd)
	out, err := runFor(ctx, kind, cmd, longestCUDA)
	if err == nil {
		return nil
	}
	if lines := strings.Split(out, "\n"); lines[len(lines)-1] != "" {
		return fmt.Errorf("%s", lines[len(lines)-1])
	}
	return err
}
