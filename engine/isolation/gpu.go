package isolation

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// GPU is one of this computer's.
type GPU struct {
	Index  int    `json:"index"`
	Name   string `json:"name"`   // as nvidia-smi says it: NVIDIA H100 80GB HBM3
	UUID   string `json:"uuid"`   // what CUDA_VISIBLE_DEVICES takes
	Memory int64  `json:"memory"` // bytes
	Device string `json:"device"` // its own node: /dev/nvidia0
}

// GPUSet is what this computer has, and what a sandbox must be shown to use it.
type GPUSet struct {
	Found  []GPU  `json:"found"`  // in the order of nvidia-smi
	Driver string `json:"driver"` // version of the kernel's driver
	// Divided says of each GPU that MIG divides that it is left out, and what to do. Its parts are
	// not offered: each needs nodes of its own, and the queries of nvidia-smi by which GPUs are
	// shared know only whole GPUs.
	Divided []string `json:"divided,omitempty"`

	Common    []string `json:"common"`    // nodes that each sandbox with a GPU needs: /dev/nvidiactl, …
	Libraries []string `json:"libraries"` // the driver's libraries, at their place here
	Tool      string   `json:"tool"`      // nvidia-smi

	// Reason says why GPUs that are there cannot be used, and what to do.
	Reason string `json:"reason,omitempty"`
}

// Where the driver's libraries and nvidia-smi are in a sandbox whose tree is an
// image's. They belong to this computer's kernel, so that no image has them.
const (
	GPULibraries = "/seer/gpu/lib"
	GPUPrograms  = "/seer/gpu/bin"
)

// Devices are the nodes to show, as in [Spec.Devices], for the GPUs with the given
// indexes; nil means all of them.
func (s GPUSet) Devices(indexes []int) ([]string, error) {
	if s.Reason != "" {
		return nil, sdk.Errorf(sdk.Unsupported, "the GPUs of this computer cannot be used: %s", s.Reason)
	}
	if len(s.Found) == 0 {
		return nil, sdk.Errorf(sdk.Unsupported, "this computer has no NVIDIA GPU")
	}
	out := slices.Clone(s.Common)
	if indexes == nil {
		for _, g := range s.Found {
			out = append(out, g.Device)
		}
		return out, nil
	}
	for _, index := range indexes {
		at := slices.IndexFunc(s.Found, func(g GPU) bool { return g.Index == index })
		if at < 0 {
			return nil, sdk.Errorf(sdk.NotFound, "this computer has no GPU %d; it has %d", index, len(s.Found))
		}
		if !slices.Contains(out, s.Found[at].Device) {
			out = append(out, s.Found[at].Device)
		}
	}
	return out, nil
}

// Mounts shows the driver's libraries inside; add them to [Spec.Mounts]. In this
// computer's own tree (image is false) those in /usr are there anyway.
func (s GPUSet) Mounts(image bool) []sdk.Mount {
	var out []sdk.Mount
	add := func(path, dir string) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			real = path
		}
		if image || !underSystem(path) {
			out = append(out, sdk.Mount{Source: real, Target: dir + "/" + filepath.Base(path)})
		}
	}
	for _, path := range s.Libraries {
		add(path, GPULibraries)
	}
	if s.Tool != "" {
		add(s.Tool, GPUPrograms)
	}
	return out
}

// Env is what a command needs to find what Mounts shows; path is its PATH. It is
// empty where nothing is mounted.
func (s GPUSet) Env(image bool, path string) map[string]string {
	if len(s.Mounts(image)) == 0 {
		return nil
	}
	return map[string]string{"LD_LIBRARY_PATH": GPULibraries, "PATH": path + ":" + GPUPrograms}
}

// GPUUse is the memory of a GPU, in bytes.
type GPUUse struct{ Used, Total int64 }

// Use asks nvidia-smi for the memory of each GPU, by UUID, that is in use by whomever.
func (s GPUSet) Use(ctx context.Context) (map[string]GPUUse, error) {
	out, err := output(ctx, s.Tool, "--query-gpu=uuid,memory.used,memory.total", "--format=csv,noheader,nounits")
	if err != nil {
		return nil, sdk.Errorf(sdk.Unavailable, "ask nvidia-smi for the memory of GPUs: %v%s", err, said(out, err))
	}
	uses := map[string]GPUUse{}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), ", ")
		if len(f) != 3 {
			return nil, sdk.Errorf(sdk.Internal, "nvidia-smi has answered %q for the memory of a GPU", line)
		}
		used, err := strconv.ParseInt(f[1], 10, 40)
		total, err2 := strconv.ParseInt(f[2], 10, 40)
		if err := errors.Join(err, err2); err != nil {
			return nil, sdk.Errorf(sdk.Unsupported, "nvidia-smi does not know the memory of the GPU %s: %v", f[0], err)
		}
		uses[f[0]] = GPUUse{Used: used << 20, Total: total << 20}
	}
	return uses, nil
}

// GPUs looks for this computer's NVIDIA GPUs. None is no error.
func GPUs(ctx context.Context) (GPUSet, error) {
	return gpuFinder{dev: "/dev", proc: "/proc", run: output}.find(ctx)
}

func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	return cmd.Output()
}

// gpuFinder looks in folders and at programs that tests replace.
type gpuFinder struct {
	dev, proc string
	run       func(ctx context.Context, name string, args ...string) ([]byte, error)
}

