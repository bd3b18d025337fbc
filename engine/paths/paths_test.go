package paths_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/paths"
)

// What the caller says comes before the environment, and the environment before the home
// folder.
func TestPaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := map[string]string{"HOME": "/home/u", "SEER_ARTIFACTS_DIR": dir, "SEER_PLUGIN_DIR": "/p/two"}
	p, err := paths.New(paths.Options{Getenv: func(name string) string { return env[name] }, PluginDirs: []string{"/p/one"}, ToolDirs: []string{"/t"}})
	if err != nil {
		t.Fatal(err)
	}
	if p.Artifacts != dir || p.Data() != "/home/u/.local/share/seer" || p.Config() != "/home/u/.config/seer" {
		t.Errorf("%s, %s, %s", p.Artifacts, p.Data(), p.Config())
	}
	if !slices.Equal(p.Plugins, []string{"/p/one", "/p/two"}) || p.WellKnown[0] != "/home/u/.local/share/seer/plugins" {
		t.Errorf("plugins: %v, %v", p.Plugins, p.WellKnown)
	}
	if places := p.ToolPlaces(); places[0] != "/t" || places[len(places)-1] != "/home/u/.local/share/seer/tools" {
		t.Errorf("tools: %v", places)
	}
	if _, err := p.RuntimeBinary("linux", "amd64"); errdefs.KindOf(err) != errdefs.KindProvider {
		t.Errorf("a runtime that is not there: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "seer-runtime-linux-amd64"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.RuntimeBinary("linux", "amd64"); err != nil {
		t.Error(err)
	}
}

func TestNoHome(t *testing.T) {
	t.Parallel()
	p, err := paths.New(paths.Options{Getenv: func(string) string { return "" }, ArtifactsDir: "here"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Tools(); err == nil || p.Data() != "" || !filepath.IsAbs(p.Artifacts) {
		t.Errorf("%v, %q, %q", err, p.Data(), p.Artifacts)
	}
}
