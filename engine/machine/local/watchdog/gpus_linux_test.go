package watchdog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/gpulease"
	"github.com/seer-engine/seer/engine/machine/local/proc"
	"github.com/seer-engine/seer/internal/testkit"
)

const gib = 1 << 30

// sharing starts a machine, which is a process, with a share of a GPU.
func sharing(t *testing.T, dir, handle string, bytes int64) (pid int, ended <-chan struct{}) {
	t.Helper()
	key := dir + handle
	cmd := exec.Command("sleep", "600")
	cmd.Env = []string{proc.MachineCookie(key)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-done })
	start, _ := proc.StartOf(cmd.Process.Pid)
	note, err := json.Marshal(map[string]any{
		"key": key, "isolation": "none", "outer": proc.Process{PID: cmd.Process.Pid, Start: start}, "created_at": time.Now(),
		"gpu_claims": []gpulease.Kept{{Path: filepath.Join(dir, handle+".claim"), Claimed: gpulease.Claimed{UUID: "GPU-a", Bytes: bytes}}},
	})
	if err == nil {
		err = errors.Join(os.Mkdir(filepath.Join(dir, handle), 0o700), os.WriteFile(filepath.Join(dir, handle+".json"), note, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, done
}

// usageIsWhole reads the usage of a machine again and again until the watchdog has ended: each time
// it is there, it is all there.
func usageIsWhole(dir, handle string, served <-chan struct{}) error {
	for {
		data, err := os.ReadFile(filepath.Join(dir, handle, GPUUsageName))
		var usage GPUUsage
		if err == nil {
			if err := json.Unmarshal(data, &usage); err != nil {
				return fmt.Errorf("%q: %w", data, err)
			}
		}
		select {
		case <-served:
			return nil
		default:
		}
	}
}

// TestMachineThatIgnoresItsShare ends the machine that keeps using more of a GPU than its
// share, and no other one. While the driver gives no answer, none.
func TestMachineThatIgnoresItsShare(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, goodEnded := sharing(t, dir, "maaaaaaaaaaaa", 20*gib)
	bad, badEnded := sharing(t, dir, "mbbbbbbbbbbbb", 20*gib)
	looks := 0
	w := newWatchdog(dir, limits{look: time.Minute, silent: 1 << 30, gpuLook: time.Millisecond, gpuLooks: 3})
	w.ask = func(context.Context) (gpulease.State, error) {
		looks++
		used := int64(30 * gib)
		little := 22 * int64(gib)
		if looks < 30 {
			little -= int64(looks%7) * 1e8 // so that its usage is written again and again
		}
		if looks%3 == 0 && looks < 30 { // less in between: it begins anew
			used = 22 * gib
		}
		if looks < 5 {
			return gpulease.State{}, errors.New("nvidia-smi fails")
		}
		return gpulease.State{Processes: []gpulease.Process{{UUID: "GPU-a", PID: good, Memory: little}, {UUID: "GPU-a", PID: bad, Memory: used}, {UUID: "GPU-b", PID: good, Memory: 70 * gib}}}, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan struct{})
	go func() { w.serve(ctx); close(served) }()
	torn := make(chan error, 1)
	go func() { torn <- usageIsWhole(dir, "maaaaaaaaaaaa", served) }()
	<-badEnded
	select {
	case <-goodEnded:
		t.Error("a machine within the margin was ended")
	default:
	}
	claims := func() []string { names, _ := filepath.Glob(filepath.Join(dir, "*.claim")); return names }
	for end := time.Now().Add(time.Minute); len(claims()) > 1 && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	if left := claims(); len(left) != 1 || !strings.Contains(left[0], "maaaaaaaaaaaa") {
		t.Errorf("claims: %v", left)
	}
	cancel()
	<-served
	testkit.Eventually(t, "the last measurement", func() bool { return !w.asking.Load() }) // the program ends without it
	if err := <-torn; err != nil {
		t.Error(err)
	}
	if looks < 30 {
		t.Errorf("ended after %d looks", looks)
	}
	if why, err := os.ReadFile(filepath.Join(dir, "mbbbbbbbbbbbb", EndedName)); err != nil || string(why) != "it used 32.2 GB of the GPU GPU-a, more than its share of 21.5 GB" {
		t.Errorf("%s, %v", why, err)
	}
	var usage GPUUsage
	data, err := os.ReadFile(filepath.Join(dir, "maaaaaaaaaaaa", GPUUsageName))
	if err == nil {
		err = json.Unmarshal(data, &usage)
	}
	if err != nil || usage.Peak > 22*gib || usage.Peak < 21*gib {
		t.Errorf("%+v, %v", usage, err)
	}
}
