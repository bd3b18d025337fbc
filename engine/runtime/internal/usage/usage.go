// Package usage measures what the machine uses: processors, memory, disks and GPUs.
package usage

import (
	"context"
	"os"
	goruntime "runtime"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/environment"
	"github.com/seer-engine/seer/internal/osfile"
)

// Read measures what the machine uses. What cannot be known is left out.
func Read(ctx context.Context, env *environment.Env) protocol.Usage {
	gpus := make(chan []protocol.GPUUsage, 1)
	go func() { gpus <- queryGPUs(ctx) }()
	u := protocol.Usage{CPUCount: float64(goruntime.NumCPU())}
	systemUsage(env, &u)
	for _, path := range []string{"/", "/workspace", "/tmp", "/models", "/datasets"} {
		if d, ok := diskUsage(path, env.Real(path)); ok {
			u.Disks = append(u.Disks, d)
		}
	}
	u.GPUs = <-gpus
	return u
}

// diskUsage is the disk under a folder that is there.
func diskUsage(shown, path string) (protocol.DiskUsage, bool) {
	f, err := os.Open(path)
	if err != nil {
		return protocol.DiskUsage{}, false
	}
	defer f.Close()
	total, free, err := osfile.Space(f)
	return protocol.DiskUsage{Path: shown, Bytes: int64(total), Free: int64(free)}, err == nil
}
