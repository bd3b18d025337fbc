package local

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/sdk"
)

// TestLimits: they are kept, or the log says that they are not.
func TestLimits(t *testing.T) {
	for _, kind := range []string{isolation.Bubblewrap, isolation.None} {
		t.Run(kind, func(t *testing.T) {
			pl := newPlace(t)
			spec := pl.spec("limits", kind)
			spec.MemoryGB, spec.CPU = 0.25, 0.5
			b := pl.up(spec)
			n, err := pl.p.folder(b.handle).read()
			if err != nil {
				t.Fatal(err)
			}
			if n.Limits == nil {
				if !strings.Contains(strings.Join(b.log, "\n"), "not limited: ") {
					t.Errorf("nobody is told: %q", b.log)
				}
				return
			}
			got := b.run(`
import subprocess, sys
print(subprocess.run([sys.executable, "-c", "x = bytearray(64 << 20); print(len(x))"], capture_output=True, text=True).stdout.strip())
print(subprocess.run([sys.executable, "-c", "x = bytearray(1 << 30); x[::4096] = b'x' * (1 << 18); print(len(x))"], capture_output=True, text=True).returncode)`)
			if got != "67108864\n-9" {
				t.Errorf("1 GiB of 256 MiB: %s", got)
			}
			for _, pid := range processesWith(pl.base + "#limits") {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			if o := pl.await(b.handle, sdk.Failed); !strings.HasPrefix(o.Message, "processes of it were killed as its memory was full; ") || !pl.p.MemoryFull(b.handle) {
				t.Errorf("it died after that: %+v", o)
			}
			b.down()
			if pl.p.MemoryFull(b.handle) || pl.p.MemoryFull("../limits") {
				t.Error("a machine that is not there has had its memory full")
			}
			for _, dir := range append([]string{n.Limits.Unified}, n.Limits.Folders["memory"], n.Limits.Folders["cpu"]) {
				if _, err := os.Stat(dir); dir != "" && err == nil {
					t.Errorf("%s is left", dir)
				}
			}
			if own, err := os.ReadFile("/proc/self/cgroup"); err != nil || strings.Contains(string(own), "seer-") {
				t.Errorf("this process is in the group: %s", own)
			}
		})
	}
}
