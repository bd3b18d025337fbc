package sshhost

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

func TestMountVolumes(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	if err := os.Mkdir(filepath.Join(home, "shared"), 0o755); err != nil {
		t.Fatal(err)
	}
	usual := filepath.Join(home, ".local/share/seer/volumes")
	for name, tc := range map[string]struct {
		volume  sdk.Volume
		options string
		source  string
		problem string
	}{
		"usual":     {volume: sdk.Volume{Name: "seer-models", Path: "/m"}, source: usual + "/seer-models"},
		"read only": {volume: sdk.Volume{Name: "data", Path: "/m", ReadOnly: true}, source: usual + "/data"},
		"named":     {volume: sdk.Volume{Name: "data", Path: "/m"}, options: `{"volumes_dir":"~/shared"}`, source: home + "/shared/data"},
		"absolute":  {volume: sdk.Volume{Name: "data", Path: "/m"}, options: `{"volumes_dir":"` + home + `/shared"}`, source: home + "/shared/data"},
		"missing":   {volume: sdk.Volume{Name: "data", Path: "/m"}, options: `{"volumes_dir":"/no/such"}`, problem: "no such file"},
		"relative":  {volume: sdk.Volume{Name: "data", Path: "/m"}, options: `{"volumes_dir":"shared"}`, problem: "write an absolute path"},
		"escapes":   {volume: sdk.Volume{Name: "../data", Path: "/m"}, problem: "cannot be the name"},
		"dots":      {volume: sdk.Volume{Name: "..", Path: "/m"}, problem: "cannot be the name"},
		"options":   {volume: sdk.Volume{Name: "data", Path: "/m"}, options: `[]`, problem: "not what Seer's program knows"},
	} {
		spec := sdk.MachineSpec{Volumes: []sdk.Volume{tc.volume}, Options: json.RawMessage(tc.options)}
		err := MountVolumes(&spec, getenv)
		if tc.problem != "" {
			testkit.WantError(t, err, tc.problem)
			continue
		}
		want := []sdk.Mount{{Source: tc.source, Target: "/m", Writable: !tc.volume.ReadOnly}}
		if err != nil || !reflect.DeepEqual(spec.Mounts, want) || spec.Volumes != nil || spec.Options != nil {
			t.Errorf("%s: %+v, %v", name, spec, err)
		}
		if info, err := os.Stat(tc.source); err != nil || !info.IsDir() {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// TestCleanVolumes removes caches of Seer's, and nothing of the user's.
func TestCleanVolumes(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	for _, name := range []string{"seer-models/a", "data/b"} {
		testkit.WriteFile(t, filepath.Join(top, name), "12345")
	}
	c := &cleaner{dry: true}
	if err := c.volumes(top); err != nil || len(c.removed) != 1 || c.removed[0].Bytes != 5 {
		t.Errorf("%+v, %v", c.removed, err)
	}
	c = &cleaner{}
	if err := c.volumes(top); err != nil || len(c.removed) != 1 {
		t.Errorf("%+v, %v", c.removed, err)
	}
	left, err := filepath.Glob(filepath.Join(top, "*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "data" {
		t.Errorf("%v, %v", left, err)
	}
}
