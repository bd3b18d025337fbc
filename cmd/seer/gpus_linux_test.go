package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/fakesmi"
)

// withGPUDevices runs a script where /dev has the nodes of a driver of NVIDIA, each of which is
// /dev/null: in a mount namespace of its own, so that the program needs no hook for tests.
const withGPUDevices = `set -e
mkdir dev; dev=$PWD/dev
mount -t tmpfs tmpfs "$dev"
for n in null zero full random urandom tty; do touch "$dev/$n"; mount --bind "/dev/$n" "$dev/$n"; done
for n in nvidiactl nvidia-uvm nvidia0 nvidia1; do touch "$dev/$n"; mount --bind /dev/null "$dev/$n"; done
mkdir "$dev/pts" "$dev/shm"
mount --rbind /dev/pts "$dev/pts"
ln -s pts/ptmx "$dev/ptmx"
mount -t tmpfs tmpfs "$dev/shm"
ln -s /proc/self/fd "$dev/fd"
ln -s fd/0 "$dev/stdin"; ln -s fd/1 "$dev/stdout"; ln -s fd/2 "$dev/stderr"
mount --rbind "$dev" /dev
`

// TestGPUCommands: the whole program with two GPUs that are stand-ins, from plan to down.
func TestGPUCommands(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	smi := fakesmi.New(t, fakesmi.GPU{Name: "NVIDIA H100 80GB HBM3", UUID: "GPU-a", Total: 81559}, fakesmi.GPU{Index: 1, Name: "NVIDIA A100", UUID: "GPU-m", Total: 40960, MIG: "Enabled"})
	p.write("exp.yaml", "name: g\nsandbox: {provider: local, gpu: H100, gpu_share: 4, isolation: bubblewrap, timeout: 10m, execution_mode: cli}\n")
	p.write("torch.py", `
import types
queued, fractions = [], {}
cuda = types.SimpleNamespace(device_count=lambda: 1, set_per_process_memory_fraction=lambda f, d: fractions.__setitem__(d, f), _lazy_call=queued.append)
`)
	script := withGPUDevices + `
seer() { echo "\$ seer $*"; "$SEER" "$@"; }
seer plan exp.yaml
seer up exp.yaml --name g1 --yes --quiet
seer ls
seer cp torch.py g1:/workspace/torch.py
seer exec g1 -- sh -c 'echo sees $(ls /dev | grep nvidia) $CUDA_VISIBLE_DEVICES'
seer python g1 --session -c 'import torch; [limit() for limit in torch.queued]; print("limited to", torch.fractions)'
seer show g1 --json
seer doctor || true
seer down g1
sed -i s/Disabled/Enabled/ "$SMI/gpus"
if seer plan exp.yaml; then exit 9; fi
`
	cmd := exec.Command("unshare", "--mount", "--map-root-user", "sh", "-c", script)
	cmd.Dir = p.dir
	cmd.Env = append(p.env, "SEER="+p.path, "SMI="+smi.Dir)
	for i, v := range cmd.Env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			cmd.Env[i] = "PATH=" + smi.Dir + string(filepath.ListSeparator) + path + string(filepath.ListSeparator) + os.Getenv("PATH")
		}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"gpu         GPU 0 (H100-SXM), 85.5 GB of 85.5 GB free; it would be this one now",
		"H100-SXM 1/4", "sees nvidia-uvm nvidia0 nvidiactl GPU-a", "limited to {0: 0.25}",
		`"gpu_users":["GPU 0 (H100-SXM), 64.1 GB of 85.5 GB free, used by: sandbox g1 of `,
		"MIG divides GPU 1 (NVIDIA A100), and Seer gives out whole GPUs; turn MIG off as root: nvidia-smi -i 1 -mig 0",
		"provider `local` has no GPU that can be used: the GPUs of this computer cannot be used: MIG divides GPU 0",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
}
