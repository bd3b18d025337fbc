package usage

import (
	"bytes"
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

const (
	gpuTimeout = 2 * time.Second
	maxGPUs    = 1024
)

// queryGPUs asks the driver's own program, where it is there.
func queryGPUs(ctx context.Context) []protocol.GPUUsage {
	program, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, gpuTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--query-gpu=index,name,utilization.gpu,temperature.gpu,memory.used,memory.total", "--format=csv,noheader,nounits")
	cmd.WaitDelay = 100 * time.Millisecond // a program of its own may hold the pipe
	var out bytes.Buffer
	cmd.Stdout = &limited{w: &out, left: 1 << 20}
	if cmd.Run() != nil {
		return nil
	}
	return parseGPUs(out.String())
}

// limited drops what is too much.
type limited struct {
	w    *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.w.Write(p[:n])
	return len(p), nil
}

// parseGPUs reads lines of index, name, percent, °C, MiB, MiB. One that is anything else is
// left out; of an ability that a GPU does not have, [N/A] is said, and it is left at 0.
func parseGPUs(text string) []protocol.GPUUsage {
	var list []protocol.GPUUsage
	for line := range strings.Lines(text) {
		if g, ok := parseGPU(strings.TrimSpace(line)); ok && len(list) < maxGPUs {
			list = append(list, g)
		}
	}
	return list
}

func parseGPU(line string) (g protocol.GPUUsage, ok bool) {
	fields := strings.Split(line, ", ")
	n := len(fields)
	if n < 6 {
		return g, false
	}
	index, err := strconv.ParseUint(fields[0], 10, 16)
	percent, ok1 := gpuNumber(fields[n-4], 100)
	celsius, ok4 := gpuNumber(fields[n-3], 1000)
	used, ok2 := gpuNumber(fields[n-2], 1<<40)
	total, ok3 := gpuNumber(fields[n-1], 1<<40)
	name := strings.Join(fields[1:n-4], ", ") // which may have a comma itself
	if err != nil || !ok1 || !ok2 || !ok3 || !ok4 || name == "" {
		return g, false
	}
	return protocol.GPUUsage{Index: int(index), Name: name, Utilization: percent, Temperature: celsius,
		MemoryBytes: int64(used * (1 << 20)), MemoryTotal: int64(total * (1 << 20))}, true
}

func gpuNumber(text string, most float64) (float64, bool) {
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") { // [N/A], [Not Supported]
		return 0, true
	}
	if strings.Trim(text, "0123456789.") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && v >= 0 && v <= most
}
