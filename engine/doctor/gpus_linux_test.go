package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/gpulease"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/paths"
	"github.com/seer-engine/seer/engine/pyenv"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// TestGPUs says who uses each GPU, and that CUDA does not work where its library is missing.
func TestGPUs(t *testing.T) {
	dir := t.TempDir()
	store, err := state.Open(state.Options{StateDir: dir + "/s", CacheDir: dir + "/c", RuntimeDir: dir + "/r"})
	if err != nil {
		t.Fatal(err)
	}
	getenv := func(string) string { return "" }
	places, err := paths.New(paths.Options{Getenv: getenv, DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	set := isolation.GPUSet{Found: []isolation.GPU{{Index: 0, Name: "NVIDIA H100", UUID: "GPU-a", Memory: 80e9, Device: "/dev/zero"}, {Index: 1, Name: "NVIDIA H100", UUID: "GPU-b", Memory: 80e9, Device: "/dev/full"}}}
	var fails error
	gpus := func(context.Context) (isolation.GPUSet, error) { return set, nil }
	d := &Doctor{Python: pyenv.New(pyenv.Options{Store: store, Getenv: getenv}), Paths: places, GPUs: gpus, Local: func() (sdk.Provider, error) {
		return local.New(local.Options{Dir: dir, GPUs: gpus, Leases: func() (*gpulease.Folder, error) {
			return gpulease.Open(gpulease.Options{Dir: dir + "/gpus", Ask: func(context.Context) (gpulease.State, error) {
				return gpulease.State{Devices: map[string]gpulease.Device{"GPU-a": {Used: 9e9}, "GPU-b": {Fault: "ERR!"}}}, fails
			}})
		}}), nil
	}}
	said := func() (text string) {
		for _, f := range d.checkGPUs(t.Context()) {
			if f.Needed() {
				t.Errorf("%+v is needed", f)
			}
			text += strings.Join([]string{f.Name, f.Detail, f.Fix}, ": ") + "\n"
		}
		return text
	}
	text := said()
	for _, want := range []string{
		"gpu 0: H100, 80.0 GB, used by: 9.0 GB are in use by programs that cannot be seen from here: \n",
		"gpu 1: H100, 80.0 GB: in an error state (nvidia-smi says ERR!)", "gpu in none: CUDA does not work: OSError: libcuda.so.1",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	fails = errors.New("nvidia-smi gave no answer")
	if text := said(); !strings.Contains(text, "gpu: cannot be shared: the GPUs of this computer cannot be used: nvidia-smi gave no answer\n") {
		t.Error(text)
	}
	set = isolation.GPUSet{Reason: "there is no nvidia-smi in the PATH"}
	if text := said(); text != "gpu: cannot be used: there is no nvidia-smi in the PATH\n" {
		t.Error(text)
	}
	set = isolation.GPUSet{}
	if text := said(); text != "" {
		t.Error(text)
	}
}
