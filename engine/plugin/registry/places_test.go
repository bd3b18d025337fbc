package registry

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
)

// folderOf is a state folder of a test.
func folderOf(t *testing.T) (string, func(elem ...string) (string, error)) {
	root := t.TempDir()
	return root, func(elem ...string) (string, error) {
		dir := filepath.Join(append([]string{root}, elem...)...)
		return dir, os.MkdirAll(dir, 0o700)
	}
}

func TestRememberedContexts(t *testing.T) {
	t.Parallel()
	root, dir := folderOf(t)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	k := kubeContexts{used{dir, func() time.Time { return now }, "clusters"}}
	if got, err := k.Of("provider-a"); err != nil || len(got) != 0 {
		t.Errorf("at first: %v, %v", got, err)
	}
	odd := sdk.KubeContext{Name: "kubernetes-admin@lab/a:b", Namespace: "agents"}
	lab := sdk.KubeContext{Name: "lab", Namespace: "team-a"}
	for _, c := range []sdk.KubeContext{lab, odd, odd} {
		if err := k.Used("provider-a", c); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := k.Of("provider-a"); err != nil || !reflect.DeepEqual(got, []sdk.KubeContext{odd, lab}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := k.Of("provider-b"); err != nil || len(got) != 0 {
		t.Errorf("another plugin's: %v, %v", got, err)
	}
	now = now.Add(20 * 24 * time.Hour)
	if err := k.Used("provider-a", lab); err != nil {
		t.Fatal(err)
	}
	now = now.Add(20 * 24 * time.Hour)
	if got, err := k.Of("provider-a"); err != nil || !reflect.DeepEqual(got, []sdk.KubeContext{lab}) {
		t.Errorf("after 40 days: %v, %v", got, err)
	}
	if err := errors.Join(k.Used("provider-a", odd), k.Unused("provider-a", odd), k.Unused("provider-b", odd)); err != nil {
		t.Fatal(err)
	}
	if got, err := k.Of("provider-a"); err != nil || !reflect.DeepEqual(got, []sdk.KubeContext{lab}) {
		t.Errorf("after one was taken back: %v, %v", got, err)
	}
	file := filepath.Join(root, "clusters", "provider-a.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Of("provider-a"); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a damaged file: %v", err)
	}
}

// contexts is a kubeconfig.
type contexts struct {
	host.Kube
	current string
}

func (c contexts) Context(context.Context, string) (sdk.KubeContext, error) {
	if c.current == "" {
		return sdk.KubeContext{}, errors.New("there is no kubeconfig")
	}
	return sdk.KubeContext{Name: c.current}, nil
}

// A provider of clusters is asked for offers where there is a cluster to ask.
func TestClusterless(t *testing.T) {
	t.Parallel()
	p := host.Plugin{Manifest: sdk.Manifest{ID: "provider-pods", Permissions: sdk.Permissions{Kube: []sdk.KubePermission{{Contexts: []string{"*"}}}}}}
	for name, tc := range map[string]struct {
		kube host.Kube
		want bool
	}{
		"a program that reaches no clusters": {nil, true},
		"no kubeconfig":                      {contexts{}, true},
		"a current context":                  {contexts{current: "lab"}, false},
	} {
		if got := New(Options{Kube: tc.kube}).hostless(t.Context(), p); got != tc.want {
			t.Errorf("%s: left out %v", name, got)
		}
	}
	if New(Options{}).hostless(t.Context(), host.Plugin{}) {
		t.Error("a provider of neither is left out")
	}
}
