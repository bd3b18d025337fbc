package registry

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/paths"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/sdk"
)

// A built-in plugin is known by its digest and by nothing else: not by its name, nor by
// where it lies.
func TestBuiltinPlugins(t *testing.T) {
	nobody := func(context.Context, host.Plugin) (host.Grant, error) { return host.Grant{}, host.ErrNotGranted }
	other := errors.New("this build asks for more")
	p := host.Plugin{Manifest: sdk.Manifest{ID: "provider-tiny"}, Digest: "sha256:1", File: filepath.Join(paths.Beside("plugins"), "provider-tiny.wasm"), Access: access.Set{"folders"}}
	away := p
	away.File = "/elsewhere/provider-tiny.wasm"
	for name, tc := range map[string]struct {
		builtins map[string]string
		plugin   host.Plugin
		ask      func(context.Context, host.Plugin) (host.Grant, error)
		by, want string
	}{
		"known":              {map[string]string{"provider-tiny": "sha256:1"}, p, nobody, "built in", ""},
		"known elsewhere":    {map[string]string{"provider-tiny": "sha256:1"}, away, nobody, "built in", ""},
		"changed":            {map[string]string{"provider-tiny": "sha256:2"}, p, nobody, "", "is not the file that came with this program, which has the digest sha256:2"},
		"of another id":      {map[string]string{"provider-other": "sha256:1"}, p, nobody, "", host.ErrNotGranted.Error()},
		"a plain build":      {nil, p, nobody, "", "build both with `make`"},
		"elsewhere":          {nil, away, nobody, "", host.ErrNotGranted.Error()},
		"granted":            {nil, p, host.GrantAll, "this program", ""},
		"granted, changed":   {map[string]string{"provider-tiny": "sha256:2"}, p, host.GrantAll, "this program", ""},
		"refused for itself": {nil, p, func(context.Context, host.Plugin) (host.Grant, error) { return host.Grant{}, other }, "", other.Error()},
	} {
		r := &Registry{o: Options{BuiltinPlugins: tc.builtins, PluginAccess: tc.ask}}
		g, err := r.pluginAccess(t.Context(), tc.plugin)
		switch {
		case tc.want == "" && (err != nil || g.By != tc.by || !g.Lines.Has("folders")):
			t.Errorf("%s: %+v, %v", name, g, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// TestGPUProviders takes the plugins that say so, and the user's configuration first.
func TestGPUProviders(t *testing.T) {
	plugin := func(name string, defaults ...string) host.Plugin {
		return host.Plugin{Manifest: sdk.Manifest{Implements: []string{"provider/1"}, Provides: []string{name}, DefaultFor: defaults}}
	}
	r := New(Options{ConfigFile: filepath.Join(t.TempDir(), "config.yaml")})
	names, err := r.GPUProviders([]host.Plugin{plugin("b", sdk.DefaultForGPU), plugin("c"), plugin("a", sdk.DefaultForGPU)})
	if err != nil || !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("%v, %v", names, err)
	}
	if err := os.WriteFile(r.o.ConfigFile, []byte("providers: {default_gpu: c}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if names, err = r.GPUProviders([]host.Plugin{plugin("b", sdk.DefaultForGPU)}); err != nil || !slices.Equal(names, []string{"c"}) {
		t.Errorf("%v, %v", names, err)
	}
}