// The nodes of the driver. The last two are there only on some systems.
var commonNodes = [...]string{"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}

func (f gpuFinder) find(ctx context.Context) (GPUSet, error) {
	var s GPUSet
	if _, err := os.Stat(filepath.Join(f.dev, "nvidiactl")); errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	tool, err := exec.LookPath("nvidia-smi")
	if err != nil {
		s.Reason = "there is no nvidia-smi in the PATH; install the driver's tools (nvidia-utils)"
		return s, nil
	}
	s.Tool = tool
	const fields = "--query-gpu=index,name,uuid,memory.total,driver_version,pci.bus_id"
	out, err := f.run(ctx, tool, fields+",mig.mode.current", "--format=csv,noheader,nounits")
	if err != nil && ctx.Err() == nil { // drivers before 450 know no MIG
		out, err = f.run(ctx, tool, fields, "--format=csv,noheader,nounits")
	}
	if err != nil {
		if ctx.Err() != nil {
			return s, ctx.Err()
		}
		s.Reason = fmt.Sprintf("nvidia-smi fails: %v%s", err, said(out, err))
		return s, nil
	}
	if err := f.parse(&s, string(out)); err != nil {
		return s, err
	}
	if len(s.Found) == 0 && len(s.Divided) > 0 {
		s.Reason = strings.Join(s.Divided, "; ")
		return s, nil
	}
	for _, name := range commonNodes {
		if _, err := os.Stat(filepath.Join(f.dev, name)); err == nil {
			s.Common = append(s.Common, filepath.Join(f.dev, name))
		} else if name == "nvidia-uvm" {
			s.Reason = "there is no " + filepath.Join(f.dev, name) + "; run as root: nvidia-modprobe -u -c=0"
		}
	}
	s.Libraries = f.libraries(ctx)
	return s, nil
}

// said is what a program that failed has said, in one line.
func said(out []byte, err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		out = append(out, exit.Stderr...)
	}
	if text := strings.Join(strings.Fields(string(out)), " "); text != "" {
		return ": " + text
	}
	return ""
}

// parse reads what nvidia-smi says.
func (f gpuFinder) parse(s *GPUSet, text string) error {
	in := csv.NewReader(strings.NewReader(text))
	in.TrimLeadingSpace, in.LazyQuotes, in.FieldsPerRecord = true, true, 0 // as many in each line
	rows, err := in.ReadAll()
	if err != nil {
		return sdk.Errorf(sdk.Internal, "nvidia-smi has answered what cannot be read: %v", err)
	}
	for _, row := range rows {
		if len(row) < 6 {
			return sdk.Errorf(sdk.Internal, "nvidia-smi has answered %q for a GPU", strings.Join(row, ", "))
		}
		index, err := strconv.Atoi(strings.TrimSpace(row[0]))
		if err != nil || index < 0 {
			return sdk.Errorf(sdk.Internal, "nvidia-smi has answered a GPU with the index %q", row[0])
		}
		mib, _ := strconv.ParseInt(strings.TrimSpace(row[3]), 10, 40) // [N/A] on computers whose GPU has no memory of its own
		s.Driver = strings.TrimSpace(row[4])
		if len(row) > 6 && strings.TrimSpace(row[6]) == "Enabled" {
			s.Divided = append(s.Divided, fmt.Sprintf("MIG divides GPU %d (%s), and Seer gives out whole GPUs; turn MIG off as root: nvidia-smi -i %d -mig 0",
				index, strings.TrimSpace(row[1]), index))
			continue
		}
		s.Found = append(s.Found, GPU{
			Index: index, Name: strings.TrimSpace(row[1]), UUID: strings.TrimSpace(row[2]), Memory: max(mib, 0) << 20,
			Device: filepath.Join(f.dev, fmt.Sprintf("nvidia%d", f.minor(row[5], index))),
		})
	}
	return nil
}

// minor is the number of a GPU's node, which need not be its index.
func (f gpuFinder) minor(bus string, index int) int {
	bus = strings.ToLower(strings.TrimSpace(bus))
	if len(bus) > 12 { // 00000000:01:00.0 for nvidia-smi, 0000:01:00.0 for the kernel
		bus = bus[len(bus)-12:]
	}
	data, err := os.ReadFile(filepath.Join(f.proc, "driver/nvidia/gpus", filepath.Base(bus), "information"))
	if err != nil {
		return index
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, "Device Minor:"); ok {
			if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && n >= 0 {
				return n
			}
		}
	}
	return index
}

// computeLibraries are the driver's libraries that CUDA and nvidia-smi load.
var computeLibraries = [...]string{
	"libcuda.so", "libcudadebugger.so", "libnvidia-ml.so", "libnvidia-ptxjitcompiler.so", "libnvidia-nvvm", "libnvidia-gpucomp.so",
	"libnvidia-opencl.so", "libnvidia-allocator.so", "libnvidia-cfg.so", "libnvidia-compiler.so", "libnvidia-fatbinaryloader.so",
}

func (f gpuFinder) libraries(ctx context.Context) []string {
	for _, tool := range []string{"/sbin/ldconfig", "/usr/sbin/ldconfig", "/run/current-system/sw/bin/ldconfig"} {
		if out, err := f.run(ctx, tool, "-p"); err == nil {
			return parseLibraries(string(out), map[string]string{"amd64": "x86-64", "arm64": "AArch64"}[runtime.GOARCH])
		}
	}
	return nil
}

// parseLibraries reads the list of ldconfig -p.
func parseLibraries(text, machine string) []string {
	var out []string
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), " (")
		kind, path, ok2 := strings.Cut(rest, ") => ")
		if !ok || !ok2 || !strings.Contains(kind, machine) || !filepath.IsAbs(path) || slices.Contains(out, path) {
			continue
		}
		for _, prefix := range computeLibraries {
			if strings.HasPrefix(name, prefix) {
				out = append(out, path)
				break
			}
		}
	}
	return out
}
