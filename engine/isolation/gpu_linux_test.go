package isolation

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

const ldconfig = `2 libs found in cache
	libnvidia-ml.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1
	libnvidia-ml.so.1 (libc6) => /usr/lib/i386-linux-gnu/libnvidia-ml.so.1
	libcuda.so.1 (libc6,x86-64, OS ABI: Linux 2.3.99) => /opt/driver/libcuda.so.1
	libnvidia-glcore.so.550.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libnvidia-glcore.so.550.1
	libnvidia-nvvm.so.4 (libc6,AArch64) => /usr/lib/aarch64-linux-gnu/libnvidia-nvvm.so.4
	broken
`

// driver is a computer with two GPUs, whose nodes are not in the order of nvidia-smi.
func driver(t *testing.T, without string, smi string, fails error) gpuFinder {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"dev/nvidiactl", "dev/nvidia-uvm", "dev/nvidia0", "dev/nvidia1", "bin/nvidia-smi"} {
		if name == without {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	information := filepath.Join(dir, "proc/driver/nvidia/gpus/0000:01:00.0")
	if err := os.MkdirAll(information, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(information, "information"), []byte("Model: \t\t X\nDevice Minor: \t 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	return gpuFinder{dev: filepath.Join(dir, "dev"), proc: filepath.Join(dir, "proc"), run: func(_ context.Context, name string, args ...string) ([]byte, error) {
		if strings.HasSuffix(name, "ldconfig") {
			return []byte(ldconfig), nil
		}
		if name != filepath.Join(dir, "bin/nvidia-smi") || !slices.Contains(args, "--format=csv,noheader,nounits") {
			t.Errorf("ran %s %v", name, args)
		}
		return []byte(smi), fails
	}}
}

const twoGPUs = "0, NVIDIA H100 80GB HBM3, GPU-a, 81559, 550.54.15, 00000000:01:00.0\n1, NVIDIA GB10, GPU-b, [N/A], 550.54.15, 00000000:02:00.0\n"

func TestGPUs(t *testing.T) {
	f := driver(t, "", twoGPUs, nil)
	s, err := f.find(t.Context())
	if err != nil || len(s.Found) != 2 || s.Driver != "550.54.15" || s.Reason != "" {
		t.Fatalf("%+v, %v", s, err)
	}
	if want := (GPU{Index: 0, Name: "NVIDIA H100 80GB HBM3", UUID: "GPU-a", Memory: 81559 << 20, Device: f.dev + "/nvidia1"}); s.Found[0] != want || s.Found[1].Memory != 0 {
		t.Errorf("found %+v", s.Found)
	}
	if got := parseLibraries(ldconfig, "x86-64"); !slices.Equal(got, []string{"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "/opt/driver/libcuda.so.1"}) {
		t.Errorf("libraries %v", got)
	}
	for name, tc := range map[string]struct {
		indexes []int
		want    string
	}{"all": {nil, "nvidiactl nvidia-uvm nvidia1 nvidia1"}, "one": {[]int{0, 0}, "nvidiactl nvidia-uvm nvidia1"}, "none": {[]int{}, "nvidiactl nvidia-uvm"}} {
		got, err := s.Devices(tc.indexes)
		if err != nil || strings.ReplaceAll(strings.Join(got, " "), f.dev+"/", "") != tc.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := s.Devices([]int{2}); sdk.CodeOf(err) != sdk.NotFound || !strings.Contains(err.Error(), "it has 2") {
		t.Error(err)
	}
	s.Libraries, s.Tool = []string{"/usr/lib/libcuda.so.1", "/opt/d/libcuda.so.1"}, "/usr/bin/nvidia-smi"
	if got := s.Mounts(false); len(got) != 1 || got[0] != (sdk.Mount{Source: "/opt/d/libcuda.so.1", Target: GPULibraries + "/libcuda.so.1"}) {
		t.Errorf("in this computer's tree: %+v", got)
	}
	if got := s.Mounts(true); len(got) != 3 || got[2].Target != GPUPrograms+"/nvidia-smi" {
		t.Errorf("in an image: %+v", got)
	}
	if env := s.Env(true, "/bin"); env["PATH"] != "/bin:"+GPUPrograms || env["LD_LIBRARY_PATH"] != GPULibraries {
		t.Errorf("%v", env)
	}
}

// A GPU that MIG divides is left out beside others. A driver that knows no MIG is asked again.
func TestDividedGPUs(t *testing.T) {
	s, err := driver(t, "", "0, NVIDIA A100, GPU-m, 40960, 550.54.15, 00000000:01:00.0, Enabled\n1, NVIDIA A100, GPU-w, 40960, 550.54.15, 00000000:02:00.0, Disabled\n", nil).find(t.Context())
	if err != nil || len(s.Found) != 1 || s.Found[0].UUID != "GPU-w" || len(s.Divided) != 1 || s.Reason != "" {
		t.Errorf("%+v, %v", s, err)
	}
	f := driver(t, "", twoGPUs, nil)
	run := f.run
	f.run = func(ctx context.Context, name string, args ...string) ([]byte, error) {
		if strings.Contains(strings.Join(args, " "), "mig.") {
			return []byte(`Field "mig.mode.current" is not a valid field to query.`), errors.New("exit status 2")
		}
		return run(ctx, name, args...)
	}
	if s, err := f.find(t.Context()); err != nil || len(s.Found) != 2 || len(s.Divided) != 0 || s.Reason != "" {
		t.Errorf("an older driver: %+v, %v", s, err)
	}
}

func TestGPUsThatCannotBeUsed(t *testing.T) {
	for want, f := range map[string]gpuFinder{
		"run as root: nvidia-modprobe":    driver(t, "dev/nvidia-uvm", twoGPUs, nil),
		"version mismatch":                driver(t, "", "Driver/library\nversion mismatch", errors.New("exit status 18")),
		"this computer has no NVIDIA GPU": driver(t, "dev/nvidiactl", "", nil),
		"MIG divides GPU 3 (NVIDIA A100), and Seer gives out whole GPUs; turn MIG off as root: nvidia-smi -i 3 -mig 0": driver(t, "", "3, NVIDIA A100, GPU-m, 40960, 550.54.15, 00000000:01:00.0, Enabled\n", nil),
	} {
		bin := filepath.Join(filepath.Dir(f.dev), "bin")
		t.Setenv("PATH", bin)
		s, err := f.find(t.Context())
		if err != nil {
			t.Errorf("%s: %v", want, err)
		}
		if _, err := s.Devices(nil); sdk.CodeOf(err) != sdk.Unsupported || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	f := driver(t, "", "what is this", nil)
	if _, err := f.find(t.Context()); err == nil {
		t.Error("nonsense was accepted")
	}
	t.Setenv("PATH", "/nowhere")
	if s, err := f.find(t.Context()); err != nil || !strings.Contains(s.Reason, "nvidia-utils") {
		t.Errorf("%+v, %v", s, err)
	}
}

func FuzzNvidiaSMI(f *testing.F) {
	f.Add(twoGPUs)
	f.Add(ldconfig)
	f.Add("0, \"a, b\", c, -1, d, ../../../etc\n")
	f.Fuzz(func(t *testing.T, text string) {
		var s GPUSet
		if err := (gpuFinder{dev: "/dev", proc: "/nowhere"}).parse(&s, text); err != nil {
			return
		}
		for _, g := range s.Found {
			if g.Memory < 0 || !strings.HasPrefix(g.Device, "/dev/nvidia") || strings.Contains(g.Device, "..") {
				t.Errorf("%+v", g)
			}
		}
		for _, path := range parseLibraries(text, "x86-64") {
			if !filepath.IsAbs(path) {
				t.Errorf("library %q", path)
			}
		}
	})
}

// The devices asked for are there inside, and only they.
func TestDevices(t *testing.T) { each(t, devicesIn) }

func devicesIn(t *testing.T, kind string) {
	env := map[string]string{"PATH": "/usr/bin:/bin"}
	got := inside(t, kind, Spec{Devices: []string{"/dev/full"}, Env: env}, "echo x >/dev/full; ls /dev | tr '\\n' ' '")
	if !strings.Contains(got, "I/O error") || !strings.Contains(got, "full") || strings.Contains(got, "loop-control") {
		t.Errorf("inside: %s", got)
	}
}

func TestGVisorDescribesAGPU(t *testing.T) {
	// /dev/full stands for the nodes: what matters is what is asked of runsc.
	g := &gvisor{spec: Spec{Argv: []string{"x"}, State: "/s", Devices: []string{"/dev/full"}}, state: "/s"}
	g.describe()
	if err := g.devices(); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(g.oci.Linux.Devices)
	if err != nil || string(data) != `[{"path":"/dev/full","type":"c","major":1,"minor":7,"fileMode":438,"uid":0,"gid":0}]` {
		t.Errorf("%s, %v", data, err)
	}
	if slices.Contains(g.flags(), "--nvproxy") {
		t.Error("nvproxy without a GPU")
	}
	g.spec.Devices = []string{"/dev/nvidiactl", "/dev/nvidia0"}
	if flags := g.flags(); !slices.Contains(flags, "--nvproxy") || !slices.Contains(flags, "--nvproxy-allowed-driver-capabilities=utility,compute") {
		t.Errorf("flags %v", flags)
	}
}

func TestUseOfGPUs(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "nvidia-smi")
	for name, tc := range map[string]struct {
		script, want string // of an error
	}{
		"two GPUs":  {`[ "$1" = --query-gpu=uuid,memory.used,memory.total ] && printf 'GPU-a, 1, 81559\nGPU-b, 0, 100\n'`, ""},
		"none know": {`echo 'GPU-a, [N/A], [N/A]'`, "nvidia-smi does not know the memory of the GPU GPU-a"},
		"fails":     {`echo lost the GPU >&2; exit 15`, "exit status 15: lost the GPU"},
		"nonsense":  {`echo hello`, `nvidia-smi has answered "hello\n"`},
	} {
		testkit.WriteProgram(t, tool, "#!/bin/sh\n"+tc.script+"\n")
		uses, err := GPUSet{Tool: tool}.Use(t.Context())
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
		if tc.want == "" && (len(uses) != 2 || uses["GPU-a"] != GPUUse{Used: 1 << 20, Total: 81559 << 20}) {
			t.Errorf("%s: %+v", name, uses)
		}
	}
}
