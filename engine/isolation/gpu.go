package isolation

import (
	"context"

	"github.com/seer-engine/seer/sdk"
)

// GPU is one of this computer's.
type GPU struct {
	Index  int    `json:"index"`
	Name   string `json:"name"`   // as nvidia-smi says it: NVIDIA H100 80GB HBM3
	UUID   string `json:"uuid"`   // what NVIDIA_VISIBLE_DEVICES takes
	Memory int64  `json:"memory"` // bytes
	Device string `json:"device"` // its own node: /dev/nvidia0
}

// GPUs is what this computer has, and what a sandbox must be shown to use it.
type GPUSet struct {
	Found  []GPU  `json:"found"`  // in the order of nvidia-smi
	Driver string `json:"driver"` // version of the kernel's driver

	Common    []string `json:"common"`    // nodes that each sandbox with a GPU needs: /dev/nvidiactl, …
	Libraries []string `json:"libraries"` // the driver's libraries and nvidia-smi, at their place here
}

// Devices are the nodes to show, as in [Spec.Devices], for the GPUs with the given
// indexes; nil means all of them.
func (s GPUSet) Devices(indexes []int) ([]string, error) {
	return nil, sdk.Errorf(sdk.Unsupported, "no GPUs yet")
}

// Mounts shows the driver's libraries inside; add them to [Spec.Mounts].
func (s GPUSet) Mounts() []sdk.Mount { return nil }

// GPUs looks for this computer's NVIDIA GPUs. None is no error.
func GPUs(ctx context.Context) (GPUSet, error) { return GPUSet{}, nil }
