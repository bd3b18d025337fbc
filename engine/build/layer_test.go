package build

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/state"
)

// TestWhatTheModeNeeds is the same for all experiments with a Python, whatever else they have.
func TestWhatTheModeNeeds(t *testing.T) {
	t.Parallel()
	all := notebook.Requirements(true)
	without := func(name string) []string {
		return slices.DeleteFunc(slices.Clone(all), preflight.SamePackage(name))
	}
	for _, tc := range []struct {
		name        string
		packages    []string
		present     []string
		image       bool
		needs, more []string
	}{
		{"nothing more", all, nil, false, all, nil},
		{"packages", append([]string{"einops"}, all...), nil, false, all, []string{"einops"}},
		{"a version of one's own", append([]string{"ipykernel==6.29.5"}, without("ipykernel")...), nil, false, all, []string{"ipykernel==6.29.5"}},
		{"versions of all", []string{"jupyter_server", "ipykernel", "nbformat", "jupyterlab", "jupyter-collaboration"}, nil, false, nil,
			[]string{"jupyter_server", "ipykernel", "nbformat", "jupyterlab", "jupyter-collaboration"}},
		{"this computer's Python has it", append([]string{"einops"}, all...), all, false, nil, append([]string{"einops"}, all...)},
		{"it has a part of it", append([]string{"einops"}, all...), all[:2], false, all, []string{"einops"}},
		{"what it has is not in an image", all, all, true, all, nil},
	} {
		p := plan.Plan{ExecutionMode: "notebook", Present: tc.present}
		needs, more := ofMode(p, tc.packages, !tc.image)
		if !slices.Equal(needs, tc.needs) || !slices.Equal(more, tc.more) {
			t.Errorf("%s: needs %q and %q", tc.name, needs, more)
		}
	}
	if needs, more := ofMode(plan.Plan{ExecutionMode: "cli"}, all, true); needs != nil || !slices.Equal(more, all) {
		t.Errorf("cli: %q, %q", needs, more)
	}
}

// A layer has its name only after all that is in it is on the disk, and not where that fails.
func TestALayerIsOnTheDiskFirst(t *testing.T) {
	t.Parallel()
	for _, full := range []error{nil, errors.New("the disk is full")} {
		dir := t.TempDir()
		l := &layer{dir: filepath.Join(dir, "layer")}
		partial := l.dir + ".partial"
		if err := errors.Join(os.Mkdir(partial, 0o700), os.WriteFile(filepath.Join(partial, "a.py"), []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
		synced := ""
		err := l.publish(partial, func(dir string) error {
			synced = dir
			if there, err := l.there(); there || err != nil {
				t.Errorf("it has its name before: %v", err)
			}
			return errors.Join(full, state.SyncDisk(dir))
		})
		if there, _ := l.there(); there != (full == nil) || !errors.Is(err, full) || synced != partial {
			t.Errorf("there: %v, %v; on the disk is %q", there, err, synced)
		}
	}
}
