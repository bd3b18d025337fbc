package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// torch imported after the code that kernels run is limited; the code leaves nothing behind.
func TestKeepGPUShare(t *testing.T) {
	dir := t.TempDir()
	const torch = `
import types
queued, fractions = [], {}
def _set(fraction, device): fractions[device] = fraction
cuda = types.SimpleNamespace(device_count=lambda: 2, set_per_process_memory_fraction=_set, _lazy_call=queued.append)
`
	if err := os.WriteFile(filepath.Join(dir, "torch.py"), []byte(torch), 0o600); err != nil {
		t.Fatal(err)
	}
	code := "before = set(globals())\n" + KeepGPUShare() + `
assert set(globals()) - before == {"before"}, set(globals()) - before
import torch
for call in torch.queued: call()
print(torch.fractions)`
	for fraction, want := range map[string]string{"0.2500": "{0: 0.25, 1: 0.25}", "": "{}"} {
		cmd := exec.Command("python3", "-c", code)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+dir, "SEER_GPU_FRACTION="+fraction)
		if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%q: %v\n%s", fraction, err, out)
		}
	}
}
