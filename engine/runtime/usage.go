package runtime

import (
	"context"
	"net/http"
	"os"
	goruntime "runtime"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/engine/runtime/internal/osfile"
)

func (s *Server) getUsage(w http.ResponseWriter, r *http.Request) error {
	return httpx.WriteJSON(w, http.StatusOK, s.usage(r.Context()))
}

// usage is what the machine uses. What cannot be known is left out.
func (s *Server) usage(ctx context.Context) protocol.Usage {
	gpus := make(chan []protocol.GPUUsage, 1)
	go func() { gpus <- queryGPUs(ctx) }()
	u := protocol.Usage{CPUCount: float64(goruntime.NumCPU())}
	s.systemUsage(&u)
	for _, path := range []string{"/", "/workspace", "/tmp", "/models"} {
		if d, ok := diskUsage(path, s.real(path)); ok {
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

// topPid is the process below which everything belongs to the machine.
func (s *Server) topPid() int {
	if s.options.Exclusive {
		return os.Getppid() // the loader: orphans are its children
	}
	return os.Getpid()
}

// cookie is the variable that everything on the machine was started with; empty where the
// machine has no name.
func (s *Server) cookie() string {
	if s.options.Machine == "" {
		return ""
	}
	return machineVariable + "=" + s.options.Machine
}
