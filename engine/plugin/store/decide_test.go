package store

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testplugin"
)

// build puts a plugin's files into a folder, as a build does.
func build(t testing.TB, dir string, b bundle.Bundle) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, b.ID+".wasm")
	for path, data := range map[string][]byte{file: b.Wasm, filepath.Join(dir, b.ID+".yaml"): b.Manifest} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

func inspect(t testing.TB, file string) host.Plugin {
	t.Helper()
	p, err := host.Inspect(file)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const getM, getN = "http GET https://api.tiny.example /m", "http GET https://api.tiny.example /n"

func (w *world) folder(dir string, lines ...string) {
	w.t.Helper()
	set := access.Make(lines...)
	if err := w.GrantFolder(context.Background(), FolderGrant{Dir: dir, ID: "provider-tiny", Asked: set, Lines: set, By: "you"}); err != nil {
		w.t.Fatal(err)
	}
}

func TestFolderGrantOutlivesARebuild(t *testing.T) {
	ctx, w, dir := context.Background(), newWorld(t), filepath.Join(t.TempDir(), "my plugin")
	build(t, dir, testplugin.Tiny(t, "1.0.0", "/m"))
	w.folder(dir, getM)
	h := w.host(dir)
	if _, err := h.Provider(ctx, "tiny"); err != nil {
		t.Fatal(err)
	}
	build(t, dir, testplugin.Tiny(t, "1.0.1", "/m"))
	if _, err := h.Provider(ctx, "tiny"); err != nil {
		t.Errorf("a rebuild: %v", err)
	}
	build(t, dir, testplugin.Tiny(t, "1.0.2", "/m", "/n"))
	_, err := h.Provider(ctx, "tiny")
	testkit.WantError(t, err, "asks for more", getN, "grant it to the folder")
	if strings.Contains(err.Error(), getM) {
		t.Errorf("it tells of what is granted: %v", err)
	}
	w.folder(dir, getM, getN)
	if _, err := h.Provider(ctx, "tiny"); err != nil {
		t.Errorf("after another yes: %v", err)
	}
	if n, err := w.Revoke(ctx, "provider-tiny"); n != 1 || err != nil {
		t.Error(n, err)
	}
	if _, err := h.Provider(ctx, "tiny"); err == nil {
		t.Error("after it was taken back")
	}
}

func TestFolderGrantHoldsOnlyInside(t *testing.T) {
	ctx, w, top := context.Background(), newWorld(t), t.TempDir()
	dir, elsewhere := filepath.Join(top, "mine"), filepath.Join(top, "mine-too")
	build(t, dir, testplugin.Tiny(t, "1.0.0", "/m"))
	foreign := build(t, elsewhere, testplugin.Tiny(t, "6.6.6", "/m"))
	w.folder(dir, getM)
	for name, link := range map[string]string{
		"a link to the file": func() string {
			d := filepath.Join(dir, "a")
			os.Mkdir(d, 0o700)
			os.Symlink(foreign, filepath.Join(d, "provider-tiny.wasm"))
			return filepath.Join(d, "provider-tiny.wasm")
		}(),
		"a link to the folder": func() string {
			os.Symlink(elsewhere, filepath.Join(dir, "b"))
			return filepath.Join(dir, "b", "provider-tiny.wasm")
		}(),
		"a path that goes up":  dir + "/../mine-too/provider-tiny.wasm",
		"the same beginning":   foreign,
		"the name of the file": filepath.Join(elsewhere, ".", "provider-tiny.wasm"),
	} {
		if _, err := w.Decide(ctx, inspect(t, link)); err == nil {
			t.Errorf("%s: granted", name)
		}
	}
	// A link that leads into the folder is the folder.
	os.Symlink(dir, filepath.Join(top, "link"))
	if _, err := w.Decide(ctx, inspect(t, filepath.Join(top, "link", "provider-tiny.wasm"))); err != nil {
		t.Errorf("by a link into it: %v", err)
	}
	// Who can change a link shows another's file first, and the folder's when it is asked
	// where the file lies.
	swapped := filepath.Join(top, "swapped", "provider-tiny.wasm")
	os.Mkdir(filepath.Dir(swapped), 0o700)
	os.Symlink(foreign, swapped)
	read := inspect(t, swapped)
	os.Remove(swapped)
	os.Symlink(filepath.Join(dir, "provider-tiny.wasm"), swapped)
	if _, err := w.Decide(ctx, read); err == nil {
		t.Error("a file outside is granted after a link was changed")
	}
	// The grant is for one plugin.
	if _, err := w.Decide(ctx, host.Plugin{File: filepath.Join(dir, "provider-tiny.wasm"), Access: access.Make(getM)}); err == nil {
		t.Error("another plugin in the folder is granted")
	}
}

func TestFolderOthersMayWriteToIsRefused(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	dir := filepath.Join(t.TempDir(), "shared")
	file := build(t, dir, testplugin.Tiny(t, "1.0.0", "/m"))
	set := access.Make(getM)
	yes := FolderGrant{Dir: dir, ID: "provider-tiny", Asked: set, Lines: set}
	for _, mode := range []os.FileMode{0o770, 0o707, 0o777 | os.ModeSticky} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		testkit.WantError(t, w.GrantFolder(ctx, yes), "others could put any plugin there", "chmod go-w")
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := w.GrantFolder(ctx, yes); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Dir(dir), file, strings.TrimSuffix(file, ".wasm") + ".yaml"} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		os.Chmod(path, info.Mode().Perm()|0o020)
		_, err = w.Decide(ctx, inspect(t, file))
		testkit.WantError(t, err, path, "does not hold")
		os.Chmod(path, info.Mode().Perm())
	}
	if _, err := w.Decide(ctx, inspect(t, file)); err != nil {
		t.Error(err)
	}
	if os.Geteuid() == 0 { // somebody else's
		for _, path := range []string{dir, file} {
			os.Chown(path, 12345, -1)
			_, err := w.Decide(ctx, inspect(t, file))
			testkit.WantError(t, err, path, "somebody else")
			os.Chown(path, 0, -1)
		}
	}
	for _, bad := range []string{filepath.Join(dir, "none"), file} {
		if err := w.GrantFolder(ctx, FolderGrant{Dir: bad, ID: "provider-tiny"}); err == nil {
			t.Errorf("%s is granted", bad)
		}
	}
}

func TestAPartIsGranted(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	in := w.put(testplugin.Tiny(t, "1.0.0", "/m", "/n"))
	if err := w.Grant(ctx, Grant{ID: in.ID, Digest: in.Wasm, Asked: in.Access, Lines: access.Make(getN)}); err != nil {
		t.Fatal(err)
	}
	g, err := w.Decide(ctx, inspect(t, in.File()))
	if err != nil || len(g.Lines) != 1 || g.Lines[0] != getN {
		t.Errorf("%v, %v", g, err)
	}
	// An empty grant is a yes to nothing.
	if err := w.Grant(ctx, Grant{ID: in.ID, Digest: in.Wasm, Asked: in.Access}); err != nil {
		t.Fatal(err)
	}
	if g, err := w.Decide(ctx, inspect(t, in.File())); err != nil || len(g.Lines) != 0 {
		t.Errorf("%v, %v", g, err)
	}
	testkit.WantError(t, w.Grant(ctx, Grant{ID: in.ID, Digest: in.Wasm, Lines: access.Make(getM)}), "not asked for")
}
