package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/sdk"
)

// book is a user's grants, which change.
type book struct {
	mu    sync.Mutex
	lines access.Set
	err   error
	asked int
}

func (b *book) set(lines access.Set, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines, b.err = lines, err
}

func (b *book) access(context.Context, host.Plugin) (host.Grant, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	return host.Grant{Lines: b.lines, By: "the test"}, b.err
}

// Nobody has granted anything: what asks for nothing runs, and nothing else does.
func TestNothingIsGranted(t *testing.T) {
	dir := guests(t, "rogue", "shout")
	h, err := host.New(host.Options{Dirs: []string{dir}, CacheDir: cacheDir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	_, err = h.Exposer(context.Background(), "rogue")
	wantFault(t, err, host.FaultGrant, "asks for access that nobody has granted; grant it to the plugin")
	_, err = h.Fetcher(context.Background(), "rogue", dir)
	wantFault(t, err, host.FaultGrant)
	if _, err := expose(t, h, "shout", ""); err != nil {
		t.Errorf("one that asks for nothing: %v", err)
	}
	plugins, errs := h.Plugins(context.Background())
	if len(plugins) != 2 || len(errs) != 0 {
		t.Fatalf("plugins = %+v, %v", plugins, errs)
	}
	for _, p := range plugins {
		if p.Grant != nil || p.Hash != p.Access.Hash() || (len(p.Access) == 0) != (p.Manifest.ID == "expose-shout") {
			t.Errorf("%s: %+v", p.Manifest.ID, p)
		}
	}
}

// What is taken back ends at once, also for who has found the plugin before and for
// answers that are remembered.
func TestGrantsHoldForEachCall(t *testing.T) {
	b := &book{}
	dir, cache := guests(t, "rogue"), t.TempDir()
	if err := os.CopyFS(cache, os.DirFS(cacheDir)); err != nil {
		t.Fatal(err)
	}
	h := open(t, host.Options{Dirs: []string{dir}, CacheDir: cache, Access: b.access, Remember: true})
	e, err := h.Exposer(context.Background(), "rogue")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(surface string) error {
		_, err := e.Expose(context.Background(), sdk.ExposeRequest{Name: "tools", Options: json.RawMessage(surface)})
		return err
	}
	const skill = `{"files":[{"path":".claude/skills/x/SKILL.md"}]}`
	wantFault(t, ask(skill), host.FaultGrant, "needs `file .claude/skills/x/SKILL.md`", "its manifest asks for it, but it was not granted; grant it to the plugin")
	b.set(access.Set{"file .claude/skills/**", "http GET https://never.asked.example /"}, nil)
	if err := ask(skill); err != nil {
		t.Errorf("granted: %v", err)
	}
	wantFault(t, ask(`{"mcp_servers":{"x":{"command":"node"}}}`), host.FaultGrant, "command node")
	wantFault(t, ask(`{"mcp_servers":{"x":{"command":"sh"}}}`), host.FaultSurface, "its manifest must ask")
	wantFault(t, ask(`{"env":{"PATH":"/tmp"}}`), host.FaultSurface, "env PATH")
	b.set(access.Set{"command node"}, nil)
	if err := ask(`{"mcp_servers":{"x":{"command":"node"}}}`); err != nil {
		t.Errorf("granted: %v", err)
	}
	wantFault(t, ask(skill), host.FaultGrant)
	plugins, _ := h.Plugins(context.Background())
	if len(plugins) != 1 || plugins[0].Grant == nil || plugins[0].Grant.By != "the test" || !plugins[0].Grant.Lines.Has("command node") || len(plugins[0].Grant.Lines) != 1 {
		t.Errorf("Plugins = %+v", plugins)
	}
	b.set(nil, host.ErrNotGranted)
	wantFault(t, ask(`"well"`), host.FaultGrant, "nobody has granted")
	b.set(nil, errors.New("the grants cannot be read"))
	wantFault(t, ask(`"well"`), host.FaultGrant, "the grants cannot be read")
}

// An empty grant is not "no limits" but nothing: the plugin runs, and what it asks for
// is refused.
func TestEmptyGrant(t *testing.T) {
	granted := t.TempDir()
	if err := os.WriteFile(filepath.Join(granted, "a.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &book{}
	h := open(t, host.Options{Dirs: []string{guests(t, "rogue")}, Access: b.access})
	f, err := h.Fetcher(context.Background(), "rogue", granted)
	if err != nil {
		t.Fatal(err)
	}
	ref := sdk.ModelRef{Name: granted + ":a.txt"}
	_, err = f.Resolve(context.Background(), ref)
	if sdk.CodeOf(err) != sdk.Unauthorized || !strings.Contains(err.Error(), "its manifest asks for it, but it was not granted; grant it to the plugin") {
		t.Errorf("error = %v", err)
	}
	b.set(access.Set{access.Folders}, nil)
	if m, err := f.Resolve(context.Background(), ref); err != nil || m.Name != "mine" {
		t.Errorf("granted: %+v, %v", m, err)
	}
	wantWell(t, h)
}
