package gpulease

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Device is the driver's present report on a GPU.
type Device struct {
	Used        int64   // memory in bytes
	Utilization float64 // percent
	Temperature float64 // °C
	Fault       string  // what nvidia-smi prints for a GPU in an error state; empty = no error
}

// Process is a program on a GPU.
type Process struct {
	UUID   string `json:"gpu"`
	PID    int    `json:"pid"`
	Name   string `json:"name"`
	UID    int    `json:"uid"` // -1 = unknown
	User   string `json:"user"`
	Memory int64  `json:"memory"` // bytes; 0 = unknown
}

// State is the driver's present report on all GPUs.
type State struct {
	Devices   map[string]Device // by UUID
	Processes []Process
}

func (s State) device(uuid string) Device {
	return s.Devices[uuid]
}

// Asker queries the driver.
type Asker func(ctx context.Context) (State, error)

// smiTimeout limits nvidia-smi. It takes seconds if the driver has to load first, and never
// returns if a GPU hangs.
const smiTimeout = 20 * time.Second

// SMI runs nvidia-smi with arguments and returns its output.
type SMI func(ctx context.Context, args ...string) ([]byte, error)

// NvidiaSMI runs the nvidia-smi of the PATH, for at most 20 seconds.
func NvidiaSMI(ctx context.Context) (State, error) {
	return AskSMI(ctx, func(ctx context.Context, args ...string) ([]byte, error) { return run(ctx, smiTimeout, args) })
}

// Fields of the two queries.
const (
	gpuFields = "uuid,memory.used,utilization.gpu,temperature.gpu"
	appFields = "gpu_uuid,pid,used_memory,process_name"
)

// AskSMI queries the driver with an nvidia-smi, which may run on another computer.
func AskSMI(ctx context.Context, smi SMI) (State, error) {
	var gpus, apps []byte
	var errGPUs, errApps error
	var both sync.WaitGroup
	both.Go(func() { gpus, errGPUs = smi(ctx, "--query-gpu="+gpuFields, "--format=csv,noheader,nounits") })
	both.Go(func() { apps, errApps = smi(ctx, "--query-compute-apps="+appFields, "--format=csv,noheader,nounits") })
	both.Wait()
	if err := cmp.Or(errGPUs, errApps); err != nil {
		return State{}, fmt.Errorf("cannot tell who uses the GPUs: %w", err)
	}
	return parse(string(gpus), string(apps))
}

func run(ctx context.Context, limit time.Duration, args []string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("nvidia-smi gave no answer within %s: a GPU may hang; see dmesg for Xid, and restart the computer", limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, "nvidia-smi", args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			out = append(out, exit.Stderr...)
		}
		return nil, fmt.Errorf("nvidia-smi fails: %w: %s", err, plain(strings.Join(strings.Fields(string(out)), " ")))
	}
	return out, nil
}

func parse(gpus, apps string) (State, error) {
	s := State{Devices: map[string]Device{}}
	rows, err := table(gpus, 4)
	if err != nil {
		return s, err
	}
	for _, row := range rows {
		var d Device
		var used float64
		for i, to := range []*float64{&used, &d.Utilization, &d.Temperature} {
			n, fault := number(row[i+1])
			if *to = n; fault && d.Fault == "" {
				d.Fault = plain(row[i+1])
			}
		}
		d.Used = int64(used * (1 << 20))
		s.Devices[row[0]] = d
	}
	rows, err = table(apps, 4)
	if err != nil {
		return s, err
	}
	for _, row := range rows {
		pid, err := strconv.Atoi(row[1])
		if err != nil || pid <= 0 {
			continue // [Not Found]: the process has just ended
		}
		mib, _ := number(row[2])
		name := row[3][strings.LastIndexByte(row[3], '/')+1:]
		s.Processes = append(s.Processes, Process{UUID: row[0], PID: pid, Name: plain(name), UID: ownerOfProcess(pid), Memory: int64(mib * (1 << 20))})
	}
	return s, nil
}

// table reads rows of at least n fields. Further fields are part of the last one, a name with
// commas.
func table(text string, n int) ([][]string, error) {
	in := csv.NewReader(bytes.NewReader([]byte(text)))
	in.TrimLeadingSpace, in.LazyQuotes, in.FieldsPerRecord = true, true, -1
	all, err := in.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("nvidia-smi has answered what cannot be read: %w", err)
	}
	var rows [][]string
	for _, row := range all {
		if len(row) == 1 && strings.HasPrefix(row[0], "No running") { // of older versions
			continue
		}
		if len(row) < n {
			return nil, fmt.Errorf("nvidia-smi has answered %q", plain(strings.Join(row, ", ")))
		}
		row[n-1] = strings.Join(row[n-1:], ", ")
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		rows = append(rows, row[:n])
	}
	return rows, nil
}

// number reads a number. A value that the GPU does not support is 0 without a fault. Any other
// text is a fault: the GPU is lost, or needs a reset after an error (Xid).
func number(text string) (n float64, fault bool) {
	n, err := strconv.ParseFloat(text, 64)
	if err == nil && n >= 0 && n < 1<<40 {
		return n, false
	}
	bare := strings.ToLower(strings.Trim(text, "[]"))
	return 0, bare != "n/a" && bare != "not supported" && bare != "insufficient permissions"
}

// ownerOfProcess returns the user of a process of this computer; -1 = the process is not visible.
func ownerOfProcess(pid int) int {
	info, err := os.Stat("/proc/" + strconv.Itoa(pid))
	if err != nil {
		return -1
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
