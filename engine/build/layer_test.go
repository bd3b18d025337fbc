package build

import (
	"slices"
	"testing"

	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/preflight"
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
