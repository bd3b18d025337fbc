package batchjob

import (
	"os"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/sdk"
)

// TestBeginTime sets the end for all that look at it.
func TestBeginTime(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	for name, tc := range map[string]struct {
		spec sdk.MachineSpec
		end  int64
		boot string
	}{
		"from now on": {sdk.MachineSpec{TimeoutSeconds: 60, Env: map[string]string{loader.BootVariable: `{"listen":"tcp:0.0.0.0:1","later":[1]}`}},
			1_000_060, `{"end_unix":1000060,"later":[1],"listen":"tcp:0.0.0.0:1"}`},
		"has an end": {sdk.MachineSpec{TimeoutSeconds: 60, EndUnix: 7, Env: map[string]string{loader.BootVariable: "{}"}}, 7, "{}"},
		"no boot":    {sdk.MachineSpec{TimeoutSeconds: 60}, 1_000_060, ""},
		"no time":    {sdk.MachineSpec{}, 0, ""},
	} {
		if err := beginTime(&tc.spec, now); err != nil || tc.spec.EndUnix != tc.end || tc.spec.Env[loader.BootVariable] != tc.boot {
			t.Errorf("%s: %+v, %v", name, tc.spec, err)
		}
	}
	broken := sdk.MachineSpec{TimeoutSeconds: 60, Env: map[string]string{loader.BootVariable: "{"}}
	if err := beginTime(&broken, now); err == nil {
		t.Error("a boot that cannot be read was accepted")
	}
}

// TestUntilLimit ends a job shortly before its limit, and not as early as the warning may come.
func TestUntilLimit(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	for end, want := range map[string]time.Duration{
		"1000060": 45 * time.Second, "1000120": 105 * time.Second, "1000030": 15 * time.Second,
		"": goingOn, "soon": goingOn, "999990": goingOn, "1009000": goingOn,
	} {
		if got := untilLimit(end, now); got != want {
			t.Errorf("%q: %s, not %s", end, got, want)
		}
	}
}

// TestYoung spares the folder of a job that is starting on the same node.
func TestYoung(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if !young(dir) {
		t.Error("a folder that was just made is not young")
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(dir, old, old); err != nil || young(dir) {
		t.Errorf("a folder of a minute ago is young: %v", err)
	}
}
