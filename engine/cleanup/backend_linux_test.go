package cleanup_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/seer-engine/seer/engine/cachegc"
	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/sdk"
)

// cluster is a provider that keeps something on its backend.
type cluster struct {
	sdk.Provider
	features []sdk.Feature
	err      error
	asked    []sdk.CleanInput
}

func (c *cluster) Describe(context.Context) (sdk.ProviderInfo, error) {
	return sdk.ProviderInfo{Name: "lab", Features: c.features}, nil
}

func (c *cluster) Clean(_ context.Context, in sdk.CleanInput) ([]sdk.Cleaned, error) {
	c.asked = append(c.asked, in)
	return []sdk.Cleaned{{Name: "lab:~/.cache/seer/models", Bytes: 7}}, c.err
}

// Only providers that are named, and can, clean their backends; this computer's cache then stays.
func TestCleanBackends(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	old, _ := b.stale()
	lab, cloud := &cluster{features: []sdk.Feature{sdk.FeatureClean}}, enginetest.NewProvider("cloud", machine.SystemClock{}, enginetest.Script{})
	b.Provider = func(_ context.Context, name string) (sdk.Provider, error) {
		if name == "lab" {
			return lab, nil
		}
		return cloud, nil
	}
	gone, err := b.Prune(t.Context(), cachegc.Options{DryRun: true, Providers: []string{"cloud", "lab"}})
	if err != nil || fmt.Sprint(lab.asked) != "[{true []}]" || len(gone) != 1 || gone[0].Provider != "lab" || gone[0].Handle != "lab:~/.cache/seer/models" || gone[0].Bytes != 7 {
		t.Errorf("%+v, %v, asked %+v", gone, err, lab.asked)
	}
	lab.err = errors.New("read-only")
	if gone, err := b.Prune(t.Context(), cachegc.Options{Providers: []string{"lab"}}); err == nil || len(gone) != 1 {
		t.Errorf("the report lacks what was removed before the error: %+v, %v", gone, err)
	}
	lab.err = nil
	gone, err = b.Prune(t.Context(), cachegc.Options{DryRun: true, Providers: []string{"local", "lab"}})
	if err != nil || len(gone) < len(old)/2 || gone[0].Provider != "lab" || gone[len(gone)-1].Provider != "local" {
		t.Errorf("%+v, %v", gone, err)
	}
	asked := len(lab.asked)
	if _, err := b.Prune(t.Context(), cachegc.Options{DryRun: true}); err != nil || len(lab.asked) != asked {
		t.Errorf("nobody has named it: %v", err)
	}
}
