package plugintest

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// A simulator with a child, which writes down who they are, and listens to nobody.
const stubborn = `trap '' TERM; sleep 1000 & echo "$$ $!" > pids.tmp; mv pids.tmp pids; echo "serving at 'http://127.0.0.1:1/api', $TINY_KEY"; while :; do sleep 1; done`

// pids waits for the file.
func pids(t *testing.T, dir string) []int {
	t.Helper()
	var out []int
	testkit.Eventually(t, "the simulator", func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "pids"))
		if err != nil {
			return false
		}
		for _, word := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, pid)
		}
		return true
	})
	return out
}

// gone waits until none of the processes runs.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		testkit.Eventually(t, "the end of a process of the simulator", func() bool {
			stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			return err != nil && syscall.Kill(pid, 0) != nil || strings.Contains(string(stat), ") Z ")
		})
	}
}

func TestSimulatorEnds(t *testing.T) {
	dir := t.TempDir()
	sim, err := startSimulator(t.Context(), Simulator{Command: []string{"sh", "-c", stubborn}}, dir, map[string]string{"TINY_KEY": "k"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if sim.url != "http://127.0.0.1:1/api" {
		t.Errorf("url %q", sim.url)
	}
	processes := pids(t, dir)
	sim.close()
	sim.close()
	gone(t, processes)
}

func TestSimulatorThatDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	for command, want := range map[string]string{
		"exit 3":                       "ended before it wrote the URL",
		"echo hello; sleep 1000":       `the first line of the simulator is "hello"`,
		"head -c 9000 /dev/zero; read": "the first line of the simulator is",
	} {
		_, err := startSimulator(t.Context(), Simulator{Command: []string{"sh", "-c", command}}, dir, nil, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %.200v", command, err)
		}
	}
	_, err := startSimulator(t.Context(), Simulator{Command: []string{"no-such-program-of-seer"}}, dir, nil, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "does not start") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := startSimulator(ctx, Simulator{Command: []string{"sh", "-c", strings.Replace(stubborn, "echo \"serving", ": \"", 1)}}, dir, nil, io.Discard)
		done <- err
	}()
	processes := pids(t, dir)
	cancel()
	if err := <-done; err != context.Canceled {
		t.Errorf("given up: %v", err)
	}
	gone(t, processes)
}

const helperVariable = "SEER_PLUGINTEST_HELPER"

// TestHelperProcess is the kit that is killed.
func TestHelperProcess(t *testing.T) {
	dir, ok := os.LookupEnv(helperVariable)
	if !ok {
		return // of the test below
	}
	if _, err := startSimulator(context.Background(), Simulator{Command: []string{"sh", "-c", stubborn}}, dir, nil, io.Discard); err != nil {
		t.Fatal(err)
	}
	select {}
}

// Nothing of a simulator outlives a kit that is killed.
func TestKitIsKilled(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperProcess$")
	cmd.Env = append(os.Environ(), helperVariable+"="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	processes := pids(t, dir)
	testkit.Eventually(t, "its guard", func() bool { return guarded(t, processes[0]) })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	gone(t, processes)
}

// guarded tells whether the guard of a process group is there.
func guarded(t *testing.T, group int) bool {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, _ := os.ReadFile(file) // many end meanwhile
		if strings.Contains(string(text), "kill -s TERM") && strings.HasSuffix(string(text), "\x00"+strconv.Itoa(group)+"\x00") {
			return true
		}
	}
	return false
}

// What passes the world can go wrong; gRPC does not pass it.
func TestOnlyHTTPPassesTheWorld(t *testing.T) {
	for name, permissions := range map[string]sdk.Permissions{
		"http": {HTTP: []sdk.HTTPPermission{{Destination: "{url}"}}},
		"grpc": {GRPC: []sdk.GRPCPermission{{Destination: "{url}"}}},
	} {
		r := &run{config: Config{Simulator: Simulator{URL: "http://127.0.0.1:1"}}, plugin: host.Plugin{Manifest: sdk.Manifest{Permissions: permissions}}}
		if _, err := r.backend(t.Context()); err != nil || (r.world != nil) != (name == "http") {
			t.Errorf("%s: %v, %v", name, r.world, err)
		}
	}
}
